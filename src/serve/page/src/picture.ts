// An SVG of the server, built anew of the elements and attributes that a chart has: whatever else the text holds is left out,
// so no picture can bring a script, a style or an address.
const SVG = "http://www.w3.org/2000/svg";
const ELEMENTS = new Set(["svg", "g", "rect", "line", "path", "polyline", "polygon", "circle", "text", "tspan", "title", "desc"]);
const ATTRIBUTES = new Set(["viewBox", "width", "height", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "rx", "ry", "d", "points", "fill", "fill-opacity", "stroke",
  "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linejoin", "stroke-linecap", "opacity", "transform", "text-anchor", "dominant-baseline", "dx", "dy",
  "font-size", "font-weight", "font-family", "preserveAspectRatio"]);

function copy(from: Element): Element | undefined {
  if (!ELEMENTS.has(from.localName)) return undefined;
  const to = document.createElementNS(SVG, from.localName);
  for (const { name, value } of Array.from(from.attributes)) {
    if (ATTRIBUTES.has(name) && !/url\(|javascript:/i.test(value)) to.setAttribute(name, value);
  }
  for (const child of Array.from(from.childNodes)) {
    if (child.nodeType === Node.TEXT_NODE) to.append(child.textContent ?? "");
    else if (child.nodeType === Node.ELEMENT_NODE) {
      const made = copy(child as Element);
      if (made) to.append(made);
    }
  }
  return to;
}

// undefined: no picture.
export function build(text: string, title: string): Element | undefined {
  const from = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  const made = from.localName === "svg" ? copy(from) : undefined;
  made?.setAttribute("role", "img");
  made?.setAttribute("aria-label", title);
  return made;
}
