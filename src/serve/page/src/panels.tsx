// The tables below the timeline: what the analyses say of the part of time that is selected.
import { useEffect, useState } from "preact/hooks";
import { getJson, shortNames } from "./api";
import { Span } from "./camera";
import { bytesText, cellText, countText, shellWord, timeText, titleOf } from "./format";
import { Page } from "./state";

const ROWS = 50;

// Analysis, what its tab is called, and what it answers.
const TABS: [string, string, string][] = [
  ["kernels", "Kernels", "which kernels took the time"],
  ["breakdown", "Breakdown", "computing, copying, communicating or idle"],
  ["idle", "Idle", "why the GPU was idle"],
  ["operators", "Operators", "which operators and modules took the time"],
  ["copies", "Copies", "what was copied, how fast"],
  ["launches", "Launches", "how long it took from call to operation"],
  ["critical-path", "Critical path", "what held up the end"],
  ["api", "Calls", "which calls took CPU time"],
  ["stacks", "Stacks", "which functions took the time"],
  ["memory", "Memory", "who allocated what"],
  ["steps", "Steps", "how long each step took"],
];

type Json = Record<string, unknown>;
type Rows = Json[];

function isRows(value: unknown): value is Rows {
  return Array.isArray(value) && value.every((row) => typeof row === "object" && row !== null);
}

function optionsOf(page: Page, range?: Span): Record<string, string> {
  const options: Record<string, string> = { limit: String(ROWS) };
  if (range) {
    options.from = `${range.from}ns`;
    options.to = `${range.to}ns`;
  }
  if (page.gpu !== "") options.gpu = page.gpu;
  return options;
}

export function commandOf(page: Page, analysis: string, options: Record<string, string>): string {
  const words = ["sonde", analysis, page.info.path];
  if (page.info.as) words.push("--as", page.info.as);
  for (const [name, value] of Object.entries(options)) words.push(`--${name}`, value);
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
        if (typeof row.name === "string" && row.name.length < 2000) names.add(row.name);
      }
    }
    const asked = [...names].slice(0, 2 * ROWS);
    if (asked.length === 0) return;
    shortNames(page.trace, asked).then((short) => setKnown({ answer, names: new Map(asked.map((name, i) => [name, short[i]!])) }),
                                       (error) => page.fail(String(error)));
  }, [answer]);
  return known.answer === answer ? known.names : new Map();
}

