// Tracks as the rows of the timeline: headings, and lanes below each other. What is pinned stands above the
// others and does not scroll; what is hidden or filtered out is not there.
import { timeText } from "./format";
import type { CounterInfo, LayerTrack, TrackInfo } from "./api";

export const HEADING = 24;
export const LANE = 18;
export const THIN = 9;       // of a lane in the compact arrangement
export const STRIP = 22;     // idle time, critical path
export const COUNTER = 40;
const FEW_LANES = 6;         // of a track that was not opened wide

export type RowKind = "heading" | "lanes" | "layer" | "counter";
// What lanes are of: the trace itself, or what an analysis made of it.
export type Source = "" | "idle" | "critical-path" | "samples";
export const LAYERS = ["idle", "critical-path", "samples"] as const;

export interface Row {
  key: string;
  kind: RowKind;
  level: 1 | 2;          // in the tree of tracks
  label: string;
  note: string;
  track?: TrackInfo;     // whose lanes they are
  source: Source;
  counter?: CounterInfo;
  lanes: number[];       // that are shown
  lane: number;          // height of a lane
  hidden: number;        // lanes that are not
  folds: boolean;        // has rows or lanes that can be folded away
  open: boolean;
  wide: boolean;
  pinned: boolean;
  top: number;           // of the pinned ones, or of the others
  height: number;
}

export type Keys = ReadonlySet<string>;
export interface Arrangement {
  folded: Keys;          // rows that are closed
  wide: Keys;            // tracks that show all their lanes
  hidden: Keys;
  pinned: Keys;
  filter: string;        // a part of a label or note, in lower case
  compact: boolean;
  idle: LayerTrack[];    // by GPU
  path: LayerTrack[];    // the critical path
  samples: LayerTrack[]; // stacks, by thread
}
export interface Rows { pinned: Row[]; free: Row[]; hidden: number }

function lanesOf(track: TrackInfo): number[] {
  return Array.from({ length: track.lanes }, (_, i) => track.first_lane + i);
}

// GPUs as they come; then processes, those with the most calls first, and so their threads.
export function inOrder(tracks: TrackInfo[]): TrackInfo[] {
  const calls = new Map<number, number>();
  const threads = tracks.filter((track) => track.kind === "thread");
  for (const track of threads) calls.set(track.owner, (calls.get(track.owner) ?? 0) + track.events);
  threads.sort((a, b) => calls.get(b.owner)! - calls.get(a.owner)! || a.owner - b.owner || b.events - a.events);
  return [...tracks.filter((track) => track.kind !== "thread").sort((a, b) => a.owner - b.owner), ...threads];
}

// Files number what is no process or thread below 0. What only repeats the number says nothing.
function nameOf(kind: string, number: number, name = ""): string {
  const said = /^thread \d+ \((.*)\)$/.exec(name)?.[1] ?? name;
  if (number < 0) return said || `Other ${-number}`;
  return said && said !== `${kind.toLowerCase()} ${number}` ? `${kind} ${number}: ${said}` : `${kind} ${number}`;
}

export function keyOf(track: TrackInfo): string { return `${track.kind} ${track.owner} ${track.number}`; }
export function headOf(track: TrackInfo): string { return track.kind === "thread" ? `process ${track.owner}` : `gpu ${track.owner}`; }

// Levels that all calls of a thread lie in say nothing: main(), and what starts an interpreter.
function outerOf(track: { kind: string; lanes: number; lane_events?: number[] }): number {
  const events = track.lane_events ?? [];
  const most = Math.max(...events, 0);
  const first = events.findIndex((count) => count > 3);
  return (track.kind === "thread" || track.kind === "samples") && first > 0 && most > 20 ? Math.min(first, Math.max(track.lanes - FEW_LANES, 0)) : 0;
}

// The maker and its line of products are in the header.
function shortDevice(name: string): string { return name.replace(/^(AMD|NVIDIA|Intel)\S*\s+((Instinct|Radeon|GeForce|Tesla)\S*\s+)?/i, ""); }

function plural(count: number, word: string): string {
  return `${count.toLocaleString("en-US")} ${word}${count === 1 ? "" : "s"}`;
}

