// Below the timeline: what was clicked, and what the analyses say of the part of time that is selected.
import { useState } from "preact/hooks";
import { Panel, Picture, optionsOf } from "./ask";
import { breakdownPicture, flamePicture, idlePicture, pathPicture } from "./charts";
import { Swatch, lookOf } from "./colours";
import { bytesText, countText, realText, timeText, wordsOf } from "./format";
import { choose, follow } from "./moves";
import { clockOf } from "./report";
import type { Json, Options } from "./report";
import type { Page } from "./state";

interface Tab { id: string; analysis: string; name: string; what: string; options?: Options }
const TABS: Tab[] = [
  { id: "kernels", analysis: "kernels", name: "Kernels", what: "which kernels took the time" },
  { id: "breakdown", analysis: "breakdown", name: "Breakdown", what: "compute, exposed communication and copies, idle" },
  { id: "idle", analysis: "idle", name: "Why idle", what: "why the GPU was idle" },
  { id: "operators", analysis: "operators", name: "Operators", what: "which operators and modules took the time" },
  { id: "roofline", analysis: "perf", name: "Roofline", what: "how close operators are to the GPU's peak, from the sizes of their tensors" },
  { id: "flame", analysis: "stacks", name: "Flame graph", what: "time by call stack", options: { by: "tree" } },
  { id: "copies", analysis: "copies", name: "Copies", what: "what was copied, how fast" },
  { id: "launches", analysis: "launches", name: "Launches", what: "how long it took from call to operation" },
  { id: "critical-path", analysis: "critical-path", name: "Critical path", what: "what held up the end" },
  { id: "api", analysis: "api", name: "Calls", what: "which calls took CPU time" },
  { id: "stacks", analysis: "stacks", name: "Stacks", what: "which functions took the time" },
  { id: "memory", analysis: "memory", name: "Memory", what: "what allocated memory" },
  { id: "steps", analysis: "steps", name: "Steps", what: "how long each step took" },
];
// Of kernels where their hardware counters were read.
const COUNTED: Tab = { id: "roofline", analysis: "roofline", name: "Roofline", what: "how close kernels are to the GPU's peak, from hardware counters" };
function rooflineOf(page: Page): string { return page.info.counted ? COUNTED.analysis : "perf"; }
export const FLAME_LIMIT = "2000";

function pictureOf(page: Page, id: string): ((answer: Json) => preact.ComponentChildren) | undefined {
  switch (id) {
    case "breakdown": return breakdownPicture;
    case "idle": return idlePicture;
    case "critical-path": return pathPicture;
    case "flame": return flamePicture(page);
    case "roofline": return () => <Picture page={page} path="panel" query={{ analysis: rooflineOf(page), ...optionsOf(page) }} title="Roofline" />;
    default: return undefined;
  }
}

function EventDetails({ page }: { page: Page }) {
  const event = page.chosen!;
  const facts: [string, string][] = [["Starts", timeText(event.start_ns)], ["Lasts", timeText(event.duration_ns)]];
  const about = (title: string): string | undefined => title === "Starts" ? clockOf(page, event.start_ns) : undefined;
  if (event.type) facts.push(["Type", event.type]);
  if (event.domain) facts.push(["Of", event.domain]);
  if (event.gpu !== undefined) facts.push(["Where", `GPU ${event.gpu}, queue ${event.queue}`]);
  if (event.bytes !== undefined) facts.push(["Size", bytesText(event.bytes)]);
  if (event.bytes !== undefined && event.duration_ns > 0) facts.push(["Rate", `${realText(event.bytes / event.duration_ns)} GB/s`]);
  if (event.grid && event.group) facts.push(["Grid", event.grid.join(" x ")], ["Group", event.group.join(" x ")]);
  if (event.call) facts.push(["From call to start", timeText(event.start_ns - event.call.start_ns)]);
  if (event.launched) facts.push(["Launched", `${countText(event.launched)} operation${event.launched === 1 ? "" : "s"}`]);
  if (event.args) facts.push(["Arguments", event.args]);
  const linked = event.call ?? event.operations?.[0];
  const span = { from: event.start_ns, to: event.start_ns + Math.max(event.duration_ns, 1) };
  return (
    <div class="details" role="group" aria-label="Selected event">
      <h2 class="eventname">{event.name}</h2>
      <dl class="row">{facts.map(([title, text]) => <div title={about(title)}><dt>{title}</dt><dd>{text}</dd></div>)}</dl>
      <div class="buttons">
        {linked ? <button type="button" onClick={() => follow(page)}>
          {event.call ? "Go to the call that launched it" : "Go to what it launched"}</button> : null}
        <button type="button" onClick={() => page.select(span)}>Select its time</button>
        <button type="button" onClick={() => page.setText(event.name.slice(0, 200))}>Find all with this name</button>
        {page.canNote ? <NoteButton page={page} from={span.from} to={span.to} /> : null}
      </div>
    </div>
  );
}

