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
  const reasons = () => document.querySelectorAll("details.rc-reasons, details.rc-setup");

  /* Open everything for printing, and close it again afterwards. */
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
      body.append(...[...first].sort(compare));
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
  /* Two decimals, rounded as Python does: exact halves go to the even digit. */
  const fixed = (x) => {
    if (Number.isInteger(x * 8) && !Number.isInteger(x * 4)) {
      const below = Math.floor(x * 100);
      return ((below % 2 ? below + 1 : below) / 100).toFixed(2);
    }
    return x.toFixed(2);
  };
  window.dramaturg = { sortable, fixed };

  document.querySelectorAll("table[data-rc-sortable]").forEach((table) => sortable(table));
  toggleAll();
  addEventListener("hashchange", reveal);
  reveal();
  document.documentElement.dataset.rcReady = "";
})();
