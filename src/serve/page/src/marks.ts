// What lies over the lanes of the timeline: ruler, steps, selection, hits, arrows, notes, the measure; and counters.
import { lookOf } from "./colours";
import { Span, tickOf } from "./camera";
import { Chosen, Colours, Measure, Placed, RULER, STEPS, Scene, counterFill, cut, headOf, levelOf, overviewLevel, prepare, tilesOf } from "./scene";
import { momentText, timeText, valueText } from "./format";
import type { Rects } from "./rects";
import { Row, laneTop } from "./rows";
import { BINS, CounterTile } from "./tiles";

type Context = CanvasRenderingContext2D;

function xOf(scene: Scene, time: number): number {
  return (time - scene.camera.from) / scene.camera.length * scene.width;
}

export function drawRuler(context: Context, rects: Rects, scene: Scene, colours: Colours): void {
  const { camera, width } = scene;
  const step = tickOf(camera.length / Math.max(2, width / 130));
  const first = Math.ceil(camera.from / step) * step;
  rects.fill(colours.heading, 0, 0, width, RULER);
  for (let at = first; at <= camera.to; at += step) {
    const x = Math.round(xOf(scene, at));
    rects.fill(colours.line, x, RULER - 6, 1, 6);
    rects.fill(colours.line, x, headOf(scene), 1, scene.height);
    context.fillStyle = colours.faint;
    const text = momentText(at, step);
    if (x + 6 + context.measureText(text).width < width) context.fillText(text, x + 4.5, RULER / 2);
  }
}

// The first step that ends after a time; steps come by their start.
export function stepFrom(steps: { end_ns: number }[], time: number): number {
  let low = 0, high = steps.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (steps[middle]!.end_ns > time) high = middle;
    else low = middle + 1;
  }
  return low;
}

// Steps below the ruler, every other one shaded down to the last track.
export function drawSteps(context: Context, rects: Rects, scene: Scene, colours: Colours): void {
  const { steps, camera } = scene;
  if (steps.length === 0) return;
  rects.fill(colours.heading, 0, RULER, scene.width, STEPS);
  let last = -10;
  for (let i = stepFrom(steps, camera.from); i < steps.length && steps[i]!.start_ns < camera.to; ++i) {
    const step = steps[i]!;
    const left = Math.max(xOf(scene, step.start_ns), -1), right = Math.min(xOf(scene, step.end_ns), scene.width + 1);
    if (right - last < 2) continue;  // too many to be told apart
    last = right;
    if (i % 2 === 0) rects.fill(colours.band, left, headOf(scene), right - left, scene.height);
    rects.fill(colours.band, left, RULER + 1, Math.max(right - left - 1, 1), STEPS - 2);
    context.fillStyle = colours.text;
    const name = right - left > 28 ? cut(context, stepName(step.name, right - left), right - left - 6) : "";
    if (name) context.fillText(name, left + 3, RULER + STEPS / 2);
    rects.fill(colours.faint, Math.round(left), RULER, 1, STEPS);
  }
}

// "ProfilerStep#6": the number is what matters where there is little room.
function stepName(name: string, room: number): string {
  const number = /#?(\d+)\D*$/.exec(name);
  return room < 110 && number ? `#${number[1]}` : name;
}

function rowOf(rows: Placed[], chosen: Chosen): Placed | undefined {
  const of = (lane?: number): Placed | undefined => lane === undefined ? undefined : rows.find(({ row }) => row.source === chosen.source && row.lanes.includes(lane));
  return of(chosen.lane) ?? of(chosen.packed);
}

interface Place { left: number; right: number; top: number; height: number }
function placeOf(scene: Scene, rows: Placed[], chosen: Chosen): Place | undefined {
  const placed = rowOf(rows, chosen);
  if (!placed) return undefined;
  const top = placed.top + laneTop(placed.row, Math.max(placed.row.lanes.indexOf(chosen.lane), placed.row.lanes.indexOf(chosen.packed ?? -1)));
  return { left: Math.max(xOf(scene, chosen.start), -4), right: Math.min(xOf(scene, chosen.start + chosen.duration), scene.width + 4),
           top, height: placed.row.lane };
}

