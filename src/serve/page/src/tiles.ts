// Tiles of lanes (src/timeline/tile.h), fetched as they are looked at and forgotten again, so that
// the page never holds the trace.
import { getBytes, getJson } from "./api";

export const BINS = 512;
const MOST_LANES = 64;
const MOST_BYTES = 64 << 20;

export interface LaneTile {
  exact: boolean; rows: number; starts: number; busyNs: number;
  row: Uint32Array; name: Uint32Array;
  start: Float64Array | Float32Array;     // exact: ns from the tile's begin; else bins
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

interface Kept { lanes: Map<number, LaneTile>; bytes: number }

export class Tiles {
  private kept = new Map<string, Kept>();  // the one that was used last is last
  private asked = new Set<string>();
  private bytes = 0;

  constructor(private trace: number, private changed: () => void, private failed: (why: string) => void) {}

  find(level: number, tile: number, lane: number): LaneTile | undefined {
    const key = `${level}/${tile}`;
    const kept = this.kept.get(key);
    const found = kept?.lanes.get(lane);
    if (kept && found) {
      this.kept.delete(key);
      this.kept.set(key, kept);
    }
    return found;
  }

  // Asks for what is missing of a tile.
  want(level: number, tile: number, lanes: number[]): void {
    const missing = lanes.filter((lane) => !this.asked.has(`${level}/${tile}/${lane}`) &&
                                           !this.kept.get(`${level}/${tile}`)?.lanes.has(lane));
    for (let i = 0; i < missing.length; i += MOST_LANES) {
      void this.fetch(level, tile, missing.slice(i, i + MOST_LANES));
    }
  }

  private async fetch(level: number, tile: number, lanes: number[]): Promise<void> {
    const keys = lanes.map((lane) => `${level}/${tile}/${lane}`);
    for (const key of keys) this.asked.add(key);
    try {
      const bytes = await getBytes("tiles", { trace: this.trace, lanes: lanes.join(","), level, tile });
      this.keep(`${level}/${tile}`, readTile(bytes), bytes.byteLength);
      for (const key of keys) this.asked.delete(key);
      this.changed();
    } catch (error) {
      this.failed(String(error));  // and is not asked for again
    }
  }

  private keep(key: string, lanes: Map<number, LaneTile>, bytes: number): void {
    const kept = this.kept.get(key) ?? { lanes: new Map<number, LaneTile>(), bytes: 0 };
    for (const [lane, tile] of lanes) kept.lanes.set(lane, tile);
    kept.bytes += bytes;
    this.bytes += bytes;
    this.kept.delete(key);
    this.kept.set(key, kept);
    for (const [old, each] of this.kept) {
      if (this.bytes <= MOST_BYTES || old === key) break;
      this.kept.delete(old);
      this.bytes -= each.bytes;
    }
  }
}

// Names by id, short, as they are needed.
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
      this.failed(String(error));
    }
  }
}
