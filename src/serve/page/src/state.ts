// What the page knows and shows, and what can be done with it. The parts of the page read it, and
// are told when it changed. moves.ts goes from event to event, address.ts keeps the view in the URL.
import { CounterInfo, EventInfo, Findings, Hits, Layer, LayerEvent, LayerTrack, Note, Notes, Preview, Query, Refusal, State, StepInfo, TraceInfo, TrackInfo, getJson,
         getTraces, isOver, postJson, whyOf } from "./api";
import { readAddress, rendererOf, writeAddress } from "./address";
import { Camera, Span } from "./camera";
import { timeText } from "./format";
import { LAYERS, Row, Source, heightOf, inOrder, keyOf, rowsOf } from "./rows";
import { Chosen, Measure, headOf } from "./scene";
import { tabFor } from "./finding_tabs";
import { CounterTiles, Names, Tiles, allTiles, counterTilesFor } from "./tiles";

export const HIT_BINS = 1024;
const MANY_THREADS = 8;  // more are folded at first
const MOST_QUIET = 8;    // looks without growth
const LOOK_MS = 1000;    // at a trace that is being read or grows

export interface ChosenGap extends LayerEvent { source: Source; lane: number; row: number }
// What stands in the list of tracks by the reader's own wish.
export type Ways = "folded" | "wide" | "hidden" | "pinned";

export class Page {
  trace = 0;
  route = "timeline";
  state?: State;
  preview?: Preview;
  tracks: TrackInfo[] = [];
  counterList: CounterInfo[] = [];
  steps: StepInfo[] = [];
  stepsBy = "";
  layers: Partial<Record<Source, Layer>> = {};
  pinnedRows: Row[] = [];
  rows: Row[] = [];
  hiddenRows = 0;
  camera = new Camera({ from: 0, to: 1 });
  tiles!: Record<Source, Tiles>;
  counters!: CounterTiles;
  names!: Names;
  range?: Span;
  chosen?: EventInfo;
  gap?: ChosenGap;
  measure?: Measure;
  pointer?: number;  // the time under the pointer
  seeks?: { gpu: number; time: number };  // a gap whose evidence is to be shown as soon as it is drawn
  findings?: Findings;
  findingsError = "";
  notes: Notes = { version: "", path: "", notes: [] };
  canNote = false;
  text = "";
  hits?: Hits;
  hitSpan?: Span;
  filter = "";
  compact = false;
  follows = false;
  error = "";
  said = "";         // for screen readers
  tab = "kernels";
  tabChosen = false;  // by the reader; else it is the table of what stands out most
  gpu = "";          // of the panels; "": all
  helping = false;
  scroll = 0;
  height = 300;      // of the canvas
  renderer = rendererOf();
  ways: Record<Ways, Set<string>> = { folded: new Set(), wide: new Set(), hidden: new Set(), pinned: new Set() };
  private searching?: AbortController;
  private version = 0;   // of the tracks that are shown
  private listed = 0;    // the version of which counters and layers were asked for
  private listing = -1;  // the trace for which that goes on
  private watching = false;

  constructor(public traces: TraceInfo[], private tell: () => void, private redraw: () => void) {
    this.fresh();
  }

  get info(): TraceInfo { return this.traces[this.trace]!; }
  get gpus(): number[] { return this.tracks.filter((track) => track.kind === "gpu").map((track) => track.owner); }
  get allRows(): Row[] { return [...this.pinnedRows, ...this.rows]; }
  // Of the tracks that scroll.
  get room(): number { return Math.max(0, this.height - headOf(this) - heightOf(this.pinnedRows)); }

  fail = (why: string): void => {
    this.error = why;
    this.tell();
  };

  private fresh(): void {
    const { trace } = this;
    const told = [this.redraw, this.fail, () => void this.watch(trace)] as const;
    this.tiles = allTiles(trace, ...told);
    this.counters = counterTilesFor(trace, ...told);
    this.names = new Names(trace, this.redraw, this.fail);
    this.tracks = [];
    this.counterList = [];
    this.steps = [];
    this.layers = {};
    this.rows = this.pinnedRows = [];
    this.range = this.chosen = this.gap = this.measure = this.findings = this.hits = this.state = this.preview = undefined;
    this.notes = { version: "", path: "", notes: [] };
    this.findingsError = this.error = this.text = this.gpu = this.filter = "";
    this.ways = { folded: new Set(), wide: new Set(), hidden: new Set(), pinned: new Set() };
    this.scroll = this.version = this.listed = 0;
    this.follows = this.canNote = false;
  }

