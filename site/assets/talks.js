/* The page "Search the conversations". Loads Pagefind and its index when somebody searches. All text of results is foreign. */
"use strict";
(() => {
  const PAGE = 10;
  const TURNS = 3;
  const form = document.querySelector("form[data-rc-search]");
  if (!form) return;
  const { find, in: boards, player } = form.elements; // "q" in an address would open the search of the theme
  const said = document.querySelector("[data-rc-said]");
  const list = document.querySelector("[data-rc-hits]");
  const more = document.querySelector("[data-rc-more]");
  const here = new URL(".", location.href);
  const titles = new Map([...boards.options].map((option) => [option.value, option.textContent]));

  /* Each language has an index of its own, with its own copy of Pagefind. */
  const engines = new Map();
  const engine = (language) => {
    if (!engines.has(language)) {
      const loading = import(new URL(`talk-index/${language}/pagefind.js`, here)).then(async (pagefind) => {
        await pagefind.options({ excerptLength: 24 });
        await pagefind.init();
        return pagefind;
      });
      engines.set(language, loading);
      loading.catch(() => engines.delete(language));
    }
    return engines.get(language);
  };

  const node = (tag, ...children) => {
    const made = document.createElement(tag);
    made.append(...children);
    return made;
  };
  const text = (escaped) => escaped.replaceAll("&lt;", "<").replaceAll("&gt;", ">");
  /* Pagefind escapes the angle brackets of an excerpt, so the tags in it are the marks it sets. */
  const excerpt = (html) => {
    const made = node("bdi");
    const said = html.replace(/^(<mark>)?(\d+|opening)(<\/mark>)?\. /, ""); // the heading of the turn
    said.split(/<mark>(.*?)<\/mark>/s).forEach((part, n) => made.append(n % 2 ? node("mark", text(part)) : text(part)));
    return made;
  };
  const link = (address, ...children) => {
    const made = node("a", ...children);
    made.href = new URL(address, here).href;
    return made;
  };
  const hit = (found, language) => {
    const place = /^\/(boards\/([a-z0-9-]+)\/[a-z0-9-]+\/players\/[\w.-]+\/[\w.-]+\.html)$/i.exec(found.raw_url);
    if (!place) return null;
    const about = titles.get(`${language}/${place[2]}`) ?? "";
    const item = node("li", link(place[1], node("bdi", found.meta.title)), node("small", ` ${about}`));
    for (const part of found.sub_results.filter((one) => one.anchor).slice(0, TURNS)) {
      const turn = /^t\d+$/.test(part.anchor.id) ? part.anchor.id : "";
      const where = turn ? `Turn ${turn.slice(1)}` : "Opening";
      item.append(node("p", link(`${place[1]}#${turn || "talk"}`, where), " ", excerpt(part.excerpt)));
    }
    return item;
  };

  let asked = 0;
  let show = null;
  const search = async () => {
    const words = find.value.trim();
    const [language, board] = boards.value.split("/");
    const number = ++asked;
    more.hidden = true;
    list.replaceChildren();
    said.textContent = words ? "Searching…" : "";
    if (!words) return;
    if (location.protocol === "file:") {
      said.textContent = "The search needs the site over HTTP. In a copy of the source, “make serve” serves it.";
      return;
    }
    const filters = { ...(board && { board }), ...(player.value && { player: player.value }) };
    let results;
    try {
      ({ results } = await (await engine(language)).search(words, { filters }));
    } catch {
      if (number === asked) said.textContent = "This copy of the site has no index of these conversations. “make search-index” adds one.";
      return;
    }
    if (number !== asked) return;
    said.textContent = results.length === 1 ? "1 conversation" : `${results.length} conversations`;
    let shown = 0;
    show = async () => {
      const next = results.slice(shown, (shown += PAGE));
      const found = await Promise.all(next.map((one) => one.data()));
      if (number !== asked) return;
      list.append(...found.map((one) => hit(one, language)).filter(Boolean));
      more.hidden = shown >= results.length;
    };
    await show();
  };
  const write = () => {
    const address = new URL(location.href);
    address.search = "";
    for (const field of [find, boards, player]) if (field.value && field.selectedIndex !== 0) address.searchParams.set(field.name, field.value);
    if (address.href !== location.href) history.replaceState(null, "", address);
  };
  const read = () => {
    const query = new URLSearchParams(location.search);
    find.value = query.get("find") ?? "";
    for (const field of [boards, player]) {
      const wanted = [...field.options].findIndex((option) => option.value === query.get(field.name));
      field.selectedIndex = Math.max(wanted, 0);
    }
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    write();
    search();
  });
  for (const field of [boards, player]) field.addEventListener("change", () => form.requestSubmit());
  more.addEventListener("click", () => show());
  form.hidden = false;
  read();
  search();
})();
