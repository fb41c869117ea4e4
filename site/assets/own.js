/* The page "Your scoring": reads the reader's choices, scores the board with rescore.js, and shows both scorings.
   The choices are in the page's address. */
"use strict";
(() => {
  const form = document.querySelector("form[data-rc-own]");
  const source = document.querySelector("script[data-rc-data]");
  const table = document.querySelector("table[data-rc-yours]");
  const said = document.querySelector("[data-rc-said]");
  const command = document.querySelector("[data-rc-command]");
  if (!form || !source || !table || !window.dramaturgRescore) return;
  const board = JSON.parse(source.textContent);
  const { decode, rescore, POLICIES } = window.dramaturgRescore;
  const { fixed, named } = window.dramaturg;
  const inputs = (name) => [...form.querySelectorAll(`input[name="${name}"]`)];
  const boxes = ["judge", "kind", "c"];

  /* Loads the scores when they are first needed. */
  let evidence = null;
  let loading = null;
  window.dramaturgScores = (data) => (evidence = { data, cells: decode(data) });
  const load = () =>
    (loading ??= new Promise((resolve) => {
      const script = document.createElement("script");
      script.src = "scores.js";
      script.onload = script.onerror = () => resolve(evidence !== null);
      document.head.append(script);
    }));

  const weight = (text) => {
    const number = Number(text);
    return text.trim() !== "" && Number.isFinite(number) && (number === 0 || (number >= 1e-6 && number <= 1e6)) ? number : null;
  };
  /* From the address to the form. What the address may not say counts as not said. */
  const read = () => {
    const query = new URLSearchParams(location.search);
    const weights = (query.get("w") ?? "").split(",").map(weight);
    const fits = weights.length === inputs("w").length && !weights.includes(null) && weights.some((w) => w > 0);
    inputs("w").forEach((input, n) => (input.value = String(fits ? weights[n] : 1)));
    for (const name of boxes) {
      const asked = query.getAll(name);
      const some = inputs(name).some((box) => asked.includes(box.value));
      for (const box of inputs(name)) box.checked = !some || asked.includes(box.value);
    }
    const refusals = query.get("refusals");
    form.elements.refusals.value = POLICIES.includes(refusals) && form.elements.refusals.tagName === "SELECT" ? refusals : "robust";
    for (const box of inputs("length")) box.checked = query.get("length") !== "off";
  };
  /* What the form says; null for weights that are no numbers, or all zero. */
  const chosen = () => {
    const weights = inputs("w").map((input) => weight(input.value));
    const state = { weights: weights.includes(null) || !weights.some((w) => w > 0) ? null : weights };
    for (const name of boxes) {
      const all = inputs(name);
      const picked = all.filter((box) => box.checked).map((box) => box.value);
      state[name] = { picked, all: picked.length === all.length };
    }
    state.refusals = form.elements.refusals.value;
    state.length = inputs("length").every((box) => box.checked);
    return state;
  };
  const equal = (weights) => weights.every((w) => w === weights[0]);
  const write = (state) => {
    const address = new URL(location.href);
    address.search = "";
    if (!equal(state.weights)) address.searchParams.set("w", state.weights.join(","));
    for (const name of boxes) if (!state[name].all) state[name].picked.forEach((key) => address.searchParams.append(name, key));
    if (state.refusals !== "robust") address.searchParams.set("refusals", state.refusals);
    if (!state.length) address.searchParams.set("length", "off");
    if (address.href !== location.href) history.pushState(null, "", address);
  };

  /* A word of a shell command. Characters that could deceive the eye are written by their codes. */
  const word = (text) => {
    if (/^[\w@%+=:,./-]+$/.test(text)) return text;
    if (!/[\p{C}\p{Zl}\p{Zp}]/u.test(text)) return `'${text.replaceAll("'", `'\\''`)}'`;
    const code = (c) => `\\U${c.codePointAt(0).toString(16).padStart(8, "0")}`;
    return `$'${text.replace(/[\\']/g, "\\$&").replace(/[\p{C}\p{Zl}\p{Zp}]/gu, code)}'`;
  };
  const commandOf = (state) => {
    const parts = ["bench board", word(board.suite), "-l", word(board.language), "--rescore"];
    if (!equal(state.weights)) parts.push(`--weights=${state.weights.join(",")}`);
    if (!state.judge.all) state.judge.picked.forEach((key) => parts.push(`--judge=${word(board.judges[key])}`));
    if (state.refusals !== "robust") parts.push(`--refusals=${state.refusals}`);
    if (!state.c.all) state.c.picked.forEach((key) => parts.push(`--character=${word(board.characters[key])}`));
    if (!state.kind.all) state.kind.picked.forEach((kind) => parts.push(`--kind=${word(kind)}`));
    if (!state.length) parts.push("--no-length-rule");
    return parts.join(" ");
  };

  const places = (list, wanted) => [...list.keys()].filter((n) => wanted(list[n]));
  const choicesOf = (state) => {
    const { data } = evidence;
    const judges = new Set(state.judge.picked.map((key) => board.judges[key]));
    const characters = new Set(state.c.picked.map((key) => board.characters[key]));
    return {
      weights: data.criteria.map((name) => state.weights[board.criteria.indexOf(name)]),
      judges: places(data.judges, (judge) => state.judge.all || judges.has(judge)),
      scenes: places(
        data.scenes,
        ([character, situation]) =>
          (state.c.all || characters.has(character)) && (state.kind.all || state.kind.picked.includes(board.kinds[situation])),
      ),
      refusals: state.refusals,
      length: state.length,
    };
  };

  const cell = (row, text, tag) => {
    const node = document.createElement(tag || "td");
    if (tag !== "th") node.className = "rc-num";
    node.textContent = text;
    row.append(node);
    return node;
  };
  const ends = (row, place) => {
    cell(row, !place || Number.isNaN(place.low) ? "–" : `${fixed(place.low)} to ${fixed(place.high)}`);
    cell(row, !place ? "–" : place.rankLow === place.rankHigh ? `${place.rankLow}` : `${place.rankLow}–${place.rankHigh}`);
  };
  const draw = (result) => {
    const { data } = evidence;
    const lines = [...result.players].sort((a, b) => b.score - a.score || a.player - b.player);
    table.tBodies[0].replaceChildren(
      ...lines.map((line) => {
        const row = document.createElement("tr");
        const id = data.players[line.player];
        const [key, name, rank, score] = Object.hasOwn(board.players, id) ? board.players[id] : ["", id, null, null];
        const moved = rank === null ? 0 : rank - line.fixed.rank;
        cell(row, `${line.fixed.rank}${moved ? (moved > 0 ? ` ▲${moved}` : ` ▼${-moved}`) : ""}`);
        cell(row, rank === null ? "–" : String(rank));
        const head = cell(row, "", "th");
        head.scope = "row";
        const link = document.createElement(key ? "a" : "span");
        if (key) link.href = `players/${key}/index.html`;
        link.append(named(name));
        head.append(link);
        const strong = document.createElement("strong");
        strong.textContent = fixed(line.score);
        cell(row, "").append(strong);
        cell(row, score === null ? "–" : fixed(score));
        ends(row, line.fixed);
        ends(row, line.sample);
        if (Object.keys(board.costs).length) cell(row, Object.hasOwn(board.costs, id) ? board.costs[id] : "–");
        return row;
      }),
    );
  };

  let shown = null;
  const show = async () => {
    const state = chosen();
    const wrong = !state.weights
      ? "Give each criterion a weight from 0.000001 to 1000000, or 0, and at least one more than 0."
      : boxes.some((name) => inputs(name).length && !state[name].picked.length)
        ? "Choose at least one judge, one kind of situation and one character."
        : "";
    said.textContent = wrong;
    if (wrong) return null;
    command.textContent = commandOf(state);
    if (command.textContent === shown) return state;
    if (!shown && commandOf(state).endsWith("--rescore")) return state; // the page shows these numbers already
    if (!(await load())) {
      said.textContent = "The scores could not be loaded.";
      return state;
    }
    const result = rescore(evidence.data, evidence.cells, choicesOf(state));
    shown = command.textContent;
    if (!result.players.length) said.textContent = "Nothing is scored under these choices.";
    else said.textContent = `${result.players.length} players on ${result.scenes} scenes.`;
    draw(result);
    return state;
  };
  form.addEventListener("change", async () => {
    const state = await show();
    if (state) write(state);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(async () => write((await show()) ?? chosen())));
  addEventListener("popstate", () => {
    read();
    show();
  });
  form.hidden = false;
  read();
  show();
})();
