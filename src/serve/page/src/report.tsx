// The answer of an analysis as people read it: its tables, facts and remarks. Whatever command it is of.
import { useEffect, useState } from "preact/hooks";
import { getJson, shortNames, whyOf } from "./api";
import { Swatch, isKnownLook, lookOf } from "./colours";
import { cellText, clockText, countText, shellWord, timeText, titleOf, wordsOf } from "./format";
import type { Page } from "./state";

export type Json = Record<string, unknown>;
export type Options = Record<string, string>;
type Rows = Json[];

export const ROWS = 50;

export function isRows(value: unknown): value is Rows {
  return Array.isArray(value) && value.every((row) => typeof row === "object" && row !== null && !Array.isArray(row));
}

export function commandOf(page: Page, analysis: string, options: Options, files = [page.info.path]): string {
  const words = ["sonde", analysis, ...files];
  if (page.info.as) words.push("--as", page.info.as);
  for (const [name, value] of Object.entries(options)) words.push(`--${name}`, ...(value === "yes" ? [] : [value]));
  return words.map(shellWord).join(" ");
}

type Short = ReadonlyMap<string, string>;

// The names of a table, short; none while they are asked for.
function useShort(page: Page, answer?: Json): Short {
  const [known, setKnown] = useState<{ answer?: Json; names: Short }>({ names: new Map() });
  useEffect(() => {
    const names = new Set<string>();
    for (const value of Object.values(answer ?? {})) {
      for (const row of isRows(value) ? value : []) {
        for (const key of ["name", "name_a", "name_b", "op"]) {
          const name = row[key];
          if (typeof name === "string" && name.length < 2000) names.add(name);
        }
      }
    }
    const asked = [...names].slice(0, 4 * ROWS);
    if (asked.length === 0) return;
    shortNames(page.trace, asked).then((short) => setKnown({ answer, names: new Map(asked.map((name, i) => [name, short[i]!])) }),
                                       (error) => page.fail(whyOf(error)));
  }, [answer]);
  return known.answer === answer ? known.names : new Map();
}

// Moments in the trace, counted from its start as --from does; and those that are of the file's clock.
const PLACES = ["at_ns", "from_ns", "peak_at_ns", "start_ns"];
const OF_CLOCK = ["first_ns", "last_ns"];
function placeOf(page: Page, row: Json, column: string): number | undefined {
  const value = row[column];
  if (typeof value !== "number" || "below_ns" in row) return undefined;  // below_ns: from one length to another
  return PLACES.includes(column) ? value : OF_CLOCK.includes(column) ? value - page.info.origin_ns : undefined;
}
export function clockOf(page: Page, place: number): string { return `${clockText(page.info.origin_ns + place)} on the clock of the file`; }

function Place({ page, place, long }: { page: Page; place: number; long: number }) {
  const show = (): void => {
    if (page.route !== "timeline") page.go("timeline");
    const wide = (page.camera.whole.to - page.camera.whole.from) / 50;  // of a moment
    page.pointer = place;
    page.look((camera) => long > 0 ? camera.reveal({ from: place, to: place + long }) : camera.show({ from: place - wide, to: place + wide }));
  };
  return <button type="button" class="link" title={`Show this moment in the timeline (${clockOf(page, place)})`} onClick={show}>{timeText(place)}</button>;
}

interface CellProps { page: Page; row: Json; column: string; isNumber: boolean; short: Short; scale: number }

