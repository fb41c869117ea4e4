/* Compares players on the same scenes. Each player's scores are in a script that is loaded when the player is chosen:
   a page opened as a file can load scripts, but no data. */
"use strict";
(() => {
  const form = document.querySelector("form[data-rc-compare]");
  const source = document.querySelector("script[data-rc-data]");
  const result = document.querySelector("[data-rc-result]");
  const status = document.querySelector("[data-rc-said]");
  if (!form || !source || !result) return;
  const data = JSON.parse(source.textContent);
  const shards = new Map();
  const known = (key) => Object.hasOwn(data.players, key);
  window.dramaturgShard = (key, shard) => {
    if (known(key)) shards.set(key, shard);
  };
  const load = (key) =>
    shards.has(key)
      ? Promise.resolve(true)
      : new Promise((resolve) => {
          const script = document.createElement("script");
          script.src = `players/${encodeURIComponent(key)}/scores.js`;
          script.onload = () => resolve(shards.has(key));
          script.onerror = () => resolve(false);
          document.head.append(script);
        });

  const choices = () => [...form.querySelectorAll("select")];
  const template = choices()[0].closest("label");
  const read = () => {
    const query = new URLSearchParams(location.search);
    const asked = [...new Set(query.getAll("p").filter(known))].slice(0, data.most);
    const players = asked.length > 1 ? asked : [...new Set([...asked, ...data.leaders])].slice(0, 2);
    return { players, shared: query.get("shared") === "1" };
  };
  const write = (state) => {
    const address = new URL(location.href);
    address.search = "";
    state.players.forEach((key) => address.searchParams.append("p", key));
    if (state.shared) address.searchParams.set("shared", "1");
    if (address.href !== location.href) history.pushState(null, "", address);
  };

  const element = (tag, text, attributes, ...children) => {
    const node = document.createElement(tag);
    if (text !== null) node.textContent = text;
    for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
    node.append(...children);
    return node;
  };
  const { fixed, signed, named } = window.dramaturg;
  const number = (value) => (value === null || value === undefined ? "–" : fixed(value));
  const [low, high] = data.scale;
  const share = (value) => (Math.min(Math.max(value, low), high) - low) / (high - low);
  const heat = (value) => `rc-num rc-h${Math.round(share(value) * 16)}`;

  const head = (players, first) => {
    const row = element("tr", null, {}, element("th", first, { scope: "col" }));
    for (const key of players) {
      const link = element("a", null, { href: `players/${key}/index.html` }, named(data.players[key][0]));
      row.append(element("th", null, { scope: "col", class: "rc-num" }, link));
    }
    return element("thead", null, {}, row);
  };
  const boxed = (table, label) => element("div", null, { class: "rc-scroll", tabindex: "0", role: "region", "aria-label": label }, table);

  /* A bar from zero, to the right if positive. */
  const SVG = "http://www.w3.org/2000/svg";
  const bar = (value, most) => {
    const drawing = document.createElementNS(SVG, "svg");
    for (const [name, text] of Object.entries({ class: "rc-diff", viewBox: "0 0 120 14", width: 120, height: 14, "aria-hidden": "true" })) drawing.setAttribute(name, text);
    const add = (name, attributes) => {
      const node = document.createElementNS(SVG, name);
      for (const [key, text] of Object.entries(attributes)) node.setAttribute(key, text);
      drawing.append(node);
    };
    add("path", { class: "rc-tick", d: "M60 0V14" });
    const width = most ? Math.abs(value / most) * 58 : 0;
    if (width) add("rect", { class: value > 0 ? "rc-more" : "rc-less", x: value > 0 ? 60 : 60 - width, y: 2, width, height: 10 });
    return drawing;
  };

  const summary = (players, scenes) => {
    const body = element("tbody", null, {});
    const line = (title, cell) => {
      const row = element("tr", null, {}, element("th", title, { scope: "row" }));
      players.forEach((key, n) => row.append(element("td", cell(key, n), { class: "rc-num" })));
      body.append(row);
    };
    const mean = (key) => {
      const found = scenes.map((scene) => shards.get(key).scenes[scene]?.[0]).filter((s) => typeof s === "number");
      return found.length ? found.reduce((a, b) => a + b, 0) / found.length : null;
    };
    line(data.normalised ? "On the board, length-normalised" : "On the board", (key) => {
      const [, score, half] = data.players[key];
      return number(score) + (half === null ? "" : ` ±${number(half)}`);
    });
    line("Difference from the first player (robust scoring)", (key, n) => {
      const pair = n ? shards.get(key).pairs[players[0]] : null;
      if (!pair) return "–";
      return signed(pair[0]) + (pair[1] === null ? "" : ` (${signed(pair[0] - pair[1])} to ${signed(pair[0] + pair[1])})`);
    });
    line("Clearly different from the first player?", (key, n) => {
      const pair = n ? shards.get(key).pairs[players[0]] : null;
      if (!pair) return "–";
      return pair[1] === null ? "unknown" : pair[3] ? "yes" : "no";
    });
    line("Scenes needed to detect this difference (80% range)", (key, n) => {
      const pair = n ? shards.get(key).pairs[players[0]] : null;
      if (!pair || !pair[4]) return "–";
      const [scenes, low, high] = pair[4].map((n) => (n === null ? "a million" : n.toLocaleString("en")));
      return `${scenes} (${low} to ${high})`;
    });
    line("Scenes better, equal, worse than the first player", (key, n) => {
      if (!n) return "–";
      const tally = [0, 0, 0];
      for (const scene of scenes) {
        const a = shards.get(key).scenes[scene]?.[0];
        const b = shards.get(players[0]).scenes[scene]?.[0];
        if (typeof a === "number" && typeof b === "number") tally[a > b ? 0 : a === b ? 1 : 2] += 1;
      }
      return tally.join(", ");
    });
    data.criteria.forEach((name, n) => line(name, (key) => number(data.players[key][3][n])));
    if (data.talks) {
      line("Refusals", (key) => (data.players[key][4] === null ? "–" : `${(100 * data.players[key][4]).toFixed(1)}%`));
      line("Mean length of an answer", (key) => data.players[key][5]?.toLocaleString("en") ?? "–");
    }
    line("Mean of the scenes below", (key) => number(mean(key)));
    const caption = element("caption", "Summary (brackets: 95% interval of the difference on shared scenes)", {});
    return element("table", null, { class: "rc-table rc-compared" }, caption, head(players, "Number"), body);
  };

  /* With two players: the second minus the first. With more: the largest minus the smallest score. */
  const difference = (players, scene) => {
    const scores = players.map((key) => shards.get(key).scenes[scene]?.[0]).filter((score) => typeof score === "number");
    if (scores.length < players.length) return null;
    return players.length === 2 ? scores[1] - scores[0] : Math.max(...scores) - Math.min(...scores);
  };
  const byScene = (players, scenes) => {
    const body = element("tbody", null, {});
    const apart = new Map(scenes.map((scene) => [scene, difference(players, scene)]));
    const known = [...apart.values()].filter((value) => value !== null);
    const most = Math.max(0, ...known.map(Math.abs));
    const order = [...scenes].sort((a, b) => (apart.get(a) === null) - (apart.get(b) === null) || apart.get(b) - apart.get(a));
    for (const scene of order) {
      const link = element("a", data.scenes[scene], { href: `scenes/${scene}.html` });
      const row = element("tr", null, {}, element("th", null, { scope: "row" }, link));
      for (const key of players) {
        const cell = shards.get(key).scenes[scene];
        if (!cell) {
          row.append(element("td", "–", { class: "rc-num" }));
          continue;
        }
        const [score, state] = cell;
        const text = score === null ? (state === "failed" ? "✕" : state === "refused" ? "R" : "?") : fixed(score);
        const name = `${data.players[key][0]}, ${data.scenes[scene]}: ${score === null ? state : text}`;
        const talk = element("a", text, { href: data.talks ? `players/${key}/${scene}.html` : `scenes/${scene}.html`, "aria-label": name });
        row.append(element("td", null, { class: score === null ? "rc-num" : heat(score) }, talk));
      }
      const value = apart.get(scene);
      const shown = value === null ? "–" : players.length === 2 ? signed(value) : fixed(value);
      row.append(element("td", shown, { class: "rc-num" }), element("td", null, {}, ...(value === null ? [] : [bar(value, most)])));
      body.append(row);
    }
    const top = head(players, "Scene");
    const two = players.length === 2;
    top.rows[0].append(
      element("th", "Difference", { scope: "col", class: "rc-num" }),
      element("th", two ? "worse or better than the first" : "largest minus smallest", { scope: "col" }),
    );
    const before = data.normalised ? ", before length normalisation" : "";
    const sorted = two ? "where the second player is furthest ahead first" : "where they differ most first";
    const caption = element("caption", `Score of each conversation${before}, ${sorted}; click a score to read it`, {});
    return element("table", null, { class: "rc-table rc-compare" }, caption, top, body);
  };

  let latest = 0;
  const show = async (state) => {
    const call = ++latest;
    fields(state);
    if (state.players.length < 2) {
      result.replaceChildren();
      result.classList.remove("rc-result"); // its reserved height
      status.textContent = "Choose two or more players.";
      return;
    }
    status.textContent = "Loading…";
    const loaded = await Promise.all(state.players.map(load));
    if (call !== latest) return;
    if (!loaded.every(Boolean)) {
      status.textContent = "The scores of a player could not be loaded.";
      return;
    }
    const has = (scene) => state.players.map((key) => shards.get(key).scenes[scene]);
    const scenes = Object.keys(data.scenes).filter((scene) =>
      state.shared ? has(scene).every((cell) => cell && cell[0] !== null) : has(scene).some(Boolean),
    );
    status.textContent = scenes.length ? `${state.players.length} players, ${scenes.length} scenes.` : "These players have no scene in common.";
    result.replaceChildren(
      boxed(summary(state.players, scenes), "Summary, scrolls sideways"),
      boxed(byScene(state.players, scenes), "Scene by scene, scrolls sideways"),
    );
  };

  /* One select for each player, and at least two. */
  const fields = (state) => {
    const wanted = Math.max(2, state.players.length);
    let all = choices();
    while (all.length < wanted) {
      add();
      all = choices();
    }
    all.forEach((field, n) => {
      if (n >= wanted && !state.players[n]) field.closest("label").remove();
      else field.value = state.players[n] ?? "";
    });
    form.elements.shared.checked = state.shared;
  };
  const adder = form.querySelector("[data-rc-add]");
  const add = () => {
    const label = template.cloneNode(true);
    label.querySelector("select").value = "";
    adder.before(label);
    return label;
  };
  adder.addEventListener("click", () => {
    if (choices().length < data.most) add().querySelector("select").focus();
  });
  form.addEventListener("change", () => {
    const players = [...new Set(choices().map((field) => field.value).filter(known))];
    const state = { players, shared: form.elements.shared.checked };
    write(state);
    show(state);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("popstate", () => show(read()));
  form.hidden = false;
  show(read());
})();
