// The page: header, what stands out, timeline, tables. And the keys.
import { render } from "preact";
import { useEffect, useReducer, useState } from "preact/hooks";
import { Finding, TraceInfo, getJson } from "./api";
import { countText } from "./format";
import { Panels } from "./panels";
import { Page } from "./state";
import { Painter, Timeline } from "./timeline";

const KEYS: [string, string][] = [
  ["W / S", "zoom in / out (also Ctrl + wheel)"],
  ["A / D", "move earlier / later (also Shift + drag)"],
  ["drag", "select a part of time: the tables show that part"],
  ["click", "select an event; a click beside all events clears the selection"],
  ["← / →", "event before / after the selected one on its lane"],
  ["↑ / ↓", "event on the lane above / below"],
  ["F", "fit the selection, or the whole trace"],
  ["M", "select the time of the selected event"],
  ["0", "show the whole trace"],
  ["[ or ]", "go from an operation to its call, and back"],
  ["/", "search by name; Enter and Shift + Enter: next and previous hit"],
  ["N / P", "next / previous hit"],
  ["Esc", "clear selection and search"],
  ["?", "these keys"],
];

function Help({ page }: { page: Page }) {
  useEffect(() => document.getElementById("close")?.focus(), []);
  const close = (): void => { page.helping = false; page.changed(); document.getElementById("timeline")?.focus(); };
  return (
    <div class="cover" onClick={close}>
      <div class="help" role="dialog" aria-modal="true" aria-label="Keys" onClick={(event) => event.stopPropagation()}
           onKeyDown={(event) => { if (event.key === "Escape" || event.key === "Tab") { event.preventDefault(); if (event.key === "Escape") close(); } }}>
        <h2>Keys</h2>
        <dl>{KEYS.map(([key, what]) => <div><dt><kbd>{key}</kbd></dt><dd>{what}</dd></div>)}</dl>
        <button type="button" id="close" onClick={close}>Close</button>
      </div>
    </div>
  );
}

function FindingCard({ page, finding }: { page: Page; finding: Finding }) {
  const { from_ns: from, to_ns: to } = finding;
  const show = (): void => {
    if (from === undefined || to === undefined) return;
    const margin = (to - from) * 0.5 + 1000;
    page.look((camera) => camera.show({ from: from - margin, to: to + margin }));
    page.scroll = 0;
    page.chosen = undefined;
    page.select({ from, to });
  };
  return (
    <li class="finding">
      <h3>{finding.title}</h3>
      {finding.saving_ns > 0 ? <p class="saving">{finding.saving_percentage.toFixed(0)} % of the time could be saved</p> : null}
      <p>{finding.evidence}.</p>
      <details><summary>What to try</summary><p>{finding.advice}</p></details>
      {from !== undefined ? <button type="button" class="show" onClick={show}>Show the longest{finding.gpu !== undefined && page.gpus.length > 1 ? ` (GPU ${finding.gpu})` : ""}</button> : null}
    </li>
  );
}

function Findings({ page }: { page: Page }) {
  const { findings } = page;
  return (
    <aside class="findings" aria-label="What stands out" tabIndex={0}>
      <h2>What stands out</h2>
      {page.findingsError ? <p class="error">{page.findingsError}</p> : null}
      {!findings && !page.findingsError ? <p>Looking…</p> : null}
      {findings ? <dl class="facts">{findings.facts.map((fact) => <div><dt>{fact.title}</dt><dd>{fact.text}</dd></div>)}</dl> : null}
      {findings && findings.findings.length === 0 ? <p>{findings.missing}</p> : null}
      {findings ? <ol>{findings.findings.map((finding) => <FindingCard page={page} finding={finding} />)}</ol> : null}
      {findings?.notes.map((note) => <p class="note">{note}</p>)}
      {page.info.warnings.map((warning) => <p class="error">{warning}</p>)}
    </aside>
  );
}

function Search({ page }: { page: Page }) {
  const keys = (event: KeyboardEvent): void => {
    event.stopPropagation();
    if (event.key === "Enter") void page.step(event.shiftKey, true);
    if (event.key === "Escape") {
      page.setText("");
      document.getElementById("timeline")?.focus();
    }
  };
  const { hits } = page;
  return (
    <div class="search" role="search">
      <label for="search">Find</label>
      <input id="search" type="search" placeholder="name of a kernel or call  ( / )" maxLength={200} value={page.text}
             onInput={(event) => page.setText(event.currentTarget.value)} onKeyDown={keys} spellcheck={false} autocomplete="off" />
      <button type="button" disabled={!page.text} onClick={() => void page.step(true, true)} aria-label="Previous hit">‹</button>
      <button type="button" disabled={!page.text} onClick={() => void page.step(false, true)} aria-label="Next hit">›</button>
      <span id="hits" role="status">{page.text && hits ? `${countText(hits.events)} events of ${countText(hits.names)} names` : ""}</span>
    </div>
  );
}

