/* Elements of the article whose own text has less contrast than WCAG AA asks for. */
() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const known = new Map(); // reading a pixel back takes long
  const rgba = (colour) => {
    if (!known.has(colour)) known.set(colour, drawn(colour));
    return known.get(colour);
  };
  const drawn = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, below) => [0, 1, 2].map((n) => top[n] * top[3] + below[n] * (1 - top[3]));
  const light = (c) => {
    const [r, g, b] = c.map((v) => v / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const grounds = new Map([[null, [255, 255, 255]]]);
  const ground = (element) => {
    if (!grounds.has(element))
      grounds.set(element, over(rgba(getComputedStyle(element).backgroundColor), ground(element.parentElement)));
    return grounds.get(element);
  };
  const weak = [];
  for (const element of document.querySelectorAll("article *")) {
    const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !element.checkVisibility({ opacityProperty: true }) || element.closest(".rc-sr, svg, .headerlink"))
      continue;
    const below = ground(element);
    const text = over(rgba(getComputedStyle(element).color), below);
    const [a, b] = [light(text), light(below)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) weak.push(`${element.tagName}.${element.className} ${ratio.toFixed(2)}`);
  }
  return [...new Set(weak)];
}