export function drawChosen(context: Context, scene: Scene, rows: Placed[], chosen: Chosen, colour: string, dash: number[]): void {
  const place = placeOf(scene, rows, chosen);
  if (!place || place.right < 0 || place.left > scene.width) return;
  context.strokeStyle = colour;
  context.lineWidth = 2;
  context.setLineDash(dash);
  context.strokeRect(place.left - 1, place.top - 1, Math.max(place.right - place.left, 2) + 2, place.height);
  context.setLineDash([]);
  context.lineWidth = 1;
}

// From the call to the operation, whichever of them is chosen; to the edge of the canvas where one is not seen.
export function drawArrows(context: Context, scene: Scene, rows: Placed[], chosen: Chosen, linked: Chosen[], colours: Colours): void {
  const here = placeOf(scene, rows, chosen);
  if (!here) return;
  context.strokeStyle = context.fillStyle = colours.mark;
  context.lineWidth = 1.5;
  for (const other of linked) {
    const there = placeOf(scene, rows, other) ?? { left: xOf(scene, other.start), right: xOf(scene, other.start + other.duration), top: scene.height + 8, height: 0 };
    const [from, to] = other.start < chosen.start ? [there, here] : [here, there];
    const x1 = from.left, y1 = from.top + from.height / 2, x2 = to.left, y2 = to.top + to.height / 2;
    const bend = Math.max(24, Math.min(Math.abs(x2 - x1) / 2, 160));
    context.beginPath();
    context.moveTo(x1, y1);
    context.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2, y2);
    context.stroke();
    context.beginPath();
    context.moveTo(x2, y2);
    context.lineTo(x2 - 8, y2 - 4);
    context.lineTo(x2 - 8, y2 + 4);
    context.fill();
  }
  context.lineWidth = 1;
}

export function drawRange(context: Context, scene: Scene, colours: Colours, range: Span): void {
  const left = Math.max(xOf(scene, range.from), -1);
  const right = Math.min(xOf(scene, range.to), scene.width + 1);
  if (right < 0 || left > scene.width) return;
  context.globalAlpha = 0.14;
  context.fillStyle = colours.mark;
  context.fillRect(left, 0, Math.max(right - left, 1), scene.height);
  context.globalAlpha = 1;
  context.fillRect(left - 1, 0, 2, scene.height);
  context.fillRect(right - 1, 0, 2, scene.height);
  label(context, scene, colours, timeText(range.to - range.from), (left + right) / 2, 2, colours.mark);
}

function label(context: Context, scene: Scene, colours: Colours, text: string, middle: number, top: number, fill: string): void {
  const width = context.measureText(text).width + 10;
  const x = Math.min(Math.max(middle - width / 2, 0), scene.width - width);
  context.fillStyle = fill;
  context.fillRect(x, top, width, RULER - 5);
  context.fillStyle = colours.back;
  context.fillText(text, x + 5, top + (RULER - 5) / 2);
}

// The moment under the pointer, and since the start of its step.
export function drawPointer(context: Context, scene: Scene, colours: Colours, at: number): void {
  const x = Math.round(xOf(scene, at)) + 0.5;
  context.strokeStyle = colours.faint;
  context.setLineDash([2, 3]);
  context.beginPath();
  context.moveTo(x, RULER);
  context.lineTo(x, scene.height);
  context.stroke();
  context.setLineDash([]);
  const step = scene.steps[stepFrom(scene.steps, at)];
  const since = step && step.start_ns <= at ? `, ${timeText(at - step.start_ns)} into ${cut(context, step.name, 140)}` : "";
  label(context, scene, colours, momentText(at, scene.camera.length / scene.width) + since, x, 2, colours.faint);
}

