// Tiles of lanes (src/timeline/tile.h), fetched as they are looked at and forgotten again, so that
// the page never holds the trace.
import type { Source } from "./rows";
import { Query, getBytes, getJson, isOver, whyOf } from "./api";

export const BINS = 512;
const MOST_LANES = 64;
const MOST_BYTES = 48 << 20;        // of the trace's tiles
const MOST_OTHER_BYTES = 5 << 20;   // of each other kind

export interface LaneTile {
  exact: boolean; rows: number; starts: number; busyNs: number;
  row: Uint32Array; name: Uint32Array;
  start: Float64Array | Float32Array;     // exact: ns from the tile's start; else bins
  duration: Float64Array | Float32Array;
  count?: Uint32Array; bin?: Uint16Array; busy?: Uint16Array;
}

function readTile(bytes: ArrayBuffer): Map<number, LaneTile> {
  const view = new DataView(bytes);
  const lanes = new Map<number, LaneTile>();
  const count = view.getUint16(6, true);
  for (let i = 0; i < count; ++i) {
    const entry = 32 + 32 * i;
    const exact = view.getUint32(entry + 4, true) === 1;
    const rows = view.getUint32(entry + 8, true);
    let place = view.getUint32(entry + 12, true);
    const take = <T>(type: { new (b: ArrayBuffer, o: number, n: number): T; BYTES_PER_ELEMENT: number }): T => {
      const column = new type(bytes, place, rows);
      place += rows * type.BYTES_PER_ELEMENT;
      return column;
    };
    const starts = Number(view.getBigUint64(entry + 16, true));
    const busyNs = Number(view.getBigUint64(entry + 24, true));
    if (exact) {
      const start = take(Float64Array), duration = take(Float64Array);
      const row = take(Uint32Array), name = take(Uint32Array);
      lanes.set(view.getUint32(entry, true), { exact, rows, starts, busyNs, start, duration, row, name });
    } else {
      const each = take(Uint32Array), row = take(Uint32Array), name = take(Uint32Array);
      const start = take(Float32Array), duration = take(Float32Array);
      const bin = take(Uint16Array), busy = take(Uint16Array);
      lanes.set(view.getUint32(entry, true),
                { exact, rows, starts, busyNs, start, duration, row, name, count: each, bin, busy });
    }
  }
  return lanes;
}

// What a counter was in each bin that has a value.
export interface CounterTile { rows: number; min: Float32Array; max: Float32Array; last: Float32Array; bin: Uint16Array }

function readCounterTile(bytes: ArrayBuffer): Map<number, CounterTile> {
  const view = new DataView(bytes);
  const counters = new Map<number, CounterTile>();
  for (let i = 0; i < view.getUint16(6, true); ++i) {
    const entry = 32 + 16 * i;
    const rows = view.getUint32(entry + 4, true), place = view.getUint32(entry + 8, true);
    const column = (k: number): Float32Array => new Float32Array(bytes, place + 4 * rows * k, rows);
    counters.set(view.getUint32(entry, true),
                 { rows, min: column(0), max: column(1), last: column(2), bin: new Uint16Array(bytes, place + 12 * rows, rows) });
  }
  return counters;
}

interface Kept<T> { parts: Map<number, T>; bytes: number }

// Parts of tiles by level, number and lane (or counter).
class Cache<T> {
  private version = 0;  // of a trace that may grow; 0: whichever there is
  private kept = new Map<string, Kept<T>>();  // the one that was used last is last
  private old: ReadonlyMap<string, Kept<T>> = new Map();  // of the version before
  private asked = new Set<string>();
  private held = false;
  private numbering = "";
  private bytes = 0;

  constructor(private path: string, private list: string, private query: Query, private read: (bytes: ArrayBuffer) => Map<number, T>,
              private most: number, private changed: () => void, private failed: (why: string) => void, private over?: () => void) {}

  find(level: number, tile: number, part: number): T | undefined {
    const key = `${level}/${tile}`;
    const kept = this.kept.get(key);
    const found = kept?.parts.get(part);
    if (!kept || !found) return this.old.get(key)?.parts.get(part);
    this.kept.delete(key);
    this.kept.set(key, kept);
    return found;
  }

