// Timelines of several traces below each other on one axis: for A and B, and for ranks. They are moved and zoomed together.
import { useEffect, useRef, useState } from "preact/hooks";
import { Layer, StepInfo, TraceInfo, TrackInfo, getJson } from "./api";
import { Camera, Span } from "./camera";
import { draw, wantTiles } from "./draw";
import { timeText } from "./format";
import { Row, heightOf, inOrder, rowsOf } from "./rows";
import { Scene, coloursOf, headOf } from "./scene";
import { allTiles, counterTilesFor, Names } from "./tiles";

const MOST_QUEUES = 2;  // of a GPU

export type Tint = (name: string) => string | undefined;
export interface StripOf { trace: number; title: string; shift: number }  // its times + shift stand on the axis

// A trace as it is drawn here: GPUs with their idle time, and the queues and the thread with most events.
export class Strip {
  rows: Row[] = [];
  steps: StepInfo[] = [];
  layer?: Layer;
  tiles; counters; names;
  constructor(public readonly info: TraceInfo, public readonly of: StripOf, redraw: () => void, fail: (why: string) => void) {
    const { trace } = of;
    this.tiles = allTiles(trace, redraw, fail);
    this.counters = counterTilesFor(trace, redraw, fail);
    this.names = new Names(trace, redraw, fail);
  }
  async read(): Promise<void> {
    const { trace } = this.of;
    const [{ tracks }, layer, steps] = await Promise.all([
      getJson<{ tracks: TrackInfo[] }>("tracks", { trace }),
      getJson<Layer>("layer", { trace, layer: "idle" }).catch(() => undefined),
      getJson<{ steps: StepInfo[] }>("steps", { trace }).catch(() => ({ steps: [] }))]);
    this.layer = layer;
    this.steps = steps.steps;
    this.rows = rowsOf(fewOf(inOrder(tracks)), [], { folded: new Set(), wide: new Set(), hidden: new Set(), pinned: new Set(), filter: "", compact: false,
                                                     idle: layer?.tracks ?? [], path: [], samples: [] }).free;
  }
  scene(axis: Span, width: number, height: number, tint?: Tint): Scene {
    const camera = new Camera({ from: this.info.start_ns, to: Math.max(this.info.end_ns, this.info.start_ns + 1) });
    camera.from = axis.from - this.of.shift;  // also beyond its ends
    camera.to = axis.to - this.of.shift;
    return { camera, pinned: [], free: this.rows, tiles: this.tiles, counters: this.counters, names: this.names, tint,
             classes: { "": [], "idle": this.layer?.classes ?? [], "critical-path": [], "samples": [] }, steps: this.steps, notes: [], origin: this.info.start_ns,
             scroll: 0, width, height, linked: [] };
  }
  get height(): number { return headOf(this) + heightOf(this.rows); }
}

function fewOf(tracks: TrackInfo[]): TrackInfo[] {
  const most = (kind: string, owner: number, count: number): TrackInfo[] =>
    tracks.filter((track) => track.kind === kind && track.owner === owner).sort((a, b) => b.events - a.events).slice(0, count);
  const gpus = tracks.filter((track) => track.kind === "gpu").slice(0, 4);
  const threads = gpus.length > 0 ? [] : tracks.filter((track) => track.kind === "thread").slice(0, 2);
  return [...gpus.flatMap((gpu) => [gpu, ...most("queue", gpu.owner, MOST_QUEUES)]), ...threads];
}