const BARE = { source: "" as Source, lanes: [] as number[], lane: LANE, hidden: 0, folds: false, open: true, wide: false, pinned: false, top: 0 };

function headingRow(track: TrackInfo, ways: Arrangement): Row {
  const isGpu = track.kind !== "thread";
  const key = headOf(track);
  const name = track.owner < 0 && track.name ? track.name : nameOf(isGpu ? "GPU" : "Process", track.owner, track.process);
  return { ...BARE, key, kind: "heading", level: 1, label: name,
           note: isGpu ? shortDevice(track.device) || "any operation" : "",
           track: track.kind === "gpu" ? track : undefined, lanes: track.kind === "gpu" ? [track.first_lane] : [],
           lane: HEADING - 6, folds: true, open: !ways.folded.has(key), height: HEADING };
}

function laneRow(track: TrackInfo, ways: Arrangement): Row {
  const key = keyOf(track);
  const open = !ways.folded.has(key);
  const lane = ways.compact ? THIN : LANE;
  const all = lanesOf(track);
  const outer = outerOf(track);
  const lanes = !open ? [] : ways.wide.has(key) || track.kind === "packed" ? all : all.slice(outer, outer + FEW_LANES);
  const folded = open && track.lanes > FEW_LANES && track.kind !== "packed";
  const isMain = track.number === track.owner;  // its name is that of the process
  const label = track.kind === "packed" ? "All queues" : track.kind === "queue" ? nameOf("Queue", track.number) : nameOf("Thread", track.number, isMain && track.owner >= 0 ? "" : track.name);
  return { ...BARE, key, kind: "lanes", level: 2, label,
           note: plural(track.events, track.kind === "thread" ? "call" : "operation"), track, lanes, lane,
           hidden: open ? track.lanes - lanes.length : 0, folds: true, open, wide: ways.wide.has(key),
           height: open ? Math.max(folded ? HEADING + 14 : HEADING, lanes.length * lane + 6) : HEADING };
}

function layerRow(source: Source, of: LayerTrack, level: 1 | 2, label: string, note: string): Row {
  return { ...BARE, key: `${source} ${of.owner}`, kind: "layer", source, level, label, note, lane: STRIP - 6,
           lanes: Array.from({ length: of.lanes }, (_, i) => of.first_lane + i), height: of.lanes * (STRIP - 6) + 6 };
}

// Stacks of a thread as they were sampled, as deep as they went.
function samplesRow(of: LayerTrack, label: string, ways: Arrangement): Row {
  const key = `samples ${of.pid} ${of.tid}`;
  const open = !ways.folded.has(key), wide = ways.wide.has(key);
  const all = Array.from({ length: of.lanes }, (_, i) => of.first_lane + i);
  const outer = outerOf(of);
  const lane = ways.compact ? THIN : LANE;
  const lanes = !open ? [] : wide ? all : all.slice(outer, outer + FEW_LANES);
  const more = open && of.lanes > FEW_LANES;
  return { ...BARE, key, kind: "layer", source: "samples", level: 2, label, note: "sampled", lanes, lane, folds: true, open, wide,
           hidden: open ? of.lanes - lanes.length : 0, height: open ? Math.max(more ? HEADING + 14 : HEADING, lanes.length * lane + 6) : HEADING };
}

function counterRow(counter: CounterInfo, ways: Arrangement): Row {
  const key = `counter ${counter.gpu} ${counter.title}`;  // its number is another one when the trace has grown
  const open = !ways.folded.has(key);
  return { ...BARE, key, kind: "counter", level: 2, label: counter.title, note: counter.unit, counter, folds: true, open,
           height: open ? COUNTER : HEADING };
}

function isOf(stacks: LayerTrack, track: TrackInfo): boolean {
  return track.kind === "thread" && stacks.pid === track.owner && stacks.tid === track.number;
}