function toggleTheme(painter: Painter): void {
  const root = document.documentElement;
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  painter.recolour();
}

function Header({ page, painter }: { page: Page; painter: Painter }) {
  const { info } = page;
  const name = (trace: TraceInfo): string => trace.path.replace(/.*\//, "");
  return (
    <header>
      <h1>{page.traces.length > 1
        ? <select aria-label="Trace" value={page.trace} onChange={(event) => void page.open(Number(event.currentTarget.value))}>
            {page.traces.map((trace, i) => <option value={i}>{name(trace)}</option>)}</select>
        : <span title={info.path}>{name(info)}</span>}</h1>
      <span class="note">{countText(info.ops)} operations, {countText(info.apis)} calls and markers</span>
      <Search page={page} />
      <button type="button" id="theme" onClick={() => toggleTheme(painter)}>Dark / light</button>
      <button type="button" id="help" onClick={() => { page.helping = true; page.changed(); }}>Keys ( ? )</button>
    </header>
  );
}

// What a key does, where no field of text has the focus.
function press(page: Page, event: KeyboardEvent): boolean {
  const middle = (page.camera.from + page.camera.to) / 2;
  const { chosen } = page;
  switch (event.key.length === 1 ? event.key.toLowerCase() : event.key) {
    case "w": page.look((camera) => camera.zoom(0.6, middle)); return true;
    case "s": page.look((camera) => camera.zoom(1 / 0.6, middle)); return true;
    case "a": page.look((camera) => camera.pan(-camera.length * 0.2)); return true;
    case "d": page.look((camera) => camera.pan(camera.length * 0.2)); return true;
    case "0": page.look((camera) => camera.show(camera.whole)); return true;
    case "f": page.fit(); return true;
    case "m": if (chosen) page.select({ from: chosen.start_ns, to: chosen.start_ns + Math.max(chosen.duration_ns, 1) }); return true;
    case "n": void page.step(false, true); return true;
    case "p": void page.step(true, true); return true;
    case "[": case "]": {
      const linked = chosen?.call ?? chosen?.operation;
      if (linked) void page.choose(linked.table, linked.row, true);
      return true;
    }
    case "ArrowRight": void page.step(false, false); return true;
    case "ArrowLeft": void page.step(true, false); return true;
    case "ArrowDown": void page.across(true); return true;
    case "ArrowUp": void page.across(false); return true;
    case "Escape":
      page.chosen = undefined;
      page.setText("");
      page.select(undefined);
      return true;
    case "/": document.getElementById("search")?.focus(); return true;
    case "?": page.helping = true; page.changed(); return true;
    default: return false;
  }
}

function App({ traces, painter }: { traces: TraceInfo[]; painter: Painter }) {
  const [, tell] = useReducer((count: number) => count + 1, 0);
  const [page] = useState(() => new Page(traces, () => tell(undefined as never), painter.redraw));
  useEffect(() => {
    void page.open(0);
    const keys = (event: KeyboardEvent): void => {
      const target = event.target as HTMLElement;
      const writes = target.closest("input, select, textarea") !== null;
      const arrows = event.key.startsWith("Arrow") && target.id !== "timeline" && target !== document.body;
      if (writes || arrows || page.helping || event.ctrlKey || event.altKey || event.metaKey) return;
      if (press(page, event)) event.preventDefault();
    };
    document.addEventListener("keydown", keys);
    const theme = matchMedia("(prefers-color-scheme: dark)");
    theme.addEventListener("change", painter.recolour);
    return () => { document.removeEventListener("keydown", keys); theme.removeEventListener("change", painter.recolour); };
  }, []);
  return (
    <>
      <Header page={page} painter={painter} />
      {page.error ? <p class="error" role="alert">{page.error} <button type="button" onClick={() => { page.error = ""; page.changed(); }}>Close</button></p> : null}
      <div class="main">
        <Findings page={page} />
        <main>
          <p class="hint">Drag to select a part of time. W and S zoom, A and D move, ? lists all keys.</p>
          <Timeline page={page} painter={painter} />
          <Panels page={page} />
        </main>
      </div>
      <div class="unseen" role="status" id="said">{page.said}</div>
      {page.helping ? <Help page={page} /> : null}
    </>
  );
}

async function start(): Promise<void> {
  const root = document.getElementById("root")!;
  try {
    const { traces } = await getJson<{ traces: TraceInfo[] }>("traces");
    render(<App traces={traces} painter={new Painter()} />, root);
    document.documentElement.dataset.ready = "yes";
  } catch (error) {
    root.textContent = `The server does not answer: ${String(error)}`;
  }
}

void start();
