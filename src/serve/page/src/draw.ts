// Draws the timeline on a canvas, from the tiles that are there: where one is not there yet, from
// a coarser one.
import { Camera, Span, tickOf } from "./camera";
import { momentText, timeText } from "./format";
import { HEADING, LANE, Row, laneTop } from "./rows";
import { BINS, LaneTile, Names, Tiles } from "./tiles";

const NO_ROW = 0xffffffff;
const MOST_LEVEL = 40;
export const RULER = 26;

// Light enough for dark text in both themes, and different in brightness, too.
const FILLS = ["#8ec7f0", "#f2b25c", "#6fcdb0", "#f3e37c", "#b9a5e8", "#f19a8f", "#a8d66b", "#d8b08c", "#86d3d9", "#e7a3cf"];
const TEXT = "#10151c";

export interface Chosen { lane: number; row: number; start: number; duration: number }
export interface Scene {
  camera: Camera; rows: Row[]; tiles: Tiles; names: Names; origin: number;
  scroll: number; width: number; height: number;
  range?: Span; chosen?: Chosen; linked?: Chosen; hits?: { span: Span; bins: number; lanes: Map<number, number[]> };
}
export interface Colours { back: string; heading: string; line: string; text: string; faint: string; busy: string; mark: string; hit: string }

export function coloursOf(element: HTMLElement): Colours {
  const style = getComputedStyle(element);
  const get = (name: string): string => style.getPropertyValue(name).trim();
  return { back: get("--back"), heading: get("--raised"), line: get("--line"), text: get("--text"), faint: get("--faint"), busy: get("--busy"), mark: get("--accent"), hit: get("--hit") };
}

export function levelOf(camera: Camera, width: number): number {
  const perPixel = camera.length / Math.max(width, 1);
  return Math.min(MOST_LEVEL, Math.max(0, Math.ceil(Math.log2(Math.max(perPixel, 1)))));
}

function fillOf(name: number): string {
  return FILLS[(Math.imul(name + 1, 2654435761) >>> 8) % FILLS.length]!;
}

export function shownRows(scene: Scene): Row[] {
  return scene.rows.filter((row) => row.top + row.height > scene.scroll && row.top < scene.scroll + scene.height - RULER);
}

// What of an event is drawn, in pixels, and which it is.
export interface Box { lane: number; row: number; name: number; start: number; duration: number; count: number }

interface Part { tile: LaneTile; level: number; number: number }

// The best that is there for a tile: itself, or one above it.
function partOf(scene: Scene, lane: number, level: number, number: number): Part | undefined {
  for (let up = 0; level + up <= MOST_LEVEL; ++up) {
    const above = Math.floor(number / 2 ** up);
    const tile = scene.tiles.find(level + up, above, lane);
    if (tile) return { tile, level: level + up, number: above };
    if (above === 0 && up > 20) break;
  }
  return undefined;
}

export function tilesOf(scene: Scene, level: number): [number, number] {
  const width = BINS * 2 ** level;
  const first = Math.max(0, Math.floor((scene.camera.from - scene.origin) / width));
  return [first, Math.max(first, Math.floor((scene.camera.to - scene.origin) / width))];
}

// Asks for the tiles of what is seen: first one that holds all of it, so that something is there.
export function wantTiles(scene: Scene): void {
  const lanes = shownRows(scene).flatMap((row) => row.lanes);
  if (lanes.length === 0) return;
  const level = levelOf(scene.camera, scene.width);
  const [first, last] = tilesOf(scene, level);
  let coarse = level;
  while (coarse < MOST_LEVEL && Math.floor(first / 2 ** (coarse - level)) !== Math.floor(last / 2 ** (coarse - level))) ++coarse;
  scene.tiles.want(coarse, Math.floor(first / 2 ** (coarse - level)), lanes);
  for (let number = first; number <= last; ++number) scene.tiles.want(level, number, lanes);
}

// Calls `each` for every box of a lane in the part of time that is seen.
function eachBox(scene: Scene, lane: number, each: (box: Box, x: number, width: number, alpha: number) => void): void {
  const { camera } = scene;
  const level = levelOf(camera, scene.width);
  const [first, last] = tilesOf(scene, level);
  const perNs = scene.width / camera.length;
  let done = "";
  for (let number = first; number <= last; ++number) {
    const part = partOf(scene, lane, level, number);
    if (!part || done === `${part.level}/${part.number}`) continue;
    done = `${part.level}/${part.number}`;
    const bin = 2 ** part.level;
    const begin = scene.origin + part.number * BINS * bin;
    const { tile } = part;
    let before = NO_ROW;
    for (let i = 0; i < tile.rows; ++i) {
      const start = begin + tile.start[i]! * (tile.exact ? 1 : bin);
      const duration = tile.duration[i]! * (tile.exact ? 1 : bin);
      const box: Box = { lane, row: tile.row[i]!, name: tile.name[i]!, start, duration, count: tile.count?.[i] ?? 1 };
      if (tile.exact || duration >= bin) {
        // A long one has most of several bins.
        if (!tile.exact && box.row === before && box.row !== NO_ROW) continue;
        before = box.row;
        if (start + duration < camera.from || start > camera.to) continue;
        const x = Math.max((start - camera.from) * perNs, -2);
        const right = Math.min((start + duration - camera.from) * perNs, scene.width + 2);
        each({ ...box, count: 1 }, x, Math.max(right - x, 1), 1);
      } else {
        before = box.row;
        const at = begin + tile.bin![i]! * bin;
        if (at + bin < camera.from || at > camera.to) continue;
        // At whole pixels: half covered ones would make stripes.
        const x = Math.floor((at - camera.from) * perNs);
        each(box, x, Math.max(Math.floor((at + bin - camera.from) * perNs) - x, 1), 0.3 + 0.7 * tile.busy![i]! / 65535);
      }
    }
  }
}

