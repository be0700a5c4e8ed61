// Pictures of figures: bars of parts of a whole, and flame graphs. Of elements, so that they can be read out and are crisp.
import { useState } from "preact/hooks";
import { Swatch, fillOf, lookOf } from "./colours";
import { countText, shareText, timeText, wordsOf } from "./format";
import { Json, isRows } from "./report";
import type { Page } from "./state";

export interface Part { name: string; look: string; ns: number }

// Parts of a whole as one bar, with a legend that says the same in words.
export function Parts({ title, parts, whole }: { title: string; parts: Part[]; whole: number }) {
  const shown = parts.filter((part) => part.ns > 0);
  let at = 0;
  return (
    <figure class="parts">
      <figcaption>{title}</figcaption>
      <svg width="100%" height="18" role="img" aria-label={shown.map((part) => `${part.name} ${shareText(100 * part.ns / whole)} %`).join(", ")}>
        {shown.map((part) => {
          const x = 100 * at / whole;
          at += part.ns;
          return <rect x={`${x}%`} width={`${100 * part.ns / whole}%`} height="18" fill={lookOf(part.look).fill} class="part" />;
        })}
      </svg>
      <ul class="legend">{shown.map((part) => (
        <li title={lookOf(part.look).what}><Swatch name={part.look} /> {part.name} <b>{shareText(100 * part.ns / whole)} %</b> <span class="note">{timeText(part.ns)}</span></li>))}
      </ul>
    </figure>
  );
}

const OF_BREAKDOWN: [string, string, string][] = [
  ["compute_ns", "Compute", "gpu compute"], ["exposed_communication_ns", "Exposed communication", "gpu communication"],
  ["exposed_copy_ns", "Exposed copies", "gpu copy"], ["exposed_memset_ns", "Exposed memsets", "dependency"], ["other_ns", "Other", "other"], ["idle_ns", "Idle", "launch-bound"],
];
export function breakdownPicture(answer: Json) {
  const rows = isRows(answer.breakdown) ? answer.breakdown : [];
  return rows.slice(0, 16).map((row) => (
    <Parts title={row.gpu_id !== undefined ? `GPU ${String(row.gpu_id)}, ${timeText(Number(row.total_ns))}` : timeText(Number(row.total_ns))}
           whole={Number(row.total_ns) || 1} parts={OF_BREAKDOWN.map(([key, name, look]) => ({ name, look, ns: Number(row[key] ?? 0) }))} />
  ));
}

export function idlePicture(answer: Json) {
  const rows = isRows(answer.idle) ? answer.idle : [];
  const gpus = [...new Set(rows.map((row) => Number(row.gpu_id)))].slice(0, 16);
  return gpus.map((gpu) => {
    const parts = rows.filter((row) => Number(row.gpu_id) === gpu).map((row) => ({ name: String(row.reason), look: String(row.reason), ns: Number(row.total_ns) }));
    return <Parts title={`Idle time of GPU ${gpu}`} parts={parts} whole={parts.reduce((sum, part) => sum + part.ns, 0) || 1} />;
  });
}

export function pathPicture(answer: Json) {
  const rows = isRows(answer.bound_by) ? answer.bound_by : [];
  const parts = rows.map((row) => ({ name: wordsOf(String(row.bound_by)), look: String(row.bound_by), ns: Number(row.time_ns) }));
  return parts.length > 0 ? <Parts title="What the critical path consists of" parts={parts} whole={parts.reduce((sum, part) => sum + part.ns, 0) || 1} /> : null;
}

interface Box { name: string; note: string; value: number; depth: number; from: number; children: number[]; parent: number }

// Rows of a tree, each below what it is part of: `depth` says how deep.
export function boxesOf(rows: Json[], name: string, value: string): Box[] {
  const boxes: Box[] = [{ name: "all", note: "", value: 0, depth: -1, from: 0, children: [], parent: -1 }];
  const open: number[] = [0];
  const ends: number[] = [0];  // of the children so far
  for (const row of rows) {
    const depth = Number(row.depth ?? 0);
    while (open.length > depth + 1) { open.pop(); ends.pop(); }
    const parent = open[open.length - 1]!;
    const from = ends[ends.length - 1]!;
    const size = Number(row[value] ?? 0);
    ends[ends.length - 1] = from + size;
    boxes[parent]!.children.push(boxes.length);
    open.push(boxes.length);
    ends.push(from);
    boxes.push({ name: String(row[name]), note: String(row.file ?? ""), value: size, depth: open.length - 2, from, children: [], parent });
  }
  boxes[0]!.value = boxes[0]!.children.reduce((sum, child) => sum + boxes[child]!.value, 0);
  return boxes;
}

function hash(text: string): number {
  let sum = 7;
  for (let i = 0; i < text.length; ++i) sum = (Math.imul(sum, 31) + text.charCodeAt(i)) | 0;
  return sum >>> 0;
}

export function Flame({ rows, page, name = "frame", value = "total_ns" }: { rows: Json[]; page: Page; name?: string; value?: string }) {
  const [root, setRoot] = useState(0);
  const boxes = boxesOf(rows, name, value);
  const top = boxes[root] ?? boxes[0]!;
  if (boxes.length < 2 || top.value <= 0) return null;
  const shown = boxes.filter((box, i) => i > 0 && box.depth > top.depth && box.from >= top.from && box.from < top.from + top.value &&
                                         box.value / top.value > 0.002);
  const deep = Math.max(...shown.map((box) => box.depth - top.depth), 1);
  return (
    <figure class="flamebox">
      <figcaption>{timeText(top.value)} in {root === 0 ? "all" : top.name}, {countText(boxes.length - 1)} frames; wider took longer, below it what it called. Click to look closer.
        {root !== 0 ? <button type="button" onClick={() => setRoot(0)}>Back to all</button> : null}</figcaption>
      <div class="flame" style={{ height: `${Math.min(deep, 60) * 18}px` }}>
        {shown.map((box) => (
          <button type="button" class="frame" style={{
            left: `${100 * (box.from - top.from) / top.value}%`, width: `${100 * box.value / top.value}%`, top: `${(box.depth - top.depth - 1) * 18}px`,
            background: fillOf(hash(box.name)) }}
            title={`${box.name}\n${timeText(box.value)}, ${shareText(100 * box.value / boxes[0]!.value)} % ${box.note}`}
            onClick={() => { setRoot(boxes.indexOf(box)); page.say(`${box.name}, ${timeText(box.value)}`); }}>{box.name}</button>))}
      </div>
    </figure>
  );
}

export function flamePicture(page: Page) {
  return (answer: Json) => isRows(answer.stacks) ? <Flame rows={answer.stacks} page={page} /> : null;
}