function Cell({ page, row, column, isNumber, short, scale }: CellProps) {
  const value = row[column];
  const text = cellText(column, value);
  if ((column === "name" || column === "operator") && typeof value === "string" && value !== "" && !value.startsWith("(") && !("vendor" in row)) {
    const find = (): void => { page.setText(text.slice(0, 200)); if (page.route !== "timeline") page.go("timeline"); };
    return <td class="name"><button type="button" class="link" title={`${text} (click: find it in the timeline)`}
                    data-name={text} onClick={find}>{short.get(text) ?? text}</button></td>;
  }
  const place = placeOf(page, row, column);
  if (place !== undefined) return <td class="number"><Place page={page} place={place} long={Number(row.duration_ns ?? row.elapsed_ns ?? 0)} /></td>;
  const step = column === "step" ? page.steps.find((each) => each.name === value) : undefined;
  if (step) {
    const show = (): void => {
      if (page.route !== "timeline") page.go("timeline");
      page.look((camera) => camera.reveal({ from: step.start_ns, to: step.end_ns }));
      page.select({ from: step.start_ns, to: step.end_ns });
    };
    return <td class="name"><button type="button" class="link" title="Select this step in the timeline" onClick={show}>{text}</button></td>;
  }
  if (column.endsWith("percentage") && typeof value === "number" && scale > 0) {
    return <td class="number"><span class="share"><svg class="bar" width="60" height="10" aria-hidden="true">
      <rect class={value < 0 ? "less" : "more"} width={Math.abs(value) / scale * 60} height="10" /></svg><span>{text}</span></span></td>;
  }
  if (column === "delta_ns" && typeof value === "number") {
    return <td class="number"><span class="share"><svg class="bar" width="61" height="10" aria-hidden="true"><rect class="axis" x="30" width="1" height="10" />
      <rect class={value > 0 ? "slower" : "faster"} x={value > 0 ? 31 : 30 - Math.abs(value) / (scale || 1) * 30} width={Math.abs(value) / (scale || 1) * 30} height="10" /></svg>
      <span>{value > 0 ? "+" : ""}{text}</span></span></td>;
  }
  if (["reason", "bound_by", "class", "what"].includes(column) && typeof value === "string" && isKnownLook(value)) {
    return <td class="name" title={lookOf(value).what}><Swatch name={value} /> {wordsOf(value)}</td>;
  }
  const shown = typeof value === "string" ? short.get(value) ?? text : text;
  const indent = column === "frame" || column === "path" ? Number(row.depth ?? 0) : 0;
  return <td class={isNumber ? "number" : "name"} title={text} style={indent > 0 ? { paddingLeft: `${indent * 10}px` } : {}}>{shown}</td>;
}

// The largest of a column that has bars; 0: it has none.
function scaleOf(rows: Rows, column: string): number {
  if (!column.endsWith("percentage") && column !== "delta_ns") return 0;
  return Math.max(...rows.map((row) => Math.abs(Number(row[column] ?? 0))), 0);
}

interface Order { column: string; up: boolean }
function sorted(rows: Rows, order?: Order): Rows {
  if (!order) return rows;
  const { column, up } = order;
  const compare = (a: unknown, b: unknown): number =>
    typeof a === "number" && typeof b === "number" ? a - b : a === null ? -1 : b === null ? 1 : String(a).localeCompare(String(b));
  return [...rows].sort((a, b) => (up ? 1 : -1) * compare(a[column], b[column]));
}