function Rowed({ title, rows, page, short }: { title: string; rows: Rows; page: Page; short: Short }) {
  const keys = Object.keys(rows[0] ?? {});
  const isNumber = (key: string): boolean => rows.every((row) => row[key] === null || typeof row[key] === "number");
  const numbers = new Set(keys.filter(isNumber));
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={title}>
      <table>
        <thead><tr>{keys.map((key) => <th scope="col" class={numbers.has(key) ? "number" : ""}>{titleOf(key)}</th>)}</tr></thead>
        <tbody>
          {rows.map((row) => (
            <tr>
              {keys.map((key) => {
                const text = cellText(key, row[key]);
                if (key === "name" && typeof row[key] === "string" && row[key] !== "") {
                  return <td class="name"><button type="button" class="link" title={`${text} (click: find it in the timeline)`}
                                  data-name={text} onClick={() => page.setText(text.slice(0, 200))}>{short.get(text) ?? text}</button></td>;
                }
                return <td class={numbers.has(key) ? "number" : "name"} title={text}>{text}</td>;
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Facts({ facts }: { facts: Json }) {
  return <dl>{Object.entries(facts).map(([key, value]) =>
    <div><dt>{titleOf(key)}</dt><dd>{cellText(key, value)}</dd></div>)}</dl>;
}

function Answer({ answer, page }: { answer: Json; page: Page }) {
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
  for (const [key, value] of Object.entries(answer)) {
    if (key === "report" || key === "file") continue;
    title(key);
    if (isRows(value)) {
      if (value.length > 0) parts.push(<Rowed title={titleOf(key)} rows={value} page={page} short={short} />);
    } else if (Array.isArray(value)) {
      parts.push(value.map((text) => <p class="note">{String(text)}</p>));
    } else if (typeof value === "object" && value !== null) {
      parts.push(<Facts facts={value as Json} />);
    } else if (key.endsWith("_missing")) {
      parts.push(<p>{String(value)}</p>);
    } else if (key.endsWith("_rows_left_out")) {
      parts.push(<p class="note">{countText(Number(value))} more rows: the command without --limit prints them.</p>);
    }
  }
  return <>{parts}</>;
}

function Copy({ text }: { text: string }) {
  const [done, setDone] = useState("");
  const copy = (): void => {
    navigator.clipboard.writeText(text).then(() => setDone("copied"), () => setDone("cannot copy here: mark the text"));
  };
  return (
    <p class="command">
      <code id="command">{text}</code> <button type="button" onClick={copy}>Copy as command</button> <span role="status">{done}</span>
    </p>
  );
}

function Panel({ page }: { page: Page }) {
  const options = optionsOf(page, page.range);
  const key = JSON.stringify([page.trace, page.tab, options]);
  const [shown, setShown] = useState<{ key: string; answer?: Json; error?: string }>({ key: "" });
  useEffect(() => {
    const abort = new AbortController();
    // Not for every pixel of a drag.
    const timer = setTimeout(() => {
      getJson<Json>("panel", { trace: page.trace, analysis: page.tab, ...options }, abort.signal)
        .then((answer) => setShown({ key, answer }),
              (error) => { if (!abort.signal.aborted) setShown({ key, error: String(error).replace(/^Error: /, "") }); });
    }, 120);
    return () => { clearTimeout(timer); abort.abort(); };
  }, [key]);
  const fresh = shown.key === key;
  return (
    <div class={fresh ? "answer" : "answer stale"} id="panel" role="tabpanel" aria-labelledby={`tab-${page.tab}`}
         aria-busy={!fresh} data-shown={shown.key}>
      <Copy text={commandOf(page, page.tab, options)} />
      {shown.error !== undefined ? <p class="error">{shown.error}</p> : null}
      {shown.answer ? <Answer answer={shown.answer} page={page} /> : shown.error === undefined ? <p>Reading the trace…</p> : null}
    </div>
  );
}

function Details({ page }: { page: Page }) {
  const event = page.chosen;
  if (!event) return null;
  const facts: [string, string][] = [["Starts", timeText(event.start_ns)], ["Lasts", timeText(event.duration_ns)]];
  if (event.type) facts.push(["Type", event.type]);
  if (event.domain) facts.push(["Of", event.domain]);
  if (event.gpu !== undefined) facts.push(["Where", `GPU ${event.gpu}, queue ${event.queue}`]);
  if (event.bytes !== undefined) facts.push(["Size", bytesText(event.bytes)]);
  if (event.grid && event.group) facts.push(["Grid", event.grid.join(" x ")], ["Group", event.group.join(" x ")]);
  if (event.call) facts.push(["From call to start", timeText(event.start_ns - event.call.start_ns)]);
  if (event.launched) facts.push(["Launched", `${event.launched} operation${event.launched === 1 ? "" : "s"}`]);
  const linked = event.call ?? event.operation;
  return (
    <div class="details" aria-label="Selected event">
      <h2 class="eventname">{event.name}</h2>
      <dl>{facts.map(([title, text]) => <div><dt>{title}</dt><dd>{text}</dd></div>)}</dl>
      <div class="buttons">
        {linked ? <button type="button" onClick={() => void page.choose(linked.table, linked.row, true)}>
          {event.call ? "Go to the call that launched it" : "Go to what it launched"}</button> : null}
        <button type="button" onClick={() => page.select({ from: event.start_ns, to: event.start_ns + Math.max(event.duration_ns, 1) })}>
          Select its time</button>
        <button type="button" onClick={() => page.setText(event.name.slice(0, 200))}>Find all of this name</button>
      </div>
    </div>
  );
}

export function Panels({ page }: { page: Page }) {
  const { range } = page;
  const keys = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    const at = TABS.findIndex(([analysis]) => analysis === page.tab);
    page.tab = TABS[(at + step + TABS.length) % TABS.length]![0];
    page.changed();
    document.getElementById(`tab-${page.tab}`)?.focus();
    event.stopPropagation();
    event.preventDefault();
  };
  return (
    <section class="panels" aria-label="What the selection holds">
      <Details page={page} />
      <div class="panelhead">
        <h2>{range ? `Selected: ${timeText(range.to - range.from)} from ${timeText(range.from)} on` : "The whole trace"}</h2>
        {range ? <button type="button" id="whole" onClick={() => page.select(undefined)}>Back to the whole trace</button> : null}
        {page.gpus.length > 1 ? <label>GPU <select value={page.gpu} onChange={(event) => { page.gpu = event.currentTarget.value; page.changed(); }}>
          <option value="">all</option>{page.gpus.map((gpu) => <option value={gpu}>{gpu}</option>)}</select></label> : null}
      </div>
      <div role="tablist" aria-label="Analyses" class="tabs" onKeyDown={keys}>
        {TABS.map(([analysis, name, what]) => (
          <button type="button" role="tab" id={`tab-${analysis}`} aria-selected={page.tab === analysis} aria-controls="panel" title={what}
                  tabIndex={page.tab === analysis ? 0 : -1} onClick={() => { page.tab = analysis; page.changed(); }}>{name}</button>
        ))}
      </div>
      <Panel page={page} />
    </section>
  );
}