export function drawMeasure(context: Context, scene: Scene, colours: Colours, measure: Measure): void {
  const left = xOf(scene, Math.min(measure.from, measure.to)), right = xOf(scene, Math.max(measure.from, measure.to));
  context.strokeStyle = context.fillStyle = colours.hit;
  context.lineWidth = 1.5;
  context.beginPath();
  for (const x of [left, right]) {
    context.moveTo(x, RULER);
    context.lineTo(x, scene.height);
  }
  context.moveTo(left, measure.y);
  context.lineTo(right, measure.y);
  context.stroke();
  context.lineWidth = 1;
  label(context, scene, colours, timeText(Math.abs(measure.to - measure.from)), (Math.max(left, 0) + Math.min(right, scene.width)) / 2, measure.y + 3, colours.hit);
}

export function drawNotes(context: Context, scene: Scene, colours: Colours): void {
  for (const note of scene.notes) {
    const left = xOf(scene, note.from_ns), right = xOf(scene, note.to_ns);
    if (right < -200 || left > scene.width) continue;
    context.fillStyle = colours.note;
    context.fillRect(left, headOf(scene) - 3, Math.max(right - left, 2), 3);
    context.fillRect(left, 4, 1.5, headOf(scene) - 4);
    const text = cut(context, note.text, 160);
    const width = context.measureText(text).width + 8;
    context.fillRect(left, 3, width, 14);
    context.fillStyle = colours.back;
    context.fillText(text, left + 4, 10.5);
  }
}

export function drawHits(context: Context, scene: Scene, colours: Colours, row: Row, lane: number, top: number): void {
  const { hits } = scene;
  const bins = hits?.lanes.get(lane);
  if (!hits || !bins) return;
  context.fillStyle = colours.hit;
  const size = (hits.span.to - hits.span.from) / hits.bins;
  const wide = size / scene.camera.length * scene.width;
  for (const bin of bins) {
    const x = xOf(scene, hits.span.from + bin * size);
    if (x > -3 && x < scene.width) context.fillRect(x, top - 3, Math.max(wide, 3), row.lane > 12 ? 5 : 3);
  }
}

// For each bin the band from the least to the most, and a line of the last value.
export function drawCounter(context: Context, rects: Rects, scene: Scene, colours: Colours, row: Row, top: number): void {
  const counter = row.counter!;
  const low = Math.min(0, counter.min), high = counter.max > low ? counter.max : low + 1;
  const height = row.height - 8;
  const yOf = (value: number): number => top + 4 + height * (1 - (value - low) / (high - low));
  const fill = counterFill(counter);
  const each = (level: number, number: number, tile: CounterTile): void => {
    const bin = 2 ** level, begin = scene.origin + number * BINS * bin;
    for (let i = 0; i < tile.rows; ++i) {
      // At whole pixels: half covered ones would make stripes.
      const at = begin + tile.bin[i]! * bin;
      const x = Math.floor(xOf(scene, at)), wide = Math.max(Math.floor(xOf(scene, at + bin)) - x, 1);
      if (x + wide < 0 || x > scene.width) continue;
      const least = yOf(tile.min[i]!), most = yOf(tile.max[i]!);
      rects.fill(fill, x, most, wide, Math.max(yOf(low) - most, 1), 0.35);
      rects.fill(fill, x, most, wide, Math.max(least - most, 1.5));
    }
  };
  const level = levelOf(scene.camera, scene.width);
  const [first, last] = tilesOf(scene, level);
  let done = "";
  for (let number = first; number <= last; ++number) {
    for (let up = 0; level + up <= 40; ++up) {
      const above = Math.floor(number / 2 ** up);
      const tile = scene.counters.find(level + up, above, counter.counter);
      if (!tile) continue;
      if (done !== `${level + up}/${above}`) each(level + up, above, tile);
      done = `${level + up}/${above}`;
      break;
    }
  }
  const text = valueText(high, counter.unit);
  context.fillStyle = colours.back;
  context.globalAlpha = 0.8;
  context.fillRect(1, top + 2, context.measureText(text).width + 6, 14);
  context.globalAlpha = 1;
  context.fillStyle = colours.text;
  context.fillText(text, 4, top + 9);
}

