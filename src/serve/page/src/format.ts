// Figures as people read them, by the rule of the command line (report/unit.h): three significant digits, none of them
// lost before the point; what is whole has no decimals.

const TIME_UNITS: [number, string][] = [[1e9, "s"], [1e6, "ms"], [1e3, "us"]];
const BYTE_UNITS: [number, string][] = [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]];

function three(value: number): string {
  const size = Math.abs(value);
  if (size >= 99.95) return countText(Math.round(value));
  return value.toFixed(size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 2 - Math.floor(Math.log10(size)));
}

export function realText(value: number): string {
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e15)) return String(Number(value.toPrecision(3)));
  return Number.isInteger(value) ? countText(value) : three(value);
}

// Of what is not none, more than "0.0".
export function shareText(percent: number): string {
  const size = Math.abs(percent);
  return size > 0 && size < 0.05 ? (percent < 0 ? ">-0.1" : "<0.1") : percent.toFixed(1);
}

export function timeText(ns: number): string {
  const unit = TIME_UNITS.find(([size]) => Math.abs(ns) >= (size === 1e3 ? size : 0.9995 * size));
  return unit ? `${three(ns / unit[0])} ${unit[1]}` : `${Math.round(ns)} ns`;
}

export function bytesText(bytes: number): string {
  const unit = BYTE_UNITS.find(([size]) => Math.abs(bytes) >= size);
  return unit ? `${three(bytes / unit[0])} ${unit[1]}` : `${bytes} B`;
}

export function countText(count: number): string {
  return count.toLocaleString("en-US");
}

function flopsText(count: number): string {
  const unit = ([[1e15, "PFLOP"], [1e12, "TFLOP"], [1e9, "GFLOP"], [1e6, "MFLOP"]] as const).find(([size]) => count >= size);
  return unit ? `${three(count / unit[0])} ${unit[1]}` : `${countText(count)} FLOP`;
}

// A moment, exact enough to tell apart what is `step` ns away.
export function momentText(ns: number, step: number): string {
  const unit = TIME_UNITS.find(([size]) => Math.max(Math.abs(ns), step) >= size) ?? [1, "ns"];
  const digits = Math.max(0, Math.min(9, Math.ceil(Math.log10(unit[0] / Math.max(step, 1)))));
  return `${(ns / unit[0]).toFixed(digits)} ${unit[1]}`;
}

// What can bound a program, by the keys of sonde critical-path, in the words of its text.
export const BOUND_BY: [string, string][] = [
  ["gpu_compute", "GPU kernels"], ["gpu_copy", "GPU copies"], ["gpu_communication", "GPU communication"], ["cpu", "CPU"], ["data_loading", "data loading"],
  ["kernel_launch_overhead", "launch overhead"], ["kernel_kernel_overhead", "gaps between kernels"], ["gpu_other_work", "other work on the GPU"],
];

// The words for a key.
export function wordsOf(key: string): string {
  return BOUND_BY.find(([known]) => known === key)?.[1] ?? key.replace(/_/g, " ");
}

// The cell of a table: the key of a column says its unit.
export function cellText(key: string, value: unknown): string {
  if (value === null || value === undefined) return "-";
  if (key === "bound_by") return wordsOf(String(value));
  if (typeof value !== "number") return String(value);
  if (/^(pid|tid|rank|gpu|uid|year)$|_id$/.test(key)) return String(value);
  if (key.endsWith("_ns")) return timeText(value);
  if (key.endsWith("_bytes") || key === "bytes") return bytesText(value);
  if (key === "flops") return flopsText(value);
  if (key.endsWith("percentage")) return shareText(value);
  return realText(value);
}

// A time of the file's clock, which may count from 1970 or from a boot.
export function clockText(ns: number): string { return `${(ns / 1e9).toFixed(6)} s`; }

const TITLES: Record<string, string> = {
  percentage: "Share %", file_bytes: "Size", snapshots: "Compared with", made_by: "Recorded by", counts: "Contents", host: "What the host did meanwhile",
  gaps: "Gaps", lengths: "Gaps by their length", edge_kinds: "Edges of the path by kind", names: "What is on the path", slow: "What was different in the slow steps", sites: "Where it was allocated",
  series: "In use over time", depth: "Outstanding over time", program: "Before the first and after the last operation", streams: "Streams, as the program names them",
  cv: "Variation", ops: "Operations", linked_ops: "With call",
};

// "total_ns": "Total".
export function titleOf(key: string): string {
  if (TITLES[key]) return TITLES[key]!;
  const words = key.replace(/_(ns|bytes)$/, "").replace(/percentage$/, "%").replace(/_per_s$/, "/s").replace(/_/g, " ")
    .replace(/\b(gpu|cpu|api|rpd|id|gb|cv|mfu|flop|tflop)\b/g, (word) => word === "gb" ? "GB" : word === "tflop" ? "TFLOP" : word.toUpperCase());
  return words.replace(/^GPU ID$/, "GPU").replace(/^pid$/, "PID").replace(/^tid$/, "Thread").replace(/ ([ab])$/, (_, side: string) => ` ${side.toUpperCase()}`)
    .replace(/^./, (first) => first.toUpperCase());
}

export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`;
}

// A reading of a counter, with its unit.
export function valueText(value: number, unit: string): string {
  if (unit === "bytes" || unit === "B") return bytesText(value);
  if (unit === "B/s") return `${bytesText(value)}/s`;
  return unit ? `${realText(value)} ${unit}` : realText(value);
}
