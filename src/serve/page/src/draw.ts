// Draws the timeline on a canvas, or its rectangles on one below it (rects.ts), from the tiles that are there: where one is not there yet, from
// a coarser one. marks.ts draws what lies over the lanes.
import { Look, ON_FILL, fillOf, lookOf } from "./colours";
import { wordsOf } from "./format";
import { drawArrows, drawChosen, drawCounter, drawHits, drawMeasure, drawNotes, drawPointer, drawRange, drawRuler, drawSteps } from "./marks";
import { FlatRects, Rects } from "./rects";
import { LAYERS, Row, Source, laneTop } from "./rows";
import { Colours, MOST_LEVEL, NO_ROW, Placed, Scene, cut, headOf, levelOf, placedRows, prepare, tilesOf } from "./scene";
import { BINS, LaneTile, Tiles } from "./tiles";

// What of an event is drawn, in pixels, and which it is.
export interface Box { source: Source; lane: number; row: number; name: number; start: number; duration: number; count: number }

interface Part { tile: LaneTile; level: number; number: number }

// The best that is there for a tile: itself, or one above it.
function partOf(tiles: Tiles, lane: number, level: number, number: number): Part | undefined {
  for (let up = 0; level + up <= MOST_LEVEL; ++up) {
    const above = Math.floor(number / 2 ** up);
    const tile = tiles.find(level + up, above, lane);
    if (tile) return { tile, level: level + up, number: above };
    if (above === 0 && up > 20) break;
  }
  return undefined;
}

// Asks for the tiles of what is seen: first one that holds all of it, so that something is there.
export function wantTiles(scene: Scene): void {
  const { pinned, free } = placedRows(scene);
  const rows = [...pinned, ...free].map((each) => each.row);
  const level = levelOf(scene.camera, scene.width);
  const [first, last] = tilesOf(scene, level);
  let coarse = level;
  while (coarse < MOST_LEVEL && Math.floor(first / 2 ** (coarse - level)) !== Math.floor(last / 2 ** (coarse - level))) ++coarse;
  const want = (tiles: { want(level: number, tile: number, parts: number[]): void }, parts: number[]): void => {
    if (parts.length === 0) return;
    tiles.want(coarse, Math.floor(first / 2 ** (coarse - level)), parts);
    for (let number = first; number <= last; ++number) tiles.want(level, number, parts);
  };
  for (const source of ["", ...LAYERS] as const) {
    want(scene.tiles[source], rows.filter((row) => row.source === source).flatMap((row) => row.lanes));
  }
  want(scene.counters, rows.flatMap((row) => row.counter && row.open ? [row.counter.counter] : []));
}

type EachBox = (box: Box, x: number, width: number, alpha: number) => void;

// `spans` is the event that the tile before ended with, which this one has, too: letters on it would be drawn twice. Returns the one
// that this ends with.
function eachOfTile(scene: Scene, source: Source, lane: number, part: Part, spans: number, each: EachBox): number {
  const { camera } = scene;
  const perNs = scene.width / camera.length;
  const bin = 2 ** part.level;
  const begin = scene.origin + part.number * BINS * bin;
  const { tile } = part;
  let before = NO_ROW, long = NO_ROW;
  for (let i = 0; i < tile.rows; ++i) {
    const start = begin + tile.start[i]! * (tile.exact ? 1 : bin);
    const duration = tile.duration[i]! * (tile.exact ? 1 : bin);
    const row = tile.row[i]!;
    if (tile.exact || duration >= bin) {
      // A long one has most of several bins.
      if (!tile.exact && row === before && row !== NO_ROW) continue;
      before = long = row;
      if (i === 0 && row === spans && row !== NO_ROW) continue;
      if (start + duration < camera.from || start > camera.to) continue;
      const x = Math.max((start - camera.from) * perNs, -2);
      const right = Math.min((start + duration - camera.from) * perNs, scene.width + 2);
      each({ source, lane, row, name: tile.name[i]!, start, duration, count: 1 }, x, Math.max(right - x, 1), 1);
    } else {
      before = row;
      long = NO_ROW;
      const at = begin + tile.bin![i]! * bin;
      if (at + bin < camera.from || at > camera.to) continue;
      // At whole pixels: half covered ones would make stripes.
      const x = Math.floor((at - camera.from) * perNs);
      each({ source, lane, row, name: tile.name[i]!, start, duration, count: tile.count![i]! }, x,
           Math.max(Math.floor((at + bin - camera.from) * perNs) - x, 1), 0.3 + 0.7 * tile.busy![i]! / 65535);
    }
  }
  return long;
}

// Calls `each` for every box of a lane in the part of time that is seen.
function eachBox(scene: Scene, source: Source, lane: number, each: EachBox): void {
  const level = levelOf(scene.camera, scene.width);
  const [first, last] = tilesOf(scene, level);
  let done = "", spans = NO_ROW;
  for (let number = first; number <= last; ++number) {
    const part = partOf(scene.tiles[source], lane, level, number);
    if (!part || done === `${part.level}/${part.number}`) continue;
    done = `${part.level}/${part.number}`;
    spans = eachOfTile(scene, source, lane, part, spans, each);
  }
}