  // Asks for what is missing of a tile.
  want(level: number, tile: number, parts: number[]): void {
    if (this.held) return;
    const missing = parts.filter((part) => !this.asked.has(`${level}/${tile}/${part}`) &&
                                           !this.kept.get(`${level}/${tile}`)?.parts.has(part));
    for (let i = 0; i < missing.length; i += MOST_LANES) {
      void this.fetch(level, tile, missing.slice(i, i + MOST_LANES));
    }
  }

  // From now on parts are those of a version. What there is stays to be seen until what is new is there, if parts are numbered as before.
  renew(version: number, numbering: string): void {
    this.version = version;
    this.held = false;
    this.old = numbering === this.numbering ? this.kept : new Map();
    this.numbering = numbering;
    this.kept = new Map();
    this.asked.clear();
    this.bytes = 0;
  }

  // The version is no more, and what its parts are called in the next one is not known yet: until renew() none is asked for.
  hold(): void { this.held = true; }

  private async fetch(level: number, tile: number, parts: number[]): Promise<void> {
    const { version } = this;
    const keys = parts.map((part) => `${level}/${tile}/${part}`);
    for (const key of keys) this.asked.add(key);
    try {
      const bytes = await getBytes(this.path, { ...this.query, [this.list]: parts.join(","), level, tile, ...(version ? { v: version } : {}) });
      if (version !== this.version) return;
      this.keep(`${level}/${tile}`, this.read(bytes), bytes.byteLength);
      for (const key of keys) this.asked.delete(key);
      this.changed();
    } catch (error) {
      if (isOver(error)) this.over?.();
      else this.failed(whyOf(error));  // and is not asked for again
    }
  }

  private keep(key: string, parts: Map<number, T>, bytes: number): void {
    const kept = this.kept.get(key) ?? { parts: new Map<number, T>(), bytes: 0 };
    for (const [part, tile] of parts) kept.parts.set(part, tile);
    kept.bytes += bytes;
    this.bytes += bytes;
    this.kept.delete(key);
    this.kept.set(key, kept);
    for (const [old, each] of this.kept) {
      if (this.bytes <= this.most || old === key) break;
      this.kept.delete(old);
      this.bytes -= each.bytes;
    }
  }
}

export type Tiles = Cache<LaneTile>;
export type CounterTiles = Cache<CounterTile>;
type Told = [changed: () => void, failed: (why: string) => void, over?: () => void];  // over: the version is no more

// Of the trace itself, or of a layer of it.
function tilesFor(trace: number, layer: Source, ...told: Told): Tiles {
  return new Cache("tiles", "lanes", layer === "" ? { trace } : { trace, layer }, readTile, layer === "" ? MOST_BYTES : MOST_OTHER_BYTES, ...told);
}
export function allTiles(trace: number, ...told: Told): Record<Source, Tiles> {
  const of = (layer: Source): Tiles => tilesFor(trace, layer, ...told);
  return { "": of(""), "idle": of("idle"), "critical-path": of("critical-path"), "samples": of("samples") };
}
export function counterTilesFor(trace: number, ...told: Told): CounterTiles {
  return new Cache("counter-tiles", "counters", { trace }, readCounterTile, MOST_OTHER_BYTES, ...told);
}

// Names by id, short, as they are needed. An id means the same in all versions of a trace.
export class Names {
  private texts = new Map<number, string>();
  private wanted = new Set<number>();
  private timer = false;

  constructor(private trace: number, private changed: () => void, private failed: (why: string) => void) {}

  // undefined: not here yet.
  find(id: number): string | undefined {
    const text = this.texts.get(id);
    if (text === undefined) {
      this.wanted.add(id);
      if (!this.timer) {
        this.timer = true;
        queueMicrotask(() => void this.fetch());
      }
    }
    return text;
  }

  private async fetch(): Promise<void> {
    const ids = [...this.wanted].slice(0, 500);
    try {
      const texts = await getJson<Record<string, string>>("names", { trace: this.trace, ids: ids.join(","), short: 1 });
      for (const [id, text] of Object.entries(texts)) this.texts.set(Number(id), text);
      for (const id of ids) this.wanted.delete(id);
      this.timer = false;
      this.changed();
    } catch (error) {
      this.failed(whyOf(error));
    }
  }
}