  async open(trace: number): Promise<void> {
    this.trace = trace;
    this.fresh();
    this.setCamera();
    this.tell();
    await this.untilRead(trace);
    if (this.trace !== trace || this.state?.state === "failed") return;
    try {
      const answer = await getJson<{ tracks: TrackInfo[] }>("tracks", { trace });
      if (this.trace !== trace) return;
      this.tiles[""].renew(this.version, numberingOf(answer.tracks));
      this.take(answer.tracks, true);
    } catch (error) {
      this.fail(whyOf(error));
    }
    void this.watch(trace);
    addEventListener("focus", () => { if (this.trace === trace) void this.watch(trace); });
    await this.more(trace);
  }

  private setCamera(): void {
    const { start_ns: from, end_ns: to } = this.info;
    this.camera = new Camera({ from, to: Math.max(to, from + 1) });
  }

  private take(tracks: TrackInfo[], isFirst: boolean): void {
    this.tracks = inOrder(tracks);
    const threads = this.tracks.filter((track) => track.kind === "thread");
    if (isFirst) {
      const busiest = [...threads].sort((a, b) => b.events - a.events).slice(0, MANY_THREADS);
      this.ways.folded = new Set(threads.filter((track) => !busiest.includes(track)).map(keyOf));
      if (this.gpus.length === 0 && !this.tabChosen) this.tab = "api";
      readAddress(this);
    }
    this.arrange();
  }

  // What the server makes of the trace, or of a version of it: shown as it comes, and not missed where it cannot be made.
  private async ask<T>(path: string, query: Query, take: (answer: T) => void): Promise<void> {
    try {
      const answer = await getJson<T>(path, query);
      if (this.trace !== query.trace || (query.v !== undefined && query.v !== this.version)) return;
      take(answer);
      this.arrange();
    } catch (error) {
      if (!(error instanceof Refusal)) this.fail(whyOf(error));
    }
  }

  private async more(trace: number): Promise<void> {
    const findings = getJson<Findings>("findings", { trace }).then(
      (answer) => { if (this.trace === trace) this.takeFindings(answer); },
      (error) => { this.findingsError = whyOf(error); });
    void findings.then(() => this.changed());
    // One after the other: the server makes them so.
    await this.ask<{ steps: StepInfo[]; source: string }>("steps", { trace }, (answer) => { this.steps = ofOneProcess(answer.steps); this.stepsBy = answer.source; });
    await this.ask<Notes>("notes", { trace }, (answer) => { this.notes = answer; this.canNote = true; });
    await this.list(trace);
  }

  // What each version of a trace numbers anew, until it is that of the version that is shown. A list and the tiles that are
  // asked for by its numbers change together: until then those of the version before are seen.
  private async list(trace: number): Promise<void> {
    if (this.listing === trace) return;
    this.listing = trace;
    while (this.trace === trace && this.listed !== this.version) {
      const v = this.listed = this.version;
      const layer = (name: (typeof LAYERS)[number]): Promise<void> =>
        this.ask<Layer>("layer", { trace, layer: name, v }, (answer) => { this.layers[name] = answer; this.tiles[name].renew(v, numberingOf(answer.tracks, answer.classes)); });
      await layer("idle");
      await this.ask<{ counters: CounterInfo[] }>("counters", { trace, v }, ({ counters }) => {
        this.counterList = counters;
        this.counters.renew(v, JSON.stringify(counters.map((each) => each.title)));
      });
      await layer("critical-path");
      await layer("samples");
    }
    if (this.listing === trace) this.listing = -1;
  }

  private takeFindings(findings: Findings): void {
    this.findings = findings;
    const [first] = findings.findings;
    if (first && !this.tabChosen && !this.range) this.tab = tabFor(first.finding, this.gpus.length > 0);
  }