// What is under the pointer.
export function boxAt(scene: Scene, lane: number, x: number): Box | undefined {
  let found: Box | undefined;
  eachBox(scene, lane, (box, left, width) => {
    if (x >= left - 1 && x <= left + Math.max(width, 3)) found = box;
  });
  return found;
}

function drawLane(context: CanvasRenderingContext2D, scene: Scene, colours: Colours, row: Row, lane: number, top: number): void {
  const height = row.level === 1 ? HEADING - 6 : LANE - 2;
  eachBox(scene, lane, (box, x, width, alpha) => {
    context.globalAlpha = alpha;
    context.fillStyle = box.row === NO_ROW ? colours.busy : fillOf(box.name);
    context.fillRect(x, top, width > 3 && alpha === 1 ? width - 0.5 : width, height);
    if (width < 28 || box.row === NO_ROW || alpha !== 1) return;
    const text = scene.names.find(box.name);
    if (!text) return;
    const left = Math.max(x, 0) + 3;
    const room = Math.min(x + width, scene.width) - left - 2;
    const shown = cut(context, text, room);
    if (!shown) return;
    context.globalAlpha = 1;
    context.fillStyle = TEXT;
    context.fillText(shown, left, top + height / 2 + 0.5);
  });
  context.globalAlpha = 1;
}

const widths = new Map<string, number>();
function cut(context: CanvasRenderingContext2D, text: string, room: number): string {
  let width = widths.get(text);
  if (width === undefined) {
    if (widths.size > 20000) widths.clear();
    width = context.measureText(text).width;
    widths.set(text, width);
  }
  if (width <= room) return text;
  const keep = Math.floor(text.length * room / width) - 2;
  return keep < 3 ? "" : `${text.slice(0, keep)}…`;
}

function drawRuler(context: CanvasRenderingContext2D, scene: Scene, colours: Colours): void {
  const { camera, width } = scene;
  const step = tickOf(camera.length / Math.max(2, width / 130));
  const first = Math.ceil(camera.from / step) * step;
  context.fillStyle = colours.heading;
  context.fillRect(0, 0, width, RULER);
  context.textBaseline = "middle";
  for (let at = first; at <= camera.to; at += step) {
    const x = Math.round((at - camera.from) / camera.length * width) + 0.5;
    context.strokeStyle = colours.line;
    context.beginPath();
    context.moveTo(x, RULER - 6);
    context.lineTo(x, scene.height);
    context.stroke();
    context.fillStyle = colours.faint;
    const text = momentText(at, step);
    if (x + 6 + context.measureText(text).width < width) context.fillText(text, x + 4, RULER / 2);
  }
}

function drawChosen(context: CanvasRenderingContext2D, scene: Scene, chosen: Chosen, colour: string, dash: number[]): void {
  const row = scene.rows.find((each) => each.lanes.includes(chosen.lane));
  if (!row) return;
  const top = RULER + row.top - scene.scroll + laneTop(row, row.lanes.indexOf(chosen.lane));
  if (top < RULER - LANE) return;
  const perNs = scene.width / scene.camera.length;
  const x = Math.max((chosen.start - scene.camera.from) * perNs, -4);
  const right = Math.min((chosen.start + chosen.duration - scene.camera.from) * perNs, scene.width + 4);
  context.strokeStyle = colour;
  context.lineWidth = 2;
  context.setLineDash(dash);
  context.strokeRect(x - 1, top - 1, Math.max(right - x, 2) + 2, LANE);
  context.setLineDash([]);
  context.lineWidth = 1;
}

