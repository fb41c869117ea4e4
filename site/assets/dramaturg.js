/* Sorts tables, and opens the judges' reasons all at once, for a link, or for printing. Pages are readable without it. */
"use strict";
(() => {
  const open = (target) => {
    for (let node = target; node; node = node.parentElement) if (node.tagName === "DETAILS") node.open = true;
  };
  const reveal = () => {
    const id = decodeURIComponent(location.hash.slice(1));
    const target = id && document.getElementById(id);
    if (!target) return;
    open(target);
    target.scrollIntoView();
  };
  const reasons = () => document.querySelectorAll("details.rc-reasons");

  /* Open all reasons for printing, and close them again afterwards. A card is printed if it is open. */
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...reasons()].filter((box) => !box.open);
    opened.forEach((box) => (box.open = true));
  });
  addEventListener("afterprint", () => {
    opened.forEach((box) => (box.open = false));
    opened = [];
  });

  const toggleAll = () => {
    const heading = document.getElementById("talk");
    if (!heading || !document.querySelector("details.rc-verdict")) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "rc-button";
    let shown = false;
    const label = () => (button.textContent = shown ? "Hide all reasons" : "Show all reasons");
    label();
    button.addEventListener("click", () => {
      shown = !shown;
      document.querySelectorAll("details.rc-verdict").forEach((box) => (box.open = shown));
      label();
    });
    heading.after(button);
  };

  /* Puts a sort button into each column heading. Rows without a value always come last. Calls `done` after a sort. */
  const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
  const sortable = (table, done) => {
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    const first = [...body.rows];
    const sort = (column, descending) => {
      const numeric = heads[column].dataset.sort === "number";
      const value = (row) => row.cells[column].dataset.v ?? "";
      const compare = (a, b) => {
        const x = value(a);
        const y = value(b);
        if (x === "" || y === "") return (x === "") - (y === "");
        const order = numeric ? Number(x) - Number(y) : collator.compare(x, y);
        return descending ? -order : order;
      };
      const sorted = [...first].sort(compare);
      if (sorted.some((row, n) => body.rows[n] !== row)) body.append(...sorted);
      heads.forEach((head, n) => {
        if (n === column) head.setAttribute("aria-sort", descending ? "descending" : "ascending");
        else head.removeAttribute("aria-sort");
      });
    };
    heads.forEach((head, column) => {
      if (!head.dataset.sort) return;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "rc-sort";
      button.append(...head.childNodes);
      head.append(button);
      head.dataset.rcSorts = ""; // for the style sheet: looking for the button would cost every change of the table
      button.addEventListener("click", () => {
        const now = head.getAttribute("aria-sort");
        const downFirst = head.dataset.sort === "number" && column > 0;
        const descending = now ? now === "ascending" : downFirst;
        sort(column, descending);
        if (done) done(column, descending);
      });
    });
    return sort;
  };
  /* Two decimals, rounded as Python does: exact halves go to the even digit. With a real minus sign. */
  const fixed = (x) => {
    let text = x.toFixed(2);
    if (Number.isInteger(x * 8) && !Number.isInteger(x * 4)) {
      const below = Math.floor(x * 100);
      text = ((below % 2 ? below + 1 : below) / 100).toFixed(2);
    }
    return text === "-0.00" ? "0.00" : text.replace("-", "−");
  };
  /* The same, with the sign of a difference; zero has none. */
  const signed = (x) => {
    const text = fixed(Math.abs(x));
    return Number(text) === 0 ? text : (x < 0 ? "−" : "+") + text;
  };
  /* A name whose long words may break between their parts, as bench/site/text.py shows it. */
  const named = (text) => {
    const made = document.createElement("bdi");
    for (const piece of text.split(/(\S{17,})/)) {
      const parts = piece.length < 17 ? [piece] : piece.split(/(?<=[\p{L}\p{N}][/_])(?=[\p{L}\p{N}])|(?<=[\p{L}\p{N}]-)(?=\p{N})/u);
      parts.forEach((part, n) => made.append(...(n ? [document.createElement("wbr")] : []), part));
    }
    return made;
  };
  /* A player's matrix: a button shows differences from all players' means in place of scores; arrow keys move between cells. */
  const matrix = (table) => {
    const cells = [...table.querySelectorAll("td[data-d]")];
    const scores = cells.map((cell) => [cell.className, cell.querySelector("a").firstChild.textContent]);
    const most = Number(table.dataset.rcMatrix) / 4;
    const tint = (value) => {
      const step = Math.min(6, Math.round((6 * Math.abs(value)) / most));
      return step ? `rc-${value > 0 ? "p" : "m"}${step}` : "";
    };
    if (cells.length) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "rc-button";
      button.textContent = "Show differences from the mean of all players";
      button.setAttribute("aria-pressed", "false");
      let apart = false;
      button.addEventListener("click", () => {
        apart = !apart;
        button.setAttribute("aria-pressed", String(apart));
        cells.forEach((cell, n) => {
          const value = Number(cell.dataset.d);
          const [classes, text] = scores[n];
          cell.className = apart ? `${classes.replace(/\brc-h\d+\b/, "")} ${tint(value)}` : classes;
          const size = Math.abs(value).toFixed(1);
          const difference = Number(size) ? (value < 0 ? "−" : "+") + size : size;
          cell.querySelector("a").firstChild.textContent = apart ? difference : text;
        });
      });
      table.closest(".rc-scroll").before(button);
    }
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    table.addEventListener("keydown", (event) => {
      const at = event.target.closest("td");
      const step = steps[event.key];
      if (!at || !step || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
      const next = at.parentElement.parentElement.rows[at.parentElement.sectionRowIndex + step[0]]?.cells[at.cellIndex + step[1]];
      const link = next?.querySelector("a");
      if (!link) return;
      event.preventDefault();
      link.focus();
    });
  };
  /* Actions stand in italics; a button shows all text alike. */
  const actions = () => {
    const heading = document.getElementById("talk");
    if (!heading || !document.querySelector(".rc-act")) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "rc-button";
    button.textContent = "Actions in italics";
    button.setAttribute("aria-pressed", "true");
    button.addEventListener("click", () => {
      const alike = document.documentElement.toggleAttribute("data-rc-alike");
      button.setAttribute("aria-pressed", String(!alike));
    });
    heading.after(button);
  };
  /* Left and right arrow keys lead to the neighbouring conversations. */
  addEventListener("keydown", (event) => {
    const way = { ArrowLeft: "prev", ArrowRight: "next" }[event.key];
    if (!way || event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (event.target.closest?.("input, select, textarea, table, audio, [tabindex], [contenteditable]")) return;
    document.querySelector(`.rc-steps a[rel="${way}"]`)?.click();
  });
  window.dramaturg = { sortable, fixed, signed, named };
  document.querySelectorAll("table[data-rc-matrix]").forEach(matrix);

  document.querySelectorAll("table[data-rc-sortable]").forEach((table) => sortable(table));
  actions();
  toggleAll();
  addEventListener("hashchange", reveal);
  reveal();
  document.documentElement.dataset.rcReady = "";
})();
