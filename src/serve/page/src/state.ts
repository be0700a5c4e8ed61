// What the page knows and shows, and what can be done with it. The parts of the page read it, and
// are told when it changed.
import { Basics, EventInfo, Findings, Hits, TraceInfo, TrackInfo, getJson } from "./api";
import { Camera, Span } from "./camera";
import { Chosen } from "./draw";
import { timeText } from "./format";
import { LANE, Row, heightOf, inOrder, laneTop, rowOfLane, rowsOf } from "./rows";
import { Names, Tiles } from "./tiles";

const HIT_BINS = 1024;
const MANY_THREADS = 8;  // more are folded at first

export class Page {
  trace = 0;
  tracks: TrackInfo[] = [];
  rows: Row[] = [];
  camera = new Camera({ from: 0, to: 1 });
  tiles: Tiles;
  names: Names;
  range?: Span;
  chosen?: EventInfo;
  findings?: Findings;
  findingsError = "";
  text = "";
  hits?: Hits;
  hitSpan?: Span;
  error = "";
  said = "";         // for who does not see the canvas
  tab = "kernels";
  gpu = "";          // of the panels; "": all
  helping = false;
  scroll = 0;
  height = 300;      // of the lanes that are seen
  private folded = new Set<string>();
  private wide = new Set<string>();
  private searching?: AbortController;

  constructor(public traces: TraceInfo[], private tell: () => void, private redraw: () => void) {
    this.tiles = new Tiles(0, this.redraw, this.fail);
    this.names = new Names(0, this.redraw, this.fail);
  }

  get info(): TraceInfo { return this.traces[this.trace]!; }
  get gpus(): number[] { return this.tracks.filter((track) => track.kind === "gpu").map((track) => track.owner); }

  fail = (why: string): void => {
    this.error = why.replace(/^Error: /, "");
    this.tell();
  };

  async open(trace: number): Promise<void> {
    this.trace = trace;
    const { start_ns: from, end_ns: to } = this.info;
    this.camera = new Camera({ from, to: Math.max(to, from + 1) });
    this.tiles = new Tiles(trace, this.redraw, this.fail);
    this.names = new Names(trace, this.redraw, this.fail);
    this.range = this.chosen = this.findings = this.hits = undefined;
    this.findingsError = this.error = this.text = this.gpu = "";
    this.tracks = [];
    this.tell();
    try {
      const answer = await getJson<{ tracks: TrackInfo[] }>("tracks", { trace });
      if (this.trace !== trace) return;
      this.tracks = inOrder(answer.tracks);
      const threads = this.tracks.filter((track) => track.kind === "thread");
      const busiest = [...threads].sort((a, b) => b.events - a.events).slice(0, MANY_THREADS);
      this.folded = new Set(threads.filter((track) => !busiest.includes(track))
                                   .map((track) => `thread ${track.owner} ${track.number}`));
      this.wide = new Set();
      if (this.gpus.length === 0) this.tab = "api";
      this.arrange();
    } catch (error) {
      this.fail(String(error));
    }
    try {
      const findings = await getJson<Findings>("findings", { trace });
      if (this.trace === trace) this.findings = findings;
    } catch (error) {
      this.findingsError = String(error);
    }
    this.tell();
  }

  private arrange(): void {
    this.rows = rowsOf(this.tracks, this.folded, this.wide);
    this.scroll = Math.min(this.scroll, Math.max(0, heightOf(this.rows) - this.height));
    this.changed();
  }

  changed(): void {
    this.tell();
    this.redraw();
  }

  fold(key: string): void {
    if (!this.folded.delete(key)) this.folded.add(key);
    this.arrange();
  }

  widen(key: string): void {
    if (!this.wide.delete(key)) this.wide.add(key);
    this.arrange();
  }

  say(text: string): void {
    this.said = text;
    this.tell();
  }