function drawRange(context: CanvasRenderingContext2D, scene: Scene, colours: Colours, range: Span): void {
  const perNs = scene.width / scene.camera.length;
  const left = Math.max((range.from - scene.camera.from) * perNs, -1);
  const right = Math.min((range.to - scene.camera.from) * perNs, scene.width + 1);
  if (right < 0 || left > scene.width) return;
  context.globalAlpha = 0.16;
  context.fillStyle = colours.mark;
  context.fillRect(left, 0, Math.max(right - left, 1), scene.height);
  context.globalAlpha = 1;
  context.fillRect(left - 1, 0, 2, scene.height);
  context.fillRect(right - 1, 0, 2, scene.height);
  const text = timeText(range.to - range.from);
  const width = context.measureText(text).width + 10;
  const x = Math.min(Math.max((left + right - width) / 2, 0), scene.width - width);
  context.fillRect(x, 3, width, RULER - 6);
  context.fillStyle = colours.back;
  context.fillText(text, x + 5, RULER / 2);
}

function drawHits(context: CanvasRenderingContext2D, scene: Scene, colours: Colours, row: Row, lane: number, top: number): void {
  const { hits, camera } = scene;
  const bins = hits?.lanes.get(lane);
  if (!hits || !bins) return;
  context.fillStyle = colours.hit;
  const size = (hits.span.to - hits.span.from) / hits.bins;
  const perNs = scene.width / camera.length;
  for (const bin of bins) {
    const x = (hits.span.from + bin * size - camera.from) * perNs;
    if (x > -3 && x < scene.width) context.fillRect(x, top - 2, Math.max(size * perNs, 2), row.level === 1 ? 3 : 4);
  }
}

export function draw(canvas: HTMLCanvasElement, scene: Scene, colours: Colours): void {
  const context = canvas.getContext("2d");
  if (!context) return;
  const ratio = window.devicePixelRatio || 1;
  const wide = Math.round(scene.width * ratio), high = Math.round(scene.height * ratio);
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide;
    canvas.height = high;
  }
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  context.fillStyle = colours.back;
  context.fillRect(0, 0, scene.width, scene.height);
  drawRuler(context, scene, colours);
  context.save();
  context.beginPath();
  context.rect(0, RULER, scene.width, scene.height - RULER);
  context.clip();
  for (const row of shownRows(scene)) {
    const top = RULER + row.top - scene.scroll;
    if (row.level === 1) {
      context.fillStyle = colours.heading;
      context.fillRect(0, top, scene.width, row.height);
    }
    context.fillStyle = colours.line;
    context.fillRect(0, top + row.height - 1, scene.width, 1);
    row.lanes.forEach((lane, index) => drawLane(context, scene, colours, row, lane, top + laneTop(row, index)));
    row.lanes.forEach((lane, index) => drawHits(context, scene, colours, row, lane, top + laneTop(row, index)));
  }
  if (scene.linked) drawChosen(context, scene, scene.linked, colours.mark, [4, 3]);
  if (scene.chosen) drawChosen(context, scene, scene.chosen, colours.text, []);
  context.restore();
  if (scene.range) drawRange(context, scene, colours, scene.range);
}

// All of the trace: how busy each lane is that the overview has, and the part that is looked at.
export function drawMinimap(canvas: HTMLCanvasElement, scene: Scene, colours: Colours, lanes: number[], whole: Span): void {
  const context = canvas.getContext("2d");
  if (!context) return;
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth, height = canvas.clientHeight;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = colours.heading;
  context.fillRect(0, 0, width, height);
  const perNs = width / (whole.to - whole.from);
  const each = (height - 4) / Math.max(lanes.length, 1);
  const level = overviewLevel(whole);
  lanes.forEach((lane, i) => {
    const tile = scene.tiles.find(level, 0, lane);
    if (!tile) return;
    context.fillStyle = colours.busy;
    const bin = 2 ** level;
    for (let k = 0; k < tile.rows; ++k) {
      context.globalAlpha = tile.exact ? 1 : 0.15 + 0.85 * tile.busy![k]! / 65535;
      const start = scene.origin + (tile.exact ? tile.start[k]! : tile.bin![k]! * bin);
      const long = tile.exact ? tile.duration[k]! : bin;
      const x = Math.floor((start - whole.from) * perNs);
      context.fillRect(x, 2 + i * each, Math.max(Math.floor((start + long - whole.from) * perNs) - x, 1), Math.max(each - 1, 1));
    }
  });
  context.globalAlpha = 1;
  const left = (scene.camera.from - whole.from) * perNs;
  const right = (scene.camera.to - whole.from) * perNs;
  context.fillStyle = colours.mark;
  context.globalAlpha = 0.2;
  context.fillRect(left, 0, Math.max(right - left, 2), height);
  context.globalAlpha = 1;
  context.strokeStyle = colours.mark;
  context.lineWidth = 2;
  context.strokeRect(left + 1, 1, Math.max(right - left - 2, 1), height - 2);
  if (scene.range) {
    context.fillRect((scene.range.from - whole.from) * perNs, height - 3, Math.max((scene.range.to - scene.range.from) * perNs, 2), 3);
  }
}

// The level whose first tile holds the whole trace.
export function overviewLevel(whole: Span): number {
  return Math.min(MOST_LEVEL, Math.max(0, Math.ceil(Math.log2(Math.max(1, (whole.to - whole.from) / BINS + 1)))));
}