// The value of a counter where the pointer is.
export function counterAt(scene: Scene, counter: number, time: number): { min: number; max: number } | undefined {
  const level = levelOf(scene.camera, scene.width);
  const bin = 2 ** level;
  const number = Math.floor((time - scene.origin) / (bin * BINS));
  const tile = scene.counters.find(level, number, counter);
  const at = Math.floor((time - scene.origin - number * BINS * bin) / bin);
  const i = tile ? tile.bin.indexOf(at) : -1;
  return tile && i >= 0 ? { min: tile.min[i]!, max: tile.max[i]! } : undefined;
}

// All of the trace: how busy each lane is that the overview has, idle time by cause, steps, and the part that is looked at.
export function drawMinimap(canvas: HTMLCanvasElement, scene: Scene, colours: Colours, lanes: number[], idle: number[], whole: Span): void {
  const width = canvas.clientWidth, height = canvas.clientHeight;
  const context = prepare(canvas, width, height);
  if (!context) return;
  context.fillStyle = colours.heading;
  context.fillRect(0, 0, width, height);
  const perNs = width / (whole.to - whole.from);
  const level = overviewLevel(whole);
  const each = (height - 8) / Math.max(lanes.length, 1);
  const strip = (source: "" | "idle", lane: number, top: number, high: number): void => {
    const tile = scene.tiles[source].find(level, 0, lane);
    if (!tile) return;
    const bin = 2 ** level;
    for (let k = 0; k < tile.rows; ++k) {
      context.globalAlpha = tile.exact ? 1 : 0.15 + 0.85 * tile.busy![k]! / 65535;
      context.fillStyle = source === "" ? colours.busy : lookOf(scene.classes.idle[tile.name[k]!] ?? "").fill;
      const start = scene.origin + (tile.exact ? tile.start[k]! : tile.bin![k]! * bin);
      const long = tile.exact ? tile.duration[k]! : bin;
      const x = Math.floor((start - whole.from) * perNs);
      context.fillRect(x, top, Math.max(Math.floor((start + long - whole.from) * perNs) - x, 1), high);
    }
  };
  lanes.forEach((lane, i) => strip("", lane, 6 + i * each, Math.max(each - 1, 1)));
  idle.slice(0, lanes.length).forEach((lane, i) => strip("idle", lane, 6 + i * each, Math.max(each - 1, 1)));
  context.globalAlpha = 1;
  context.fillStyle = colours.faint;
  let last = -4;
  for (const step of scene.steps) {
    const x = Math.round((step.start_ns - whole.from) * perNs);
    if (x - last < 3) continue;
    context.fillRect(x, 0, 1, 5);
    last = x;
  }
  drawView(context, scene, colours, whole, width, height);
}

function drawView(context: Context, scene: Scene, colours: Colours, whole: Span, width: number, height: number): void {
  const perNs = width / (whole.to - whole.from);
  const left = (scene.camera.from - whole.from) * perNs, right = (scene.camera.to - whole.from) * perNs;
  context.fillStyle = colours.back;
  context.globalAlpha = 0.55;
  context.fillRect(0, 0, Math.max(left, 0), height);
  context.fillRect(right, 0, width - right, height);
  context.globalAlpha = 1;
  context.strokeStyle = colours.mark;
  context.lineWidth = 2;
  context.strokeRect(left + 1, 1, Math.max(right - left - 2, 1), height - 2);
  context.lineWidth = 1;
  if (scene.range) {
    context.fillStyle = colours.mark;
    context.fillRect((scene.range.from - whole.from) * perNs, height - 3, Math.max((scene.range.to - scene.range.from) * perNs, 2), 3);
  }
  context.fillStyle = colours.note;
  for (const note of scene.notes) context.fillRect((note.from_ns - whole.from) * perNs - 1, 0, 3, 6);
}

