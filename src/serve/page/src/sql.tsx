// Questions in SQL, with the tables and views beside them. Rows with a time lead to the timeline.
import { useEffect, useState } from "preact/hooks";
import { Rows, Table, getJson, postJson, whyOf } from "./api";
import { countText, shellWord } from "./format";
import { Copy } from "./report";
import type { Page } from "./state";

// Views of this kind are in files that Sonde wrote; what all have are v_op and the others.
function firstOf(tables: Table[]): string {
  const name = ["sonde_top", "top", "v_op", "v_api"].find((each) => tables.some((table) => table.name === each)) ?? "v_op";
  return `SELECT * FROM ${name} LIMIT 20`;
}
const MOST_SHOWN = 1000;

// Sonde's own views first, then those of RPD, then what they stand on.
function inOrder(tables: Table[]): Table[] {
  const place = (table: Table): number => table.name.startsWith("sonde_") && table.view ? 0 : table.view ? 1 : 2;
  return [...tables].sort((a, b) => place(a) - place(b));
}

function valueText(value: string | number | null): string {
  if (typeof value === "number" && !Number.isInteger(value)) return String(Number(value.toPrecision(15)));
  return value === null ? "-" : String(value);
}

// Times of the tables are of the file's clock, those of the page count from the start.
function placeOf(page: Page, value: string | number | null | undefined): number | undefined {
  const text = typeof value === "number" ? value.toFixed(0) : value ?? "";
  return /^-?\d{1,19}$/.test(text) ? Number(BigInt(text) - page.info.origin) : undefined;
}

function Schema({ tables, use }: { tables: Table[]; use: (sql: string) => void }) {
  return (
    <aside class="schema" aria-label="Tables and views" tabIndex={0}>
      <h2>Views and tables</h2>
      {inOrder(tables).map((table) => (
        <details key={table.name}>
          <summary>{table.name} <span class="note">{table.view ? "view" : "table"}</span></summary>
          <button type="button" onClick={() => use(`SELECT * FROM ${table.name} LIMIT 20`)}>First rows</button>
          <ul>{table.columns.map((column) => <li>{column}</li>)}</ul>
        </details>))}
    </aside>
  );
}

function Result({ rows, page }: { rows: Rows; page: Page }) {
  const at = rows.columns.findIndex((column) => /^(start|start_ns|at_ns)$/.test(column));
  const end = rows.columns.findIndex((column) => /^(end|end_ns)$/.test(column));
  const isNumber = (i: number): boolean => rows.rows.map((row) => row[i]!).every((value) => value === null || typeof value === "number" || /^-?\d{16,19}$/.test(value));
  const show = (row: Rows["rows"][number], from: number): void => {
    const to = placeOf(page, row[end]) ?? from + 1000;
    page.go("timeline");
    page.look((camera) => camera.reveal({ from, to: Math.max(to, from + 1) }));
    page.select({ from, to: Math.max(to, from + 1) });
  };
  // Only what can be seen leads there.
  const seenAt = (row: Rows["rows"][number]): number | undefined => {
    const place = placeOf(page, row[at]);
    return place !== undefined && place >= page.camera.whole.from && place <= page.camera.whole.to ? place : undefined;
  };
  const cell = (row: Rows["rows"][number], i: number) => {
    const place = i === at ? seenAt(row) : undefined;
    return place === undefined ? valueText(row[i]!)
      : <button type="button" class="link" title="Show in the timeline" onClick={() => show(row, place)}>{String(row[i])}</button>;
  };
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Result">
      <p class="note">{countText(rows.rows.length)} row{rows.rows.length === 1 ? "" : "s"}{rows.cut ? ", and more that were not read" : ""}
        {rows.rows.length > MOST_SHOWN ? `; the first ${countText(MOST_SHOWN)} are shown` : ""}</p>
      <table>
        <thead><tr>{rows.columns.map((column, i) => <th scope="col" class={isNumber(i) ? "number" : ""}>{column}</th>)}</tr></thead>
        <tbody>{rows.rows.slice(0, MOST_SHOWN).map((row) => (
          <tr>{row.map((_, i) => <td class={isNumber(i) ? "number" : "name"}>{cell(row, i)}</td>)}</tr>))}
        </tbody>
      </table>
    </div>
  );
}

export function SqlPage({ page }: { page: Page }) {
  const [sql, setSql] = useState("");
  const [tables, setTables] = useState<Table[]>([]);
  const [answer, setAnswer] = useState<{ rows?: Rows; error?: string; busy?: boolean }>({});
  const run = (text: string): void => {
    setAnswer({ busy: true });
    postJson<Rows>("sql", { trace: page.trace }, [text]).then((rows) => setAnswer({ rows }), (error) => setAnswer({ error: whyOf(error) }));
  };
  useEffect(() => {
    setAnswer({ busy: true });
    getJson<{ tables: Table[] }>("schema", { trace: page.trace }).then((found) => {
      setTables(found.tables);
      use(firstOf(found.tables));
    }, (error) => setAnswer({ error: whyOf(error) }));
  }, [page.trace]);
  const use = (text: string): void => { setSql(text); run(text); };
  return (
    <div class="sql">
      <section class="part" aria-label="Query" aria-busy={answer.busy === true}>
        <p class="about">One SQL statement that only reads. <code>sonde query</code> runs the same.</p>
        <form onSubmit={(event) => { event.preventDefault(); run(sql); }}>
          <label for="sql">SQL</label>
          <textarea id="sql" rows={6} spellcheck={false} maxLength={20000} value={sql} onInput={(event) => setSql(event.currentTarget.value)}
                    onKeyDown={(event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); run(sql); } event.stopPropagation(); }} />
          <button type="submit" id="run">Run (Ctrl + Enter)</button>
        </form>
        <Copy text={`sonde query ${shellWord(page.info.path)} ${shellWord(sql)}`} />
        {answer.busy ? <p>Reading…</p> : null}
        {answer.error !== undefined ? <p class="error" role="alert">{answer.error}</p> : null}
        {answer.rows ? <Result rows={answer.rows} page={page} /> : null}
      </section>
      {tables.length > 0 ? <Schema tables={tables} use={use} /> : null}
    </div>
  );
}
