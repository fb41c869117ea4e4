/* Marks the first element with text of each look that is not in `seen`. Returns the keys of these looks.

   A look is all that decides how well text can be read: its colour, size and effects, and what its element and those
   around it lay under it. */
(seen) => {
  const known = new Set(seen);
  const grounds = new Map([[null, ""]]);
  const ground = (element) => {
    if (!grounds.has(element)) {
      const s = getComputedStyle(element);
      const own = [s.backgroundColor, s.backgroundImage, s.opacity, s.filter, s.mixBlendMode, s.position].join();
      const plain = own === "rgba(0, 0, 0, 0),none,1,none,normal,static";
      grounds.set(element, ground(element.parentElement) + (plain ? "" : `>${own}`));
    }
    return grounds.get(element);
  };
  const look = (element, text) => {
    const s = getComputedStyle(element);
    const disabled = element.closest(":disabled, [aria-disabled=true]") !== null;
    const name = `${element.tagName}.${element.getAttribute("class") ?? ""}`;
    return [name, s.color, s.fontSize, s.fontWeight, s.textShadow, disabled, text.length > 1, ground(element)].join();
  };
  const key = (text) => {
    let [a, b] = [1, 2];
    for (let n = 0; n < text.length; n++) {
      a = Math.imul(a ^ text.charCodeAt(n), 0x9e3779b1);
      b = Math.imul(b ^ text.charCodeAt(n), 0x5f356495);
    }
    return (a >>> 0) * 2 ** 20 + (b >>> 12);
  };
  const fresh = [];
  for (const element of document.querySelectorAll("body *")) {
    element.removeAttribute("data-rc-look");
    const text = [...element.childNodes].map((node) => (node.nodeType === 3 ? node.data.trim() : "")).join("");
    if (!text && !element.matches("input, select, textarea")) continue;
    const box = element.getBoundingClientRect();
    const visible = element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
    if (!visible || !box.width || !box.height) continue;
    const mine = key(look(element, text));
    if (known.has(mine)) continue;
    known.add(mine);
    fresh.push(mine);
    element.setAttribute("data-rc-look", "");
  }
  return fresh;
}