// What is under the pointer.
export function boxAt(scene: Scene, source: Source, lane: number, x: number): Box | undefined {
  let found: Box | undefined;
  eachBox(scene, source, lane, (box, left, width) => {
    if (x >= left - 1 && x <= left + Math.max(width, 3)) found = box;
  });
  return found;
}

// The start or end of an event of the lane that is nearest, at most `pixels` away.
export function edgeNear(scene: Scene, source: Source, lane: number, x: number, pixels: number): number | undefined {
  let found: number | undefined, best = pixels;
  const perNs = scene.width / scene.camera.length;
  eachBox(scene, source, lane, (box, _left, _width, alpha) => {
    if (alpha !== 1) return;
    for (const time of [box.start, box.start + box.duration]) {
      const away = Math.abs((time - scene.camera.from) * perNs - x);
      if (away < best) [found, best] = [time, away];
    }
  });
  return found;
}

// What a picture is drawn with: rectangles, then letters and lines on top of them.
interface Pens { context: CanvasRenderingContext2D; rects: Rects }

function fillFor(scene: Scene, colours: Colours, box: Box): string | Look {
  if (box.source === "samples") return fillOf(box.name);
  if (box.source !== "") return lookOf(scene.classes[box.source][box.name] ?? "");
  if (box.row === NO_ROW) return colours.busy;
  return scene.tint?.(scene.names.find(box.name) ?? "") ?? fillOf(box.name);
}

function textFor(scene: Scene, box: Box): string | undefined {
  const name = box.source === "" ? scene.names.find(box.name) : scene.classes[box.source][box.name];
  return box.source === "" || box.source === "samples" ? name : name && wordsOf(name);
}

function drawLane({ context, rects }: Pens, scene: Scene, colours: Colours, row: Row, lane: number, top: number): void {
  const height = row.kind === "heading" ? row.lane : row.lane - (row.lane > 12 ? 2 : 1);
  eachBox(scene, row.source, lane, (box, x, width, alpha) => {
    rects.fill(fillFor(scene, colours, box), x, top, width > 3 && alpha === 1 ? width - 0.5 : width, height, alpha);
    if (width < 28 || box.row === NO_ROW || alpha !== 1 || height < 12) return;
    const text = textFor(scene, box);
    if (!text) return;
    const left = Math.max(x, 0) + 3;
    const room = Math.min(x + width, scene.width) - left - 2;
    const shown = cut(context, text, room);
    if (!shown) return;
    if (row.source !== "" && row.source !== "samples") {  // beside a pattern letters could not be read
      rects.fill(lookOf(scene.classes[box.source][box.name] ?? "").fill, left - 2, top + 1, Math.min(context.measureText(shown).width + 4, room + 2), height - 2);
    }
    context.fillStyle = ON_FILL;
    context.fillText(shown, left, top + height / 2 + 0.5);
  });
}

function drawRow(pens: Pens, scene: Scene, colours: Colours, { row, top }: Placed): void {
  const { context, rects } = pens;
  if (row.level === 1 || row.pinned) rects.fill(colours.heading, 0, top, scene.width, row.height);
  rects.fill(colours.line, 0, top + row.height - 1, scene.width, 1);
  if (row.counter && row.open) drawCounter(context, rects, scene, colours, row, top);
  row.lanes.forEach((lane, index) => drawLane(pens, scene, colours, row, lane, top + laneTop(row, index)));
  if (row.source === "") row.lanes.forEach((lane, index) => drawHits(context, scene, colours, row, lane, top + laneTop(row, index)));
}

function clip({ context, rects }: Pens, scene: Scene, from: number, inside: () => void): void {
  context.save();
  context.beginPath();
  context.rect(0, from, scene.width, Math.max(scene.height - from, 0));
  context.clip();
  rects.top = from;
  inside();
  rects.top = 0;
  context.restore();
}

// `below` takes the rectangles if there is one; else they are on the canvas, too.
export function draw(canvas: HTMLCanvasElement, scene: Scene, colours: Colours, below?: Rects): void {
  const context = prepare(canvas, scene.width, scene.height);
  if (!context) return;
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  if (below) context.clearRect(0, 0, scene.width, scene.height);
  const rects = below ?? new FlatRects(context);
  const pens = { context, rects };
  rects.begin(scene.width, scene.height);
  rects.fill(colours.back, 0, 0, scene.width, scene.height);
  drawSteps(context, rects, scene, colours);
  drawRuler(context, rects, scene, colours);
  const { pinned, free, from } = placedRows(scene);
  clip(pens, scene, from, () => { for (const placed of free) drawRow(pens, scene, colours, placed); });
  clip(pens, scene, headOf(scene), () => { for (const placed of pinned) drawRow(pens, scene, colours, placed); });
  rects.end();
  clip(pens, scene, headOf(scene), () => {
    const rows = [...pinned, ...free];
    for (const linked of scene.linked) drawChosen(context, scene, rows, linked, colours.mark, [4, 3]);
    if (scene.chosen) {
      drawChosen(context, scene, rows, scene.chosen, colours.text, []);
      drawArrows(context, scene, rows, scene.chosen, scene.linked, colours);
    }
  });
  drawNotes(context, scene, colours);
  if (scene.range) drawRange(context, scene, colours, scene.range);
  if (scene.pointer !== undefined) drawPointer(context, scene, colours, scene.pointer);
  if (scene.measure) drawMeasure(context, scene, colours, scene.measure);
}