// All rows that there are, by their headings.
function allRows(tracks: TrackInfo[], counters: CounterInfo[], ways: Arrangement): Row[] {
  const rows: Row[] = [];
  for (const path of ways.path) {
    if (path.events > 0) rows.push(layerRow("critical-path", path, 1, "Critical path", ""));
  }
  const hasPacked = new Set(tracks.filter((track) => track.kind === "packed").map((track) => track.owner));
  let owner = "";
  for (const track of tracks) {
    const head = headOf(track);
    if (head !== owner) {
      owner = head;
      rows.push(headingRow(track, ways));
    }
    if (ways.folded.has(head)) continue;
    if (track.kind === "gpu") {
      const gaps = ways.idle.find((each) => each.owner === track.owner && each.events > 0);
      if (gaps) rows.push(layerRow("idle", gaps, 2, "Idle, by cause", timeText(gaps.total_ns)));
    } else if (track.kind === "thread" || (track.kind === "packed") === (ways.compact && hasPacked.has(track.owner))) {
      rows.push(laneRow(track, ways));
      const stacks = track.kind === "thread" ? ways.samples.find((each) => isOf(each, track)) : undefined;
      if (stacks && !ways.folded.has(keyOf(track))) rows.push(samplesRow(stacks, "Stacks", ways));
    }
  }
  const alone = ways.samples.filter((each) => !tracks.some((track) => isOf(each, track)));
  if (alone.length > 0) rows.push({ ...BARE, key: "sampled", kind: "heading", level: 1, label: "Threads without calls", note: "", folds: true, open: !ways.folded.has("sampled"), height: HEADING });
  if (!ways.folded.has("sampled")) rows.push(...alone.map((each) => samplesRow(each, `Thread ${each.tid}`, ways)));
  // Metrics stand behind what ran: they are many, and say less.
  for (const gpu of [...new Set(counters.map((counter) => counter.gpu))]) {
    const key = gpu === null ? "metrics" : `metrics ${gpu}`;
    const open = !ways.folded.has(key);
    rows.push({ ...BARE, key, kind: "heading", level: 1, label: gpu === null ? "Metrics" : `Metrics of GPU ${gpu}`, note: "", folds: true, open, height: HEADING });
    if (open) rows.push(...counters.filter((counter) => counter.gpu === gpu).map((counter) => counterRow(counter, ways)));
  }
  return rows;
}

function stack(rows: Row[]): Row[] {
  let top = 0;
  for (const row of rows) {
    row.top = top;
    top += row.height;
  }
  return rows;
}

export function rowsOf(tracks: TrackInfo[], counters: CounterInfo[], ways: Arrangement): Rows {
  const all = allRows(tracks, counters, ways);
  const isWanted = (row: Row): boolean => `${row.label} ${row.note}`.toLowerCase().includes(ways.filter);
  const pinned: Row[] = [], free: Row[] = [];
  let hidden = 0, head: Row | undefined, headWanted = false;
  for (const row of all) {
    if (row.level === 1) {
      head = row;
      headWanted = ways.filter === "" || isWanted(row);
    }
    if (ways.hidden.has(row.key) || (row.level === 2 && head && ways.hidden.has(head.key))) {
      ++hidden;
    } else if (ways.pinned.has(row.key)) {
      const of = row.level === 2 && head ? `${head.label}: ` : "";
      pinned.push({ ...row, label: of + row.label, pinned: true });
    } else if (ways.filter === "" || headWanted || isWanted(row)) {
      free.push(row);
    } else if (row.level === 1 && all.some((each) => each.level === 2 && isWanted(each) && headOfRow(all, each) === row)) {
      free.push(row);
    }
  }
  return { pinned: stack(pinned), free: stack(free), hidden };
}

function headOfRow(all: Row[], row: Row): Row | undefined {
  for (let i = all.indexOf(row); i >= 0; --i) if (all[i]!.level === 1) return all[i];
  return undefined;
}

export function heightOf(rows: Row[]): number {
  const last = rows[rows.length - 1];
  return last ? last.top + last.height : 0;
}

// Where a lane is drawn, from the top of its row.
export function laneTop(row: Row, index: number): number { return 3 + index * row.lane; }

export function laneAt(row: Row, y: number): number | undefined {
  return row.lanes[Math.floor((y - 3) / row.lane)];
}

export function hasLane(row: Row, lane: number): boolean { return row.lanes.includes(lane); }
