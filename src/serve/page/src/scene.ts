// What the timeline shows at a moment, and where things are in it: draw.ts and marks.ts draw it.
import type { CounterInfo, Note, StepInfo } from "./api";
import type { Camera, Span } from "./camera";
import { FILLS } from "./colours";
import { Row, Source, heightOf } from "./rows";
import { BINS, CounterTiles, Names, Tiles } from "./tiles";

export const NO_ROW = 0xffffffff;
export const MOST_LEVEL = 40;
export const RULER = 24;
export const STEPS = 17;

export interface Chosen { source: Source; lane: number; packed?: number; row: number; start: number; duration: number }
export interface Hits { span: Span; bins: number; lanes: Map<number, number[]> }
export interface Measure { from: number; to: number; y: number }
export interface Scene {
  camera: Camera; pinned: Row[]; free: Row[];
  tiles: Record<Source, Tiles>; classes: Record<Source, string[]>; counters: CounterTiles; names: Names;
  steps: StepInfo[]; notes: Note[]; origin: number;
  scroll: number; width: number; height: number;
  range?: Span; chosen?: Chosen; linked: Chosen[]; hits?: Hits; measure?: Measure; pointer?: number;
  tint?: (name: string) => string | undefined;  // instead of a colour by name
}
export interface Colours {
  back: string; heading: string; line: string; text: string; faint: string; busy: string; mark: string; hit: string; note: string; band: string;
}

export function coloursOf(element: HTMLElement): Colours {
  const style = getComputedStyle(element);
  const get = (name: string): string => style.getPropertyValue(name).trim();
  return { back: get("--back"), heading: get("--raised"), line: get("--line"), text: get("--text"), faint: get("--faint"), busy: get("--busy"),
           mark: get("--accent"), hit: get("--hit"), note: get("--note"), band: get("--band") };
}

// Where the tracks begin.
export function headOf(scene: { steps: StepInfo[] }): number { return RULER + (scene.steps.length > 0 ? STEPS : 0); }

export interface Placed { row: Row; top: number }
// Rows that are seen, and where on the canvas.
export function placedRows(scene: Scene): { pinned: Placed[]; free: Placed[]; from: number } {
  const head = headOf(scene);
  const from = head + heightOf(scene.pinned);
  const place = (rows: Row[], begin: number): Placed[] =>
    rows.map((row) => ({ row, top: begin + row.top })).filter(({ row, top }) => top + row.height > head && top < scene.height);
  return { pinned: place(scene.pinned, head), free: place(scene.free, from - scene.scroll).filter(({ row, top }) => top + row.height > from), from };
}

export function levelOf(camera: Camera, width: number): number {
  const perPixel = camera.length / Math.max(width, 1);
  return Math.min(MOST_LEVEL, Math.max(0, Math.ceil(Math.log2(Math.max(perPixel, 1)))));
}

export function tilesOf(scene: Scene, level: number): [number, number] {
  const width = BINS * 2 ** level;
  const first = Math.max(0, Math.floor((scene.camera.from - scene.origin) / width));
  return [first, Math.max(first, Math.floor((scene.camera.to - scene.origin) / width))];
}

// The level whose first tile holds the whole trace.
export function overviewLevel(whole: Span): number {
  return Math.min(MOST_LEVEL, Math.max(0, Math.ceil(Math.log2(Math.max(1, (whole.to - whole.from) / BINS + 1)))));
}

export function counterFill(counter: CounterInfo): string { return FILLS[counter.counter % FILLS.length]!; }

const widths = new Map<string, number>();
export function cut(context: CanvasRenderingContext2D, text: string, room: number): string {
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

// Sets the canvas to the pixels of the screen.
export function prepare(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D | null {
  const context = canvas.getContext("2d");
  const ratio = window.devicePixelRatio || 1;
  const wide = Math.round(width * ratio), high = Math.round(height * ratio);
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide;
    canvas.height = high;
  }
  context?.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}