  // Where other traces begin and end is known once they have been read.
  async readAlso(traces: number[]): Promise<void> {
    for (const trace of traces) await getJson("tracks", { trace }).catch((error) => { if (!(error instanceof Refusal)) throw error; });
    this.traces = await getTraces();
    this.tell();
  }

  // A big trace is read while the page is there already.
  private async untilRead(trace: number): Promise<void> {
    let asked = false;
    try {
      for (;;) {
        const now = await this.stateOf(trace);
        if (this.trace !== trace) return;
        this.state = now;
        // Of files of other tools there is no sample.
        if (now?.state === "reading" && !asked && /\.rpd$/i.test(this.info.path)) {
          asked = true;
          this.preview = await getJson<Preview>("preview", { trace }).catch(() => undefined);
        }
        this.tell();
        if (!this.state || this.state.state !== "reading") break;
        await new Promise((resolve) => setTimeout(resolve, LOOK_MS / 4));
      }
      this.version = this.state?.version ?? 0;
      if (this.state?.state === "failed") return this.fail(this.state.error);
      this.traces = await getTraces();
      this.setCamera();
    } catch (error) {
      if (!(error instanceof Refusal)) this.fail(whyOf(error));
    }
  }

  // A recording that runs: what is new is taken each second, as long as it grows. Whether it does is looked at for a while
  // after the page was opened or came back, and not for ever: an idle page costs nothing.
  private async watch(trace: number): Promise<void> {
    if (this.watching) return;
    this.watching = true;
    try {
      for (let quiet = 0; quiet < MOST_QUIET && this.trace === trace;) {
        await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
        const now = await this.stateOf(trace);
        if (this.trace !== trace || !now) return;
        const was = this.state;
        this.state = now;
        quiet = now.growing ? 0 : quiet + 1;
        if (now.version !== this.version) await this.renew(trace, now.version);
        else if (was?.growing !== now.growing) this.changed();
        if (was?.growing && !now.growing) void this.more(trace);
      }
    } catch (error) {
      this.fail(whyOf(error));
    } finally {
      this.watching = false;
    }
  }

  private async stateOf(trace: number): Promise<State | undefined> {
    const { traces } = await getJson<{ traces: State[] }>("state");
    return traces.find((each) => each.trace === trace);
  }

  private async renew(trace: number, version: number): Promise<void> {
    const [traces, answer] = await Promise.all([getTraces(), getJson<{ tracks: TrackInfo[] }>("tracks", { trace, v: version }).catch((error) => {
      if (!isOver(error)) throw error;
      return undefined;  // it has grown meanwhile: the next look sees it
    })]);
    if (this.trace !== trace || !answer) return;
    this.version = version;
    this.traces = traces;
    const { length } = this.camera;
    this.camera.grow({ from: this.info.start_ns, to: Math.max(this.info.end_ns, this.info.start_ns + 1) });
    if (this.follows) this.camera.show({ from: this.info.end_ns - length, to: this.info.end_ns });
    this.tiles[""].renew(version, numberingOf(answer.tracks));
    for (const cache of [...LAYERS.map((name) => this.tiles[name]), this.counters]) cache.hold();
    this.take(answer.tracks, this.tracks.length === 0);
    void this.list(trace);
  }

  arrange(): void {
    const { pinned, free, hidden } = rowsOf(this.tracks, this.counterList, {
      ...this.ways, filter: this.filter.toLowerCase(), compact: this.compact,
      idle: this.layers.idle?.tracks ?? [], path: this.layers["critical-path"]?.tracks ?? [], samples: this.layers.samples?.tracks ?? [],
    });
    this.pinnedRows = pinned;
    this.rows = free;
    this.hiddenRows = hidden;
    this.scroll = Math.min(this.scroll, Math.max(0, heightOf(this.rows) - this.room));
    this.changed();
  }

  changed(): void {
    this.tell();
    this.redraw();
    writeAddress(this);
  }

  go(route: string): void {
    this.route = route;
    this.tell();
    this.redraw();
    writeAddress(this, true);
  }

  turn(way: Ways, key: string): void {
    if (!this.ways[way].delete(key)) this.ways[way].add(key);
    this.arrange();
  }

  chooseTab(tab: string): void {
    this.tab = tab;
    this.tabChosen = true;
    this.changed();
  }

