/* The board's controls: filters, scoring methods and sorting. Their state is in the page's address. */
"use strict";
(() => {
  const table = document.querySelector("table[data-rc-board]");
  const form = document.querySelector("form[data-rc-controls]");
  const source = document.querySelector("script[data-rc-data]");
  if (!table || !form || !source) return;
  const data = JSON.parse(source.textContent);
  const heads = [...table.tHead.rows[0].cells];
  const titles = heads.map((head) => head.firstChild.textContent);
  const column = Object.fromEntries(heads.map((head, n) => [head.dataset.key, n]));
  const rows = [...table.tBodies[0].rows];
  const count = document.querySelector(".rc-count");
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

  /* Draws an interval and the axis above it as bench/site/charts.py does. Each view has an axis of its own. */
  const SVG = "http://www.w3.org/2000/svg";
  let axis = [1, 5];
  const x = (value) => Math.round((14 + (132 * (value - axis[0])) / (axis[1] - axis[0])) * 10) / 10;
  const part = (drawing, name, attributes, text) => {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (text !== undefined) node.textContent = text;
    drawing.append(node);
  };
  const draw = (cell, ticks, value, low, high) => {
    const drawing = cell.querySelector("svg");
    drawing.replaceChildren();
    part(drawing, "path", { class: "rc-tick", d: ticks.map((tick) => `M${x(tick)} 0V22`).join(" ") });
    if (value === null) return;
    if (low !== null && high !== null) {
      const [a, b] = [x(low), x(high)];
      part(drawing, "path", { class: "rc-bar", d: `M${a} 11H${b}M${a} 6v10M${b} 6v10` });
    }
    part(drawing, "circle", { class: "rc-dot", cx: x(value), cy: 11, r: 3.5 });
  };
  const scale = (ticks) => {
    const drawing = heads[column.interval].querySelector("svg");
    drawing.replaceChildren();
    for (const tick of ticks) part(drawing, "text", { x: x(tick), y: 17 }, String(tick));
  };

  /* Robust numbers exist for judges like these and for these judges only; each has its note below the table. */
  let shown = "false...";
  const notes = [...document.querySelectorAll("[data-rc-judges]")];
  const told = [...document.querySelectorAll("[data-rc-scoring]")];
  const tint = (value) => Math.round((16 * (Math.min(Math.max(value, data.scale[0]), data.scale[1]) - data.scale[0])) / (data.scale[1] - data.scale[0]));

  /* The criteria by one judge, or by all. */
  const criteria = (judge) => {
    const alone = data.criteria[judge];
    if (!alone) return;
    data.names.forEach((key, c) =>
      rows.forEach((row, n) => {
        const cell = row.cells[column[key]];
        const value = alone[c][n];
        fill(cell, value, value === null ? "" : fixed(value));
        cell.className = value === null ? "rc-num" : `rc-num rc-h${tint(value)}`;
      }),
    );
  };
  const score = () => {
    const robust = state.scoring === "robust";
    const judges = state.judges ?? "";
    for (const note of notes) note.hidden = note.dataset.rcJudges !== judges;
    for (const note of told) note.hidden = note.dataset.rcScoring !== (robust ? "robust" : "");
    if (column.score !== undefined) for (const row of [table.tHead.rows[0], ...rows]) row.cells[column.score].hidden = robust;
    const view = data.views[robust ? `robust.equal.${judges}` : `paper.${state.weighting || "equal"}.${state.judge || ""}`];
    const wanted = `${robust}.${state.weighting || ""}.${state.judge || ""}.${judges}`;
    if (!view || wanted === shown) return;
    shown = wanted;
    criteria(robust ? "" : state.judge || "");
    axis = view.axis;
    scale(view.ticks);
    rows.forEach((row, n) => {
      const [rank, norm, low, high] = [view.rank[n], view.norm[n], view.low[n], view.high[n]];
      const [mean, half] = [view.score[n], view.half[n]];
      const ranks = data.ranges[judges]?.[n];
      const range = robust ? ranks?.match(/\((.*)\)/)?.[1] : ranks;
      fill(row.cells[column.rank], rank, String(rank), state.weighting || state.judge ? "" : range);
      if (column.first !== undefined) {
        const first = state.weighting || state.judge ? null : (data.first[judges]?.[n] ?? null);
        fill(row.cells[column.first], first, first === null ? "" : `${(100 * first).toFixed(1)}%`);
      }
      draw(row.cells[column.interval], view.ticks, norm, low, high);
      let small = "";
      if (low !== null) small = robust ? `${fixed(low)}–${fixed(high)}` : `±${fixed(view.ci[n])}`;
      fill(row.cells[column.norm], norm, norm === null ? "" : fixed(norm), small, "strong");
      if (column.score === undefined) return; // there is no such column without a length rule
      fill(row.cells[column.score], mean, mean === null ? "" : fixed(mean), half === null ? "" : `±${fixed(half)}`);
    });
  };

  const filter = () => {
    const words = state.find.toLowerCase().split(/\s+/).filter(Boolean);
    let left = 0;
    rows.forEach((row, n) => {
      const about = data.rows[n];
      const fits =
        ["weights", "family", "size"].every((name) => !state[name] || about[name] === state[name]) &&
        words.every((word) => about.text.includes(word));
      row.hidden = !fits;
      left += fits;
    });
    count.textContent = left === rows.length ? "" : left ? `${left} of ${rows.length} players` : "No player fits these filters.";
  };

  /* On a phone a row shows rank, name and score, and opens into a card with the rest. */
  rows.forEach((row) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "rc-opener";
    button.setAttribute("aria-expanded", "false");
    button.setAttribute("aria-label", `All numbers of ${row.cells[column.name].dataset.v}`);
    button.addEventListener("click", () => {
      [...row.cells].forEach((cell, n) => (cell.dataset.label = titles[n]));
      button.setAttribute("aria-expanded", String(row.classList.toggle("rc-open")));
    });
    row.cells[column.name].append(button);
  });

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
  form.addEventListener("change", (event) => changed(event.target !== fields.find));
  fields.find.addEventListener("input", () => changed(false));
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
