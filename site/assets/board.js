/* The board's controls: filters, scoring methods and sorting. Their state is in the page's address. */
"use strict";
(() => {
  const table = document.querySelector("table[data-rc-board]");
  const form = document.querySelector("form[data-rc-controls]");
  const source = document.querySelector("script[data-rc-data]");
  if (!table || !form || !source) return;
  const data = JSON.parse(source.textContent);
  const heads = [...table.tHead.rows[0].cells];
  const column = Object.fromEntries(heads.map((head, n) => [head.dataset.key, n]));
  const rows = [...table.tBodies[0].rows];
  const count = form.querySelector(".rc-count");
  const fields = Object.fromEntries([...form.querySelectorAll("select, input")].map((f) => [f.name, f]));
  const start = { sort: "norm", dir: "desc" };

  /* Whether an address may set a control to a value. */
  const allowed = (name, value) => {
    if (name === "sort") return heads.some((head) => head.dataset.key === value && head.dataset.sort);
    if (name === "dir") return value === "asc" || value === "desc";
    const field = fields[name];
    if (!field) return false;
    return field.tagName === "SELECT" ? [...field.options].some((o) => o.value === value) : value.length <= 100;
  };
  const names = [...Object.keys(fields), "sort", "dir"];
  const read = () => {
    const query = new URLSearchParams(location.search);
    const state = {};
    for (const name of names) {
      const value = query.get(name) ?? "";
      state[name] = allowed(name, value) ? value : (start[name] ?? "");
    }
    if (state.scoring === "robust") state.weighting = state.judge = "";
    return state;
  };
  let state = read();

  const write = (push) => {
    const address = new URL(location.href);
    address.search = "";
    for (const name of names)
      if (state[name] && state[name] !== start[name]) address.searchParams.set(name, state[name]);
    if (state.dir === "asc") address.searchParams.set("dir", "asc");
    if (address.href !== location.href) history[push ? "pushState" : "replaceState"](null, "", address);
  };

  const { fixed } = window.dramaturg;
  const fill = (cell, value, text, small, tag) => {
    cell.dataset.v = value ?? "";
    cell.replaceChildren();
    if (value === null) {
      const none = document.createElement("span");
      none.className = "rc-none";
      none.textContent = "–";
      cell.append(none);
      return;
    }
    const main = document.createElement(tag || "span");
    main.textContent = text;
    cell.append(main);
    if (!small) return;
    const extra = document.createElement("small");
    extra.textContent = small;
    cell.append(" ", extra);
  };

  /* Draws an interval as bench/site/charts.py does. */
  const SVG = "http://www.w3.org/2000/svg";
  const x = (value) => Math.round((6 + (148 * (value - data.axis[0])) / (data.axis[1] - data.axis[0])) * 10) / 10;
  const draw = (cell, value, low, high) => {
    const drawing = cell.querySelector("svg");
    drawing.querySelectorAll(".rc-bar, .rc-dot").forEach((part) => part.remove());
    if (value === null) return;
    const part = (name, attributes) => {
      const node = document.createElementNS(SVG, name);
      for (const [key, text] of Object.entries(attributes)) node.setAttribute(key, text);
      drawing.append(node);
    };
    if (low !== null && high !== null) {
      const [a, b] = [x(low), x(high)];
      part("path", { class: "rc-bar", d: `M${a} 11H${b}M${a} 7v8M${b} 7v8` });
    }
    part("circle", { class: "rc-dot", cx: x(value), cy: 11, r: 4 });
  };

  /* Robust numbers exist for judges like these and for these judges only; each has its note below the table. */
  let shown = "false...";
  const notes = [...document.querySelectorAll("[data-rc-judges]")];
  const score = () => {
    const robust = state.scoring === "robust";
    const judges = state.judges ?? "";
    for (const note of notes) note.hidden = note.dataset.rcJudges !== judges;
    const view = data.views[robust ? `robust.equal.${judges}` : `paper.${state.weighting || "equal"}.${state.judge || ""}`];
    const wanted = `${robust}.${state.weighting || ""}.${state.judge || ""}.${judges}`;
    if (!view || wanted === shown) return;
    shown = wanted;
    rows.forEach((row, n) => {
      const [rank, norm, low, high] = [view.rank[n], view.norm[n], view.low[n], view.high[n]];
      const [mean, half] = [view.score[n], view.half[n]];
      const ranks = data.ranges[judges]?.[n];
      const range = robust ? ranks?.match(/\((.*)\)/)?.[1] : ranks;
      fill(row.cells[column.rank], rank, String(rank), state.weighting || state.judge ? "" : range);
      draw(row.cells[column.interval], norm, low, high);
      if (column.first !== undefined) {
        const first = state.weighting || state.judge ? null : (data.first[judges]?.[n] ?? null);
        fill(row.cells[column.first], first, first === null ? "" : `${(100 * first).toFixed(1)}%`);
      }
      let small = "";
      if (low !== null) small = robust ? `${fixed(low)}–${fixed(high)}` : `±${fixed(view.ci[n])}`;
      fill(row.cells[column.norm], norm, norm === null ? "" : fixed(norm), small, "strong");
      if (column.score === undefined) return; // there is no such column without a length rule
      fill(row.cells[column.score], mean, mean === null ? "" : fixed(mean), half === null ? "" : `±${fixed(half)}`);
    });
  };

  const filter = () => {
    const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
    let left = 0;
    rows.forEach((row, n) => {
      const about = data.rows[n];
      const fits =
        ["weights", "family", "size"].every((name) => !state[name] || about[name] === state[name]) &&
        words.every((word) => about.text.includes(word));
      row.hidden = !fits;
      left += fits;
    });
    count.textContent = left === rows.length ? "" : `${left} of ${rows.length} players`;
  };

  const sort = window.dramaturg.sortable(table, (n, descending) => {
    state.sort = heads[n].dataset.key;
    state.dir = descending ? "desc" : "asc";
    write(true);
  });
  const apply = () => {
    for (const [name, field] of Object.entries(fields)) if (field.value !== state[name]) field.value = state[name];
    for (const name of ["weighting", "judge"]) if (fields[name]) fields[name].disabled = state.scoring === "robust";
    score();
    filter();
    sort(column[state.sort], state.dir === "desc");
  };
  const changed = (push) => {
    for (const [name, field] of Object.entries(fields)) state[name] = field.value;
    if (state.scoring === "robust") state.weighting = state.judge = "";
    write(push);
    apply();
  };

  form.hidden = false;
  form.addEventListener("change", (event) => changed(event.target !== fields.q));
  fields.q.addEventListener("input", () => changed(false));
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", (event) => {
    event.preventDefault();
    state = Object.fromEntries(names.map((name) => [name, start[name] ?? ""]));
    write(true);
    apply();
  });
  addEventListener("popstate", () => {
    state = read();
    apply();
  });
  addEventListener("pageshow", apply);
  apply();
})();