  say(text: string): void {
    this.said = text;
    this.tell();
  }

  look(change: (camera: Camera) => void): void {
    change(this.camera);
    this.follows = false;
    this.redraw();
    writeAddress(this);
    void this.search();
  }

  select(range?: Span): void {
    const { whole } = this.camera;
    this.range = range && {
      from: Math.round(Math.max(range.from, whole.from)), to: Math.round(Math.min(range.to, whole.to)),
    };
    if (this.range && this.range.to <= this.range.from) this.range = undefined;
    this.said = this.range ? `selected ${timeText(this.range.to - this.range.from)} from ${timeText(this.range.from)} on` : "nothing selected";
    this.changed();
  }

  clear(): void {
    this.chosen = this.gap = this.measure = this.seeks = undefined;
    this.select(undefined);
  }

  setText(text: string): void {
    this.text = text;
    if (text === "") this.hits = undefined;
    void this.search();
    this.changed();
  }

  async search(): Promise<void> {
    this.searching?.abort();
    if (this.text === "") return;
    const abort = this.searching = new AbortController();
    const span = { from: Math.max(0, Math.floor(this.camera.from)), to: Math.max(1, Math.ceil(this.camera.to)) };
    try {
      const hits = await getJson<Hits>("search", { trace: this.trace, text: this.text, ...span, bins: HIT_BINS }, abort.signal);
      this.hits = hits;
      this.hitSpan = span;
      this.changed();
    } catch (error) {
      if (!abort.signal.aborted) this.fail(whyOf(error));
    }
  }

  // Keeps the notes beside the trace; another user may have written meanwhile.
  async keep(change: (notes: Note[]) => Note[]): Promise<void> {
    const { trace } = this;
    for (let again = 0; again < 3; ++again) {
      try {
        this.notes = await postJson<Notes>("notes", { trace }, { version: this.notes.version, notes: change(this.notes.notes) });
        return this.changed();
      } catch (error) {
        if (!isOver(error)) return this.fail(whyOf(error));
        this.notes = await getJson<Notes>("notes", { trace });
      }
    }
    this.fail("another user is changing the notes");
  }

  // What is outlined: the event or the time of a layer that was clicked, and what belongs to it.
  get outlined(): Chosen | undefined {
    const { chosen, gap } = this;
    if (gap) return { source: gap.source, lane: gap.lane, row: gap.row, start: gap.start_ns, duration: gap.duration_ns };
    return chosen && chosen.lane !== null ? { source: "", lane: chosen.lane, packed: chosen.packed, row: chosen.row, start: chosen.start_ns, duration: chosen.duration_ns } : undefined;
  }
  get linked(): Chosen[] {
    const { chosen, gap } = this;
    const all = gap?.events ?? (chosen?.call ? [chosen.call] : chosen?.operations ?? []);
    return all.flatMap((each) => each.lane === null ? [] : [{ source: "" as Source, lane: each.lane, packed: each.packed, row: each.row, start: each.start_ns, duration: each.duration_ns }]);
  }

  fit(): void {
    const one = this.gap ?? this.chosen;
    const span = this.range ?? (one && { from: one.start_ns, to: one.start_ns + one.duration_ns });
    const margin = span ? (span.to - span.from) * 0.1 : 0;
    this.look((camera) => camera.show(span ? { from: span.from - margin, to: span.to + margin } : camera.whole));
  }
}

// What the numbers of lanes, and of classes, stand for.
function numberingOf(tracks: (TrackInfo | LayerTrack)[], classes: string[] = []): string {
  return JSON.stringify([classes, tracks.map((each) => [each.owner, each.first_lane, each.lanes])]);
}

// Ranks of one file have steps of their own beside each other: those of the process with most of them.
function ofOneProcess(steps: StepInfo[]): StepInfo[] {
  const counts = new Map<number | null, number>();
  for (const step of steps) counts.set(step.pid, (counts.get(step.pid) ?? 0) + 1);
  const [pid] = [...counts].sort((a, b) => b[1] - a[1])[0] ?? [null];
  return steps.filter((step) => step.pid === pid).sort((a, b) => a.start_ns - b.start_ns);
}
