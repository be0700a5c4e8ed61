// Tracks as the rows of the timeline: headings, and lanes below each other.
import type { TrackInfo } from "./api";

export const HEADING = 24;
export const LANE = 18;
const FEW_LANES = 6;  // of a track that was not opened wide

export interface Row {
  key: string;
  level: 1 | 2;          // in the tree of tracks
  label: string;
  note: string;
  track?: TrackInfo;     // none: a heading of a process
  lanes: number[];       // that are shown
  hidden: number;        // lanes that are not
  folds: boolean;        // has rows or lanes that can be folded away
  open: boolean;
  wide: boolean;
  top: number;
  height: number;
}

export type Folded = ReadonlySet<string>;

function lanesOf(track: TrackInfo, many: number): number[] {
  return Array.from({ length: Math.min(track.lanes, many) }, (_, i) => track.first_lane + i);
}

// GPUs as they come; then processes, those with the most calls first, and so their threads.
export function inOrder(tracks: TrackInfo[]): TrackInfo[] {
  const calls = new Map<number, number>();
  const threads = tracks.filter((track) => track.kind === "thread");
  for (const track of threads) calls.set(track.owner, (calls.get(track.owner) ?? 0) + track.events);
  threads.sort((a, b) => calls.get(b.owner)! - calls.get(a.owner)! || a.owner - b.owner || b.events - a.events);
  return [...tracks.filter((track) => track.kind !== "thread"), ...threads];
}

// Files number what is no process or thread below 0.
function nameOf(kind: string, number: number): string {
  return number < 0 ? `Other ${-number}` : `${kind} ${number}`;
}

// `folded` holds the keys of rows that are closed, `wide` of those that show all their lanes.
export function rowsOf(tracks: TrackInfo[], folded: Folded, wide: Folded): Row[] {
  const rows: Row[] = [];
  let top = 0, owner = "";
  const add = (row: Omit<Row, "top" | "height">, height: number): void => {
    rows.push({ ...row, top, height });
    top += height;
  };
  for (const track of tracks) {
    const head = track.kind === "thread" ? `process ${track.owner}` : `gpu ${track.owner}`;
    if (head !== owner) {
      owner = head;
      const isGpu = track.kind !== "thread";
      add({
        key: head, level: 1, label: nameOf(isGpu ? "GPU" : "Process", track.owner),
        note: isGpu ? track.device || "busy when any operation runs" : "",
        track: track.kind === "gpu" ? track : undefined, lanes: track.kind === "gpu" ? [track.first_lane] : [],
        hidden: 0, folds: true, open: !folded.has(head), wide: false,
      }, HEADING);
      if (track.kind === "gpu") continue;
    }
    if (folded.has(head)) continue;
    const key = `${track.kind} ${track.owner} ${track.number}`;
    const open = !folded.has(key);
    const lanes = open ? lanesOf(track, wide.has(key) ? Infinity : FEW_LANES) : [];
    add({
      key, level: 2, label: nameOf(track.kind === "queue" ? "Queue" : "Thread", track.number),
      note: `${track.events.toLocaleString("en-US")} ${track.kind === "queue" ? "operation" : "call"}${track.events === 1 ? "" : "s"}`,
      track, lanes, hidden: open ? track.lanes - lanes.length : 0, folds: true, open, wide: wide.has(key),
    }, open ? Math.max(track.lanes > FEW_LANES ? HEADING + 14 : HEADING, lanes.length * LANE + 6) : HEADING);
  }
  return rows;
}

export function heightOf(rows: Row[]): number {
  const last = rows[rows.length - 1];
  return last ? last.top + last.height : 0;
}

// Where a lane is drawn, from the top of its row.
export function laneTop(row: Row, index: number): number {
  return row.level === 1 ? 3 : 3 + index * LANE;
}

export function rowAt(rows: Row[], y: number): Row | undefined {
  return rows.find((row) => y >= row.top && y < row.top + row.height);
}

export function laneAt(row: Row, y: number): number | undefined {
  const index = row.level === 1 ? 0 : Math.floor((y - row.top - 3) / LANE);
  return row.lanes[index];
}

export function rowOfLane(rows: Row[], lane: number): Row | undefined {
  return rows.find((row) => row.track && lane >= row.track.first_lane && lane < row.track.first_lane + row.track.lanes);
}