function StripView({ strip, axis, drag, tint, stamp }: { strip: Strip; axis: Camera; drag: (canvas: HTMLCanvasElement) => () => void; tint?: Tint; stamp: number }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => drag(canvas.current!), []);
  useEffect(() => {
    const frame = requestAnimationFrame(() => {
      const element = canvas.current;
      if (!element?.isConnected) return;
      const scene = strip.scene(axis, element.clientWidth, strip.height, tint);
      wantTiles(scene);
      draw(element, scene, coloursOf(element));
    });
    return () => cancelAnimationFrame(frame);
  }, [stamp, tint]);
  return (
    <div class="strip">
      <h3>{strip.of.title}</h3>
      <canvas ref={canvas} class="stripcanvas" role="img" tabIndex={0} style={{ height: `${strip.height}px` }}
              aria-label={`Timeline of ${strip.of.title}: ${timeText(axis.length)} from ${timeText(Math.max(0, axis.from - strip.of.shift))} on. W and S zoom, A and D move.`} />
    </div>
  );
}

// `view` is where they stand at first, on the axis.
export function Strips({ traces, of, view, tint, fail }: { traces: TraceInfo[]; of: StripOf[]; view: Span; tint?: Tint; fail: (why: string) => void }) {
  const [stamp, setStamp] = useState(0);
  const [strips, setStrips] = useState<Strip[]>([]);
  const axis = useRef(new Camera(view));
  const redraw = (): void => setStamp((count) => count + 1);
  useEffect(() => {
    const made = of.map((each) => new Strip(traces[each.trace]!, each, redraw, fail));
    let gone = false;
    Promise.all(made.map((strip) => strip.read())).then(() => { if (!gone) setStrips(made); }, (error) => fail(String(error)));
    return () => { gone = true; };
  }, [JSON.stringify(of)]);
  useEffect(() => {
    const whole = { from: Math.min(...of.map((each) => traces[each.trace]!.start_ns + each.shift)), to: Math.max(...of.map((each) => traces[each.trace]!.end_ns + each.shift)) };
    axis.current = new Camera(whole);
    axis.current.show(view);
    redraw();
  }, [view.from, view.to, JSON.stringify(of)]);
  const drag = (canvas: HTMLCanvasElement) => listen(canvas, () => axis.current, redraw);
  return <div class="strips">{strips.map((strip) => <StripView key={`${strip.of.trace} ${strip.of.shift}`} strip={strip} axis={axis.current} drag={drag} tint={tint} stamp={stamp} />)}
    {strips.length === 0 ? <p>Reading…</p> : null}</div>;
}

// Wheel, drag and keys of a canvas. Returns what ends it.
function listen(canvas: HTMLCanvasElement, axis: () => Camera, redraw: () => void): () => void {
  let held: { x: number; from: number; to: number } | undefined;
  const timeOf = (x: number): number => axis().from + x / canvas.clientWidth * axis().length;
  const on = <K extends keyof HTMLElementEventMap>(name: K, take: (event: HTMLElementEventMap[K]) => void): (() => void) => {
    canvas.addEventListener(name, take, { passive: false });
    return () => canvas.removeEventListener(name, take);
  };
  const ends = [
    on("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey && event.offsetY > 40) return;  // the page scrolls
      event.preventDefault();
      axis().zoom(Math.exp(Math.max(-200, Math.min(200, event.deltaY)) / 300), timeOf(event.offsetX));
      redraw();
    }),
    on("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); held = { x: event.offsetX, from: axis().from, to: axis().to }; }),
    on("pointermove", (event) => {
      if (!held) return;
      const ns = (event.offsetX - held.x) / canvas.clientWidth * (held.to - held.from);
      axis().show({ from: held.from - ns, to: held.to - ns });
      redraw();
    }),
    on("pointerup", () => { held = undefined; }),
    on("keydown", (event) => {
      const key = event.key.toLowerCase();
      const middle = (axis().from + axis().to) / 2;
      if (key === "w") axis().zoom(0.6, middle);
      else if (key === "s") axis().zoom(1 / 0.6, middle);
      else if (key === "a") axis().pan(-axis().length * 0.2);
      else if (key === "d") axis().pan(axis().length * 0.2);
      else return;
      event.preventDefault();
      event.stopPropagation();
      redraw();
    })];
  return () => { for (const end of ends) end(); };
}
