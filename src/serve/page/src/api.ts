// What the page asks of the server: src/serve/api.h describes the answers.

export interface TraceInfo {
  path: string; as: string; start_ns: number; end_ns: number; ops: number; apis: number;
  warnings: string[];
}
export interface TrackInfo {
  kind: "gpu" | "queue" | "thread"; owner: number; number: number; first_lane: number;
  lanes: number; events: number; device: string;
}
export interface Basics {
  name: string; start_ns: number; duration_ns: number; table: "op" | "api"; row: number;
  lane: number | null;
}
export interface EventInfo extends Basics {
  type?: string; gpu?: number; queue?: number; bytes?: number; grid?: number[]; group?: number[];
  call?: Basics; domain?: string; launched?: number; operation?: Basics;
}
export interface Finding {
  finding: string; title: string; evidence: string; advice: string; saving_ns: number;
  saving_percentage: number; cost_ns: number; from_ns?: number; to_ns?: number; gpu?: number;
}
export interface Findings {
  facts: { title: string; text: string }[]; findings: Finding[]; missing: string; notes: string[];
}
export interface Hits {
  events: number; names: number; first: { name: string; events: number }[];
  lanes: { lane: number; bins: number[] }[];
}

let pending = 0;
// How many answers are waited for, where a test can see it.
function count(change: number): void {
  pending += change;
  document.documentElement.dataset.pending = String(pending);
}

type Query = Record<string, string | number>;

async function get(path: string, query: Query, signal?: AbortSignal, body?: string): Promise<Response> {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) words.set(name, String(value));
  count(1);
  try {
    for (;;) {
      const sent = body === undefined ? {} : { method: "POST", body, headers: { "Content-Type": "application/json" } };
      const response = await fetch(`api/${path}?${words}`, { signal, ...sent });
      if (response.ok) return response;
      const text = await response.text();
      let error = text.trim();
      try { error = (JSON.parse(text) as { error: string }).error; } catch { /* not JSON: as it is */ }
      if (response.status !== 503) throw new Error(error);
      await new Promise((resolve) => setTimeout(resolve, 200));  // busy; it says: ask again
    }
  } finally {
    count(-1);
  }
}

export async function getJson<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  return (await get(path, query, signal)).json() as Promise<T>;
}

// Recorded names as people read them, in the same order.
export async function shortNames(trace: number, names: string[]): Promise<string[]> {
  return (await get("names", { trace }, undefined, JSON.stringify(names))).json() as Promise<string[]>;
}

export async function getBytes(path: string, query: Query): Promise<ArrayBuffer> {
  return (await get(path, query)).arrayBuffer();
}
