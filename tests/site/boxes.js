/* What of the article is cut off, by the boxes of its elements. `scrolls`: boxes that scroll may hold more than they show. */
(scrolls) => {
  const width = document.documentElement.clientWidth;
  const faults = new Set();
  const say = (element, what) => faults.add(`${element.tagName}.${element.getAttribute("class") ?? ""}: ${what}`);
  const scrolling = (element) => {
    for (let e = element.parentElement; e && e.tagName !== "ARTICLE"; e = e.parentElement)
      if (["auto", "scroll"].includes(getComputedStyle(e).overflowX) && e.scrollWidth > e.clientWidth) return e;
    return null;
  };
  for (const element of document.querySelectorAll("article *")) {
    if (!element.checkVisibility({ visibilityProperty: true }) || element.closest(".rc-sr, .headerlink")) continue;
    const box = element.getBoundingClientRect();
    if (!box.width || !box.height) continue;
    const svg = element.ownerSVGElement;
    if (svg) {
      const frame = svg.getBoundingClientRect();
      const over = Math.max(frame.left - box.left, box.right - frame.right, frame.top - box.top, box.bottom - frame.bottom);
      if (element.tagName === "text" && over > 1.5) say(element, `"${element.textContent}" leaves its drawing by ${over.toFixed(1)}`);
      continue;
    }
    const holder = scrolling(element);
    if (holder && !scrolls) say(holder, "scrolls sideways");
    if (!holder && (box.right > width + 1 || box.left < -1)) say(element, `from ${box.left.toFixed()} to ${box.right.toFixed()} of ${width}`);
    const style = getComputedStyle(element);
    if (["hidden", "clip"].includes(style.overflowX) && element.scrollWidth > element.clientWidth + 1) say(element, "hides a part");
  }
  return [...faults];
}