export function Rowed({ title, rows, page, short }: { title: string; rows: Rows; page: Page; short: Short }) {
  const [order, setOrder] = useState<Order | undefined>();
  const keys = Object.keys(rows[0] ?? {}).filter((key) => key !== "depth" && rows.some((row) => row[key] !== null));
  const numbers = new Set(keys.filter((key) => rows.every((row) => row[key] === null || typeof row[key] === "number")));
  const scales = new Map(keys.map((key) => [key, scaleOf(rows, key)]));
  const turn = (column: string): void => setOrder({ column, up: order?.column === column ? !order.up : !numbers.has(column) });
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={title}>
      <table>
        <thead><tr>{keys.map((key) => (
          <th scope="col" class={numbers.has(key) ? "number" : ""}
              aria-sort={order?.column === key ? (order.up ? "ascending" : "descending") : "none"}>
            <button type="button" class="sort" title="Sort by it" onClick={() => turn(key)}>{titleOf(key)}{order?.column === key ? (order.up ? " ▲" : " ▼") : ""}</button>
          </th>))}</tr></thead>
        <tbody>
          {sorted(rows, order).map((row) => (
            <tr>{keys.map((key) => <Cell page={page} row={row} column={key} isNumber={numbers.has(key)} short={short} scale={scales.get(key) ?? 0} />)}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function Facts({ facts, page }: { facts: Json; page: Page }) {
  const text = (key: string, value: unknown) => key === "at_ns" && typeof value === "number" ? <Place page={page} place={value} long={0} />
    : /^(start|end)_ns$/.test(key) && typeof value === "number" ? clockText(value) : cellText(key, value);
  return <dl class="row">{Object.entries(facts).map(([key, value]) =>
    <div><dt>{key === "at_ns" ? "Begins at" : titleOf(key)}</dt><dd>{text(key, value)}</dd></div>)}</dl>;
}

export function Answer({ answer, page }: { answer: Json; page: Page }) {
  const short = useShort(page, answer);
  const parts = [];
  // The first part is what the tab is called for; each other one says what it is.
  const titled = new Set<string>();
  const title = (key: string): void => {
    const section = key.replace(/_(facts|missing|remarks|rows_left_out)$/, "");
    if (!titled.has(section) && titled.size > 0 && section !== "notes" && section !== "warnings") {
      parts.push(<h3>{titleOf(section)}</h3>);
    }
    titled.add(section);
  };
  const hasRows = Object.values(answer).some((value) => isRows(value) && value.length > 0);
  for (const [key, value] of Object.entries(answer)) {
    if (key === "report" || key === "file") continue;
    if (isRows(value) && value.length === 0 && `${key}_missing` in answer && titled.size > 0) continue;
    if (key.endsWith("_missing") && titled.size > 0 && !hasRows) continue;  // said once
    if (key === "metadata" && isRows(value)) {
      parts.push(<details><summary>{titleOf(key)}: {countText(value.length)} entries of the file's own</summary><Rowed title={titleOf(key)} rows={value} page={page} short={short} /></details>);
      continue;
    }
    title(key);
    if (isRows(value)) {
      if (value.length > 0) parts.push(<Rowed title={titleOf(key)} rows={value} page={page} short={short} />);
    } else if (Array.isArray(value)) {
      parts.push(value.map((text) => <p class={key === "warnings" ? "error" : "note"}>{String(text)}</p>));
    } else if (typeof value === "object" && value !== null) {
      parts.push(<Facts facts={value as Json} page={page} />);
    } else if (key.endsWith("_missing")) {
      parts.push(<p>{String(value)}</p>);
    } else if (key.endsWith("_rows_left_out")) {
      parts.push(<p class="note">{countText(Number(value))} more rows: the command without --limit prints them.</p>);
    }
  }
  return <>{parts}</>;
}

// What the figures of an analysis mean: as --explain says it.
function Meaning({ analysis }: { analysis: string }) {
  const [text, setText] = useState("");
  const ask = (): void => {
    if (text === "") getJson<{ text: string }>("explain", { analysis }).then((answer) => setText(answer.text), (error) => setText(whyOf(error)));
  };
  return <details class="meaning" onToggle={ask}><summary>What these figures mean</summary>{text.trim().split("\n\n").map((part) => <p>{part}</p>)}</details>;
}

export function Copy({ text, id, analysis }: { text: string; id?: string; analysis?: string }) {
  const [done, setDone] = useState("");
  const copy = (): void => {
    navigator.clipboard.writeText(text).then(() => setDone("copied"), () => setDone("cannot copy here: select the text"));
  };
  return (
    <div class="command">
      <code id={id}>{text}</code> <button type="button" onClick={copy}>Copy as command</button> <span role="status">{done}</span>
      {analysis ? <Meaning analysis={analysis} /> : null}
    </div>
  );
}
