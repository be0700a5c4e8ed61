// Colours, and the patterns that go with them: nothing is shown by colour alone. Those of causes are of the
// set of Okabe and Ito, which people who see few colours can tell apart.
import { h } from "preact";

// Light enough for dark text in both themes, and different in brightness, too.
export const FILLS = ["#8ec7f0", "#f2b25c", "#6fcdb0", "#f3e37c", "#b9a5e8", "#f19a8f", "#a8d66b", "#d8b08c", "#86d3d9", "#e7a3cf"];
export const ON_FILL = "#10151c";

export type Pattern = "plain" | "rising" | "falling" | "dots" | "upright" | "level" | "cross";
export interface Look { fill: string; pattern: Pattern; what: string }

const GREY = "#a7b0ba";
const LOOKS: Record<string, Look> = {
  // Causes of idle time: analysis/time/idle_gaps.h.
  "copy": { fill: "#56b4e9", pattern: "dots", what: "only copies and memsets ran" },
  "sync": { fill: "#cc79a7", pattern: "rising", what: "the host waited for the GPU before it launched more" },
  "launch-bound": { fill: "#e69f00", pattern: "plain", what: "the host launched the next operation too late" },
  "launch latency": { fill: "#f0e442", pattern: "falling", what: "launched in time, and on its way" },
  "dependency": { fill: "#3fae8a", pattern: "upright", what: "the queue waited for another one" },
  "unlinked": { fill: GREY, pattern: "level", what: "the launching call is not in the file" },
  "edge": { fill: GREY, pattern: "cross", what: "before the first or after the last operation" },
  "other": { fill: GREY, pattern: "rising", what: "the file does not say why" },
  // What bounds the critical path: analysis/critical_path/graph.h.
  "cpu": { fill: "#e69f00", pattern: "plain", what: "code on the CPU" },
  "data loading": { fill: "#d98a3d", pattern: "falling", what: "reading data on the CPU" },
  "gpu compute": { fill: "#56b4e9", pattern: "plain", what: "kernels" },
  "gpu communication": { fill: "#cc79a7", pattern: "rising", what: "collectives" },
  "gpu copy": { fill: "#7fd0d8", pattern: "dots", what: "copies" },
  "kernel launch overhead": { fill: "#f0e442", pattern: "falling", what: "from call to operation" },
  "kernel kernel overhead": { fill: "#3fae8a", pattern: "upright", what: "between operations of a queue" },
  "gpu other work": { fill: GREY, pattern: "cross", what: "the GPU worked for another queue or process" },
};

export function lookOf(name: string): Look {
  return LOOKS[name.toLowerCase().replace(/_/g, " ")] ?? { fill: GREY, pattern: "plain", what: "" };
}

export function fillOf(name: number): string {
  return FILLS[Math.floor((name * 0.618034 % 1) * FILLS.length)]!;  // numbers that follow each other are far apart
}

// Strokes of a pattern on a tile of 8 x 8 pixels.
const STROKES: Record<Pattern, [number, number, number, number][]> = {
  plain: [],
  rising: [[-1, 9, 9, -1], [-1, 1, 1, -1], [7, 9, 9, 7]],
  falling: [[-1, -1, 9, 9], [-1, 7, 1, 9], [7, -1, 9, 1]],
  dots: [[2, 2, 3, 3], [6, 6, 7, 7]],
  upright: [[2, 0, 2, 8], [6, 0, 6, 8]],
  level: [[0, 4, 8, 4]],
  cross: [[0, 4, 8, 4], [4, 0, 4, 8]],
};

export const PATTERNS = Object.keys(STROKES) as Pattern[];  // plain is the first
export const STRIPES = [16, 21, 28];  // their colour

// A tile of a pattern: its strokes on `fill`, or on nothing.
export function drawPattern(pattern: Pattern, fill?: string): HTMLCanvasElement {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 8;
  const inside = tile.getContext("2d");
  if (!inside) return tile;
  if (fill) {
    inside.fillStyle = fill;
    inside.fillRect(0, 0, 8, 8);
  }
  inside.strokeStyle = `rgb(${STRIPES.join(" ")} / 0.55)`;
  for (const [x1, y1, x2, y2] of STROKES[pattern]) {
    inside.beginPath();
    inside.moveTo(x1, y1);
    inside.lineTo(x2, y2);
    inside.stroke();
  }
  return tile;
}

const made = new Map<string, CanvasPattern | string>();
export function paintOf(context: CanvasRenderingContext2D, look: Look): CanvasPattern | string {
  const key = `${look.fill} ${look.pattern}`;
  let paint = made.get(key);
  if (paint === undefined) {
    paint = look.pattern === "plain" ? look.fill : context.createPattern(drawPattern(look.pattern, look.fill), "repeat") ?? look.fill;
    made.set(key, paint);
  }
  return paint;
}

// The same as a picture of its own, for legends and tables.
export function Swatch({ name }: { name: string }) {
  const look = lookOf(name);
  return h("svg", { class: "swatch", width: 14, height: 14, viewBox: "0 0 8 8", "aria-hidden": "true" },
           h("rect", { width: 8, height: 8, fill: look.fill }),
           STROKES[look.pattern].map(([x1, y1, x2, y2]) => h("line", { x1, y1, x2, y2, stroke: "#10151c", "stroke-opacity": 0.6 })));
}
export function isKnownLook(name: string): boolean { return lookOf(name).what !== ""; }
