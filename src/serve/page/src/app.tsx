// The page: header, what is shown, and the keys.
import { render } from "preact";
import { useEffect, useReducer, useState } from "preact/hooks";
import { TraceInfo, getTraces, whyOf } from "./api";
import { readAddress, routeOf, traceOf } from "./address";
import { ComparePage, RanksPage } from "./compare";
import { Findings, Story } from "./findings";
import { countText } from "./format";
import { across, follow, goToStep, step } from "./moves";
import { AboutPage, ComputePage, FindingsPage, SPECS, SpecPage } from "./pages";
import { Painter } from "./painter";
import { Panels } from "./panels";
import { Reading } from "./reading";
import { SqlPage } from "./sql";
import { Page } from "./state";
import { Timeline } from "./timeline";

const KEYS: [string, string][] = [
  ["W / S", "zoom in / out (also Ctrl + wheel)"],
  ["A / D", "move earlier / later (also Shift + drag)"],
  ["J / K", "next / previous step: all of it, or the same place in it"],
  ["drag", "select a part of time: the tables show that part"],
  ["click", "select an event, a cause of idle time or a step; on empty space: clear"],
  ["Alt + drag", "measure; the ends snap to starts and ends of events"],
  ["← / →", "event before / after the selected one on its lane"],
  ["↑ / ↓", "event on the lane above / below"],
  ["F", "fit the selection, or the whole trace"],
  ["M", "select the time of the selected event"],
  ["0", "show the whole trace"],
  ["[ or ]", "go from an operation to its call, and back"],
  ["/", "search by name; Enter and Shift + Enter: next and previous hit"],
  ["N / P", "next / previous hit"],
  ["Ctrl + P", "filter tracks by name"],
  ["C", "compact tracks, and back"],
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

function Search({ page }: { page: Page }) {
  const keys = (event: KeyboardEvent): void => {
    event.stopPropagation();
    if (event.key === "Enter") void step(page, event.shiftKey, true);
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
      <button type="button" disabled={!page.text} onClick={() => void step(page, true, true)} aria-label="Previous hit">‹</button>
      <button type="button" disabled={!page.text} onClick={() => void step(page, false, true)} aria-label="Next hit">›</button>
      <span id="hits" role="status">{page.text && hits ? `${countText(hits.events)} events of ${countText(hits.names)} names` : ""}</span>
    </div>
  );
}

function turnTheme(painter: Painter): void {
  const root = document.documentElement;
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
  remember("theme", root.dataset.theme);
  painter.recolour();
}
function remember(name: string, value: string): void {
  try { localStorage.setItem(`sonde-${name}`, value); } catch { /* a browser that keeps nothing */ }
}
function recalled(name: string): string {
  try { return localStorage.getItem(`sonde-${name}`) ?? ""; } catch { return ""; }
}

const ROUTES: [string, string][] = [["timeline", "Timeline"], ["findings", "Findings"], ...SPECS.map((spec): [string, string] => [spec.id, spec.name]),
  ["ranks", "Ranks"], ["compare", "Compare"], ["compute", "Compute"], ["sql", "SQL"], ["about", "About"]];

function Navigation({ page }: { page: Page }) {
  return (
    <nav aria-label="Pages"><ul>{ROUTES.map(([route, name]) => (
      <li><a href={`#/${route === "timeline" ? "" : route}`} aria-current={page.route === route ? "page" : undefined}
             onClick={(event) => { event.preventDefault(); page.go(route); }}>{name}</a></li>))}</ul></nav>
  );
}

function Header({ page, painter }: { page: Page; painter: Painter }) {
  const { info } = page;
  const name = (trace: TraceInfo): string => trace.path.replace(/.*\//, "");
  return (
    <header>
      <div class="topline">
      <h1>{page.traces.length > 1
        ? <select aria-label="Trace" value={page.trace} onChange={(event) => void page.open(Number(event.currentTarget.value))}>
            {page.traces.map((trace, i) => <option value={i}>{name(trace)}</option>)}</select>
        : <span title={info.path}>{name(info)}</span>}</h1>
      <span class="note">{countText(info.ops)} operations, {countText(info.apis)} calls and markers</span>
      {page.state?.growing ? <span class="live" role="status">● recording</span> : null}
      <Search page={page} />
      <button type="button" id="theme" onClick={() => turnTheme(painter)}>Dark / light</button>
      <button type="button" id="help" onClick={() => { page.helping = true; page.changed(); }}>Keys ( ? )</button>
      </div>
      <Navigation page={page} />
      <Story page={page} />
    </header>
  );
}

// What a key does, where no field of text has the focus.
function press(page: Page, event: KeyboardEvent): boolean {
  const middle = (page.camera.from + page.camera.to) / 2;
  const chosen = page.gap ?? page.chosen;
  switch (event.key.length === 1 ? event.key.toLowerCase() : event.key) {
    case "w": page.look((camera) => camera.zoom(0.6, middle)); return true;
    case "s": page.look((camera) => camera.zoom(1 / 0.6, middle)); return true;
    case "a": page.look((camera) => camera.pan(-camera.length * 0.2)); return true;
    case "d": page.look((camera) => camera.pan(camera.length * 0.2)); return true;
    case "0": page.look((camera) => camera.show(camera.whole)); return true;
    case "f": page.fit(); return true;
    case "m": if (chosen) page.select({ from: chosen.start_ns, to: chosen.start_ns + Math.max(chosen.duration_ns, 1) }); return true;
    case "n": void step(page, false, true); return true;
    case "p": void step(page, true, true); return true;
    case "j": goToStep(page, 1); return true;
    case "k": goToStep(page, -1); return true;
    case "c": page.compact = !page.compact; page.arrange(); return true;
    case "[": case "]": follow(page); return true;
    case "ArrowRight": void step(page, false, false); return true;
    case "ArrowLeft": void step(page, true, false); return true;
    case "ArrowDown": void across(page, true); return true;
    case "ArrowUp": void across(page, false); return true;
    case "Escape":
      page.setText("");
      page.clear();
      return true;
    case "/": document.getElementById("search")?.focus(); return true;
    case "?": page.helping = true; page.changed(); return true;
    default: return false;
  }
}

const OF_TIMELINE = /^([wsad0fmnpjkc[\]]|Arrow.*)$/;

function Main({ page, painter }: { page: Page; painter: Painter }) {
  const { route } = page;
  if (page.state?.state === "reading") {
    return <main class="page"><Reading page={page} /></main>;
  }
  if (page.state?.state === "failed") return <main class="page"><p class="error">{page.state.error}</p></main>;
  if (route === "timeline") {
    return (
      <div class="main">
        <Findings page={page} />
        <main>
          <Timeline page={page} painter={painter} />
          <Panels page={page} />
        </main>
      </div>
    );
  }
  const spec = SPECS.find((each) => each.id === route);
  return (
    <main class="page" id={`page-${route}`} tabIndex={-1}>
      {spec ? <SpecPage key={spec.id} page={page} spec={spec} />
       : route === "findings" ? <FindingsPage page={page} /> : route === "ranks" ? <RanksPage page={page} /> : route === "compare" ? <ComparePage page={page} />
       : route === "compute" ? <ComputePage page={page} /> : route === "sql" ? <SqlPage page={page} /> : route === "about" ? <AboutPage page={page} />
       : <p>There is no such page.</p>}
    </main>
  );
}

function useKeys(page: Page, painter: Painter): void {
  useEffect(() => {
    const keys = (event: KeyboardEvent): void => {
      const target = event.target as HTMLElement;
      const writes = target.closest("input, select, textarea") !== null;
      if (event.ctrlKey && event.key.toLowerCase() === "p" && page.route === "timeline" && !event.shiftKey) {
        event.preventDefault();
        document.getElementById("filter")?.focus();
        return;
      }
      const arrows = event.key.startsWith("Arrow") && target.id !== "timeline" && target !== document.body;
      const elsewhere = page.route !== "timeline" && OF_TIMELINE.test(event.key.length === 1 ? event.key.toLowerCase() : event.key);
      if (writes || arrows || elsewhere || page.helping || event.ctrlKey || event.altKey || event.metaKey) return;
      if (press(page, event)) event.preventDefault();
    };
    const back = (): void => { page.route = routeOf(); if (page.tracks.length > 0) readAddress(page); page.arrange(); };
    document.addEventListener("keydown", keys);
    addEventListener("popstate", back);
    const theme = matchMedia("(prefers-color-scheme: dark)");
    theme.addEventListener("change", painter.recolour);
    return () => {
      document.removeEventListener("keydown", keys);
      removeEventListener("popstate", back);
      theme.removeEventListener("change", painter.recolour);
    };
  }, []);
}

function App({ traces, painter }: { traces: TraceInfo[]; painter: Painter }) {
  const [, tell] = useReducer((count: number) => count + 1, 0);
  const [page] = useState(() => new Page(traces, () => tell(undefined as never), painter.redraw));
  useEffect(() => {
    page.route = routeOf();
    void page.open(Math.min(traceOf(), traces.length - 1));
  }, []);
  useKeys(page, painter);
  return (
    <>
      <Header page={page} painter={painter} />
      {page.error ? <p class="error" role="alert">{page.error} <button type="button" onClick={() => { page.error = ""; page.changed(); }}>Close</button></p> : null}
      <Main page={page} painter={painter} />
      <div class="unseen" role="status" id="said">{page.said}</div>
      {page.helping ? <Help page={page} /> : null}
    </>
  );
}

async function start(): Promise<void> {
  const root = document.getElementById("root")!;
  const theme = recalled("theme");
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
  try {
    const traces = await getTraces();
    render(<App traces={traces} painter={new Painter()} />, root);
    document.documentElement.dataset.ready = "yes";
  } catch (error) {
    root.textContent = `The server does not answer: ${whyOf(error)}`;
  }
}

void start();
