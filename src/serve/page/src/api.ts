// What the page asks of the server: src/serve/api.h describes the answers.

export interface TraceInfo {
  path: string; as: string; state: State["state"]; start_ns: number; end_ns: number; ops: number; apis: number;
  origin_ns: number; origin: bigint;  // what times count from, on the clock of the file: about, and exactly
  warnings: string[]; counted: boolean;  // counted: kernels have hardware counters
}
// While a trace is read there is no more of it.
type EarlyTrace = Pick<TraceInfo, "path" | "state"> & Partial<Omit<TraceInfo, "origin_ns">> & { origin_ns?: number | string };
export interface Preview {
  start_ns: number; end_ns: number; ops: number; apis: number;
  tracks: { kind: string; owner: number; number: number; bins: number[] }[];
}
export interface TrackInfo {
  kind: "gpu" | "queue" | "thread" | "packed"; owner: number; number: number; first_lane: number;
  lanes: number; events: number; device: string;
  name: string; process: string;  // of a thread, and of the main one of its process
  lane_events?: number[];
}
export interface LayerTrack {
  kind: string; owner: number; lanes: number; first_lane: number; events: number; total_ns: number;
  pid?: number; tid?: number; lane_events?: number[];  // of samples
}
export interface Layer { layer: string; classes: string[]; class_ns: number[]; tracks: LayerTrack[] }
export interface LayerEvent {
  class: string; start_ns: number; duration_ns: number; facts: { title: string; text: string }[];
  events: (Basics & { role: string })[];
}
export interface CounterInfo {
  counter: number; what: string; title: string; unit: string; gpu: number | null; min: number; max: number; readings: number;
}
export interface StepInfo { name: string; pid: number | null; start_ns: number; end_ns: number }
export interface Basics {
  name: string; start_ns: number; duration_ns: number; table: "op" | "api"; row: number;
  lane: number | null; packed?: number;  // of a GPU whose queues are packed
}
export interface EventInfo extends Basics {
  type?: string; gpu?: number; queue?: number; bytes?: number; grid?: number[]; group?: number[];
  call?: Basics; domain?: string; launched?: number; operations?: Basics[];
  args?: string; stack?: string[];
}
export interface Finding {
  finding: string; title: string; evidence: string; advice: string; saving_ns: number;
  saving_percentage: number; cost_ns: number; from_ns?: number; to_ns?: number; gpu?: number;
}
export interface Fact { key: string; title: string; text: string; number: number | null }
export interface Findings {
  facts: Fact[]; findings: Finding[]; missing: string; notes: string[];
}
export interface Hits {
  events: number; names: number; first: { name: string; events: number }[];
  lanes: { lane: number; bins: number[] }[];
}
export interface Note { from_ns: number; to_ns: number; text: string; track?: string }
export interface Notes { version: string; path: string; notes: Note[] }
export interface State {
  trace: number; state: "reading" | "ready" | "failed"; done: number; what: string; version: number; growing: boolean; error: string;
}
export interface Pair { name: string; base_start_ns: number; base_end_ns: number; start_ns: number; end_ns: number }
export interface Table { name: string; view: boolean; columns: string[] }
// Whole numbers that JavaScript would round are text.
export interface Rows { columns: string[]; cut: boolean; rows: (string | number | null)[][] }

let pending = 0;
// How many answers are waited for, where a test can see it.
function count(change: number): void {
  pending += change;
  document.documentElement.dataset.pending = String(pending);
}

export type Query = Record<string, string | number>;

// What reads a trace anew: the server makes four at a time, and we leave one to others.
const HEAVY = new Set(["panel", "joint-panel", "findings", "steps", "layer", "counters", "diff", "align", "ranks", "info"]);
const MOST_HEAVY = 3;
let heavy = 0;
const waiting: (() => void)[] = [];
async function turnOf(path: string): Promise<() => void> {
  if (!HEAVY.has(path)) return () => {};
  if (heavy >= MOST_HEAVY) await new Promise<void>((go) => waiting.push(go));
  else ++heavy;
  return () => {
    const next = waiting.shift();
    if (next) next();
    else --heavy;
  };
}

// What the server refused, and why.
export class Refusal extends Error {
  constructor(public readonly status: number, text: string) { super(text); }
}
// What was asked for is of a state that is no more: of a trace that has grown, or of notes that others changed.
export function isOver(error: unknown): boolean { return error instanceof Refusal && error.status === 409; }
export function whyOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function refusalOf(response: Response): Promise<Refusal> {
  const text = (await response.text()).trim();
  try {
    return new Refusal(response.status, (JSON.parse(text) as { error: string }).error);
  } catch {
    return new Refusal(response.status, text || `status ${response.status}`);  // not JSON: as it is
  }
}

async function get(path: string, query: Query, signal?: AbortSignal, body?: string): Promise<Response> {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) words.set(name, String(value));
  count(1);
  const done = await turnOf(path);
  try {
    if (signal?.aborted) throw new DOMException("not wanted any more", "AbortError");
    for (let wait = 100;; wait = Math.min(wait * 1.5, 1000)) {
      const sent = body === undefined ? {} : { method: "POST", body, headers: { "Content-Type": "application/json" } };
      const response = await fetch(`api/${path}?${words}`, { signal, ...sent });
      if (response.ok) return response;
      const refusal = await refusalOf(response);
      if (response.status !== 503) throw refusal;
      await new Promise((resolve) => setTimeout(resolve, wait));  // busy; it says: ask again
      if (signal?.aborted) throw refusal;
    }
  } finally {
    done();
    count(-1);
  }
}

export async function getJson<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  return (await get(path, query, signal)).json() as Promise<T>;
}

export async function getTraces(): Promise<TraceInfo[]> {
  const { traces } = await getJson<{ traces: EarlyTrace[] }>("traces");
  return traces.map((trace) => ({ as: "", start_ns: 0, end_ns: 1, ops: 0, apis: 0, warnings: [], counted: false, ...trace,
                                    origin_ns: Number(trace.origin_ns ?? 0), origin: BigInt(trace.origin_ns ?? 0) }));
}

export async function postJson<T>(path: string, query: Query, body: unknown): Promise<T> {
  return (await get(path, query, undefined, JSON.stringify(body))).json() as Promise<T>;
}

const NAMES = 50;  // of one request: those of templates are long

// Recorded names as people read them, in the same order.
export async function shortNames(trace: number, names: string[]): Promise<string[]> {
  const short: string[] = [];
  for (let i = 0; i < names.length; i += NAMES) short.push(...await postJson<string[]>("names", { trace }, names.slice(i, i + NAMES)));
  return short;
}

export async function getText(path: string, query: Query, signal?: AbortSignal): Promise<string> {
  return (await get(path, query, signal)).text();
}

export async function getBytes(path: string, query: Query): Promise<ArrayBuffer> {
  return (await get(path, query)).arrayBuffer();
}