  look(change: (camera: Camera) => void): void {
    change(this.camera);
    this.redraw();
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

  async choose(table: string, row: number, move = false): Promise<void> {
    try {
      const event = await getJson<EventInfo>("event", { trace: this.trace, table, row });
      this.chosen = event;
      this.said = `${event.name}, ${timeText(event.duration_ns)}, starts at ${timeText(event.start_ns)}`;
      if (move) this.reveal(event);
      this.changed();
    } catch (error) {
      this.fail(String(error));
    }
  }

  // So that an event can be seen: its track is opened, and time and tracks are moved if they must.
  private reveal(event: Basics): void {
    if (event.lane !== null) {
      const lane = event.lane;
      const track = this.tracks.find((each) => lane >= each.first_lane && lane < each.first_lane + each.lanes);
      if (track) {
        const head = track.kind === "thread" ? `process ${track.owner}` : `gpu ${track.owner}`;
        const key = `${track.kind} ${track.owner} ${track.number}`;
        this.folded.delete(head);
        this.folded.delete(key);
        this.rows = rowsOf(this.tracks, this.folded, this.wide);
        if (!rowOfLane(this.rows, lane)?.lanes.includes(lane)) this.wide.add(key);
        this.rows = rowsOf(this.tracks, this.folded, this.wide);
        const row = rowOfLane(this.rows, lane);
        const y = row ? row.top + laneTop(row, row.lanes.indexOf(lane)) : 0;
        if (y < this.scroll || y + LANE > this.scroll + this.height) {
          this.scroll = Math.max(0, Math.min(y - this.height / 2, heightOf(this.rows) - this.height));
        }
      }
    }
    this.camera.reveal({ from: event.start_ns, to: event.start_ns + event.duration_ns });
    void this.search();
  }

  // The next event of the lane of the chosen one, or of a name in all lanes.
  async step(back: boolean, byName: boolean): Promise<void> {
    if (byName && !this.text) return;
    if (!byName && (!this.chosen || this.chosen.lane === null)) return;
    const middle = Math.round(this.camera.from);
    const from = this.chosen ?? { start_ns: Math.max(0, middle), lane: 0 };
    try {
      const query: Record<string, string | number> =
        { trace: this.trace, lane: from.lane ?? 0, time: Math.max(0, from.start_ns), back: back ? 1 : 0 };
      if (byName) query.text = this.text;
      const next = await getJson<Basics | null>("next", query);
      if (next) await this.choose(next.table, next.row, true);
      else this.say(back ? "no earlier one" : "no later one");
    } catch (error) {
      this.fail(String(error));
    }
  }

  // The first event of the lane above or below, from where the chosen one starts.
  async across(down: boolean): Promise<void> {
    const lanes = this.rows.filter((row) => row.level === 2).flatMap((row) => row.lanes);
    const at = lanes.indexOf(this.chosen?.lane ?? -1);
    const lane = at < 0 ? lanes[0] : lanes[at + (down ? 1 : -1)];
    if (lane === undefined) return;
    const time = Math.max(0, Math.round((this.chosen?.start_ns ?? this.camera.from) - 1));
    for (const back of [0, 1]) {
      const next = await getJson<Basics | null>("next", { trace: this.trace, lane, time, back });
      if (next) return this.choose(next.table, next.row, true);
    }
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
      if (!abort.signal.aborted) this.fail(String(error));
    }
  }

  asChosen(event?: Basics): Chosen | undefined {
    return event && event.lane !== null
      ? { lane: event.lane, row: event.row, start: event.start_ns, duration: event.duration_ns } : undefined;
  }

  fit(): void {
    const span = this.range ?? (this.chosen && { from: this.chosen.start_ns, to: this.chosen.start_ns + this.chosen.duration_ns });
    const margin = span ? (span.to - span.from) * 0.1 : 0;
    this.look((camera) => camera.show(span ? { from: span.from - margin, to: span.to + margin } : camera.whole));
  }
}

export { HIT_BINS };