// Why the GPU was idle here, or what the critical path was in: the cause and its evidence.
function GapDetails({ page }: { page: Page }) {
  const gap = page.gap!;
  const look = lookOf(gap.class);
  return (
    <div class="details" role="group" aria-label="Selected time">
      <h2 class="eventname">{gap.source === "samples" ? `Sampled: ${gap.class}` : <><Swatch name={gap.class} /> {gap.source === "idle" ? "GPU idle: " : "Critical path: "}{wordsOf(gap.class)}</>}
        {look.what ? <span class="note"> ({look.what})</span> : null}</h2>
      <dl class="row"><div title={clockOf(page, gap.start_ns)}><dt>Starts</dt><dd>{timeText(gap.start_ns)}</dd></div><div><dt>Lasts</dt><dd>{timeText(gap.duration_ns)}</dd></div>
        {gap.facts.map((fact) => <div><dt>{fact.title}</dt><dd>{fact.text}</dd></div>)}</dl>
      <div class="buttons">
        {gap.events.slice(0, 6).map((event) => (
          <button type="button" onClick={() => void choose(page, event.table, event.row, true)}>
            {event.role}: <span class="brief">{event.name}</span></button>))}
        <button type="button" onClick={() => page.select({ from: gap.start_ns, to: gap.start_ns + Math.max(gap.duration_ns, 1) })}>Select its time</button>
      </div>
    </div>
  );
}

// A note on a part of time: the button turns into a field.
export function NoteButton({ page, from, to }: { page: Page; from: number; to: number }) {
  const [text, setText] = useState<string | undefined>();
  if (text === undefined) return <button type="button" class="addnote" onClick={() => setText("")}>Add a note</button>;
  const keep = (event: Event): void => {
    event.preventDefault();
    const said = text.trim();
    setText(undefined);
    if (said) void page.keep((notes) => [...notes, { from_ns: Math.round(from), to_ns: Math.round(to), text: said.slice(0, 2000) }]);
  };
  return (
    <form class="noteform" onSubmit={keep}>
      <input aria-label="Text of the note" maxLength={2000} value={text} onInput={(event) => setText(event.currentTarget.value)}
             ref={(field) => field?.focus()} onKeyDown={(event) => { if (event.key === "Escape") setText(undefined); event.stopPropagation(); }} />
      <button type="submit">Keep</button>
    </form>
  );
}

function Notes({ page }: { page: Page }) {
  if (page.notes.notes.length === 0) return null;
  return (
    <details class="notes">
      <summary>{countText(page.notes.notes.length)} note{page.notes.notes.length === 1 ? "" : "s"}, kept in {page.notes.path}</summary>
      <ul>{page.notes.notes.map((note, i) => (
        <li>
          <button type="button" class="link" onClick={() => { page.look((camera) => camera.reveal({ from: note.from_ns, to: note.to_ns })); page.select({ from: note.from_ns, to: note.to_ns }); }}>
            {timeText(note.from_ns)}</button> {note.text}{" "}
          <button type="button" aria-label={`Delete the note ${note.text}`} onClick={() => void page.keep((notes) => notes.filter((each, k) => k !== i || each.text !== note.text))}>Delete</button>
        </li>))}</ul>
    </details>
  );
}

export function selectionText(page: Page): string {
  const { range } = page;
  if (!range) return "The whole trace";
  const step = page.steps.find((each) => each.start_ns === range.from && each.end_ns === range.to);
  return `Selected: ${step ? `${step.name}, ` : ""}${timeText(range.to - range.from)} from ${timeText(range.from)} on`;
}

// What the tables are of: part of time and GPU.
export function Selection({ page }: { page: Page }) {
  return (
    <div class="panelhead">
      <h2>{selectionText(page)}</h2>
      {page.range ? <button type="button" id="whole" onClick={() => page.select(undefined)}>Back to the whole trace</button> : null}
      {page.range && page.canNote ? <NoteButton page={page} from={page.range.from} to={page.range.to} /> : null}
      {page.gpus.length > 1 ? <label>GPU <select value={page.gpu} onChange={(event) => { page.gpu = event.currentTarget.value; page.changed(); }}>
        <option value="">all</option>{page.gpus.map((gpu) => <option value={gpu}>{gpu}</option>)}</select></label> : null}
    </div>
  );
}

export function Panels({ page }: { page: Page }) {
  const tabs = TABS.map((each) => each.id === COUNTED.id && page.info.counted ? COUNTED : each);
  const tab = tabs.find((each) => each.id === page.tab) ?? tabs[0]!;
  const keys = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    page.chooseTab(tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length]!.id);
    document.getElementById(`tab-${page.tab}`)?.focus();
    event.stopPropagation();
    event.preventDefault();
  };
  return (
    <section class="panels" aria-label="What the selection holds">
      {page.gap ? <GapDetails page={page} /> : page.chosen ? <EventDetails page={page} /> : null}
      <div class="below">
      <Selection page={page} />
      <Notes page={page} />
      <div role="tablist" aria-label="Analyses" class="tabs" onKeyDown={keys}>
        {tabs.map(({ id, name, what }) => (
          <button type="button" role="tab" id={`tab-${id}`} aria-selected={tab.id === id} aria-controls="panel" title={what}
                  tabIndex={tab.id === id ? 0 : -1} onClick={() => page.chooseTab(id)}>{name}</button>
        ))}
      </div>
      <Panel key={tab.id} page={page} analysis={tab.analysis} options={tab.id === "flame" ? { ...tab.options, limit: FLAME_LIMIT } : tab.options}
             id="panel" role="tabpanel" labelledBy={`tab-${tab.id}`} picture={pictureOf(page, tab.id)} />
      </div>
    </section>
  );
}
