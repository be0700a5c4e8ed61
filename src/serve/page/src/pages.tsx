// The pages beside the timeline: each is a list of analyses of the selection, with what to choose where there is a choice.
import { useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { Choice, Panel, Picture, optionsOf, useAnswer } from "./ask";
import { breakdownPicture, flamePicture, idlePicture, pathPicture } from "./charts";
import { FindingCard, StoryFacts } from "./findings";
import { BOUND_BY } from "./format";
import { FLAME_LIMIT, Selection } from "./panels";
import { Answer, Copy, Json, Options, commandOf } from "./report";
import type { Page } from "./state";

interface Part {
  title: string; analysis: string; options?: Options;
  choice?: { option: string; label: string; of: [string, string][] };
  picture?: "svg" | ((page: Page) => (answer: Json) => ComponentChildren);
}
interface Spec { id: string; name: string; about: string; parts: Part[] }

export const SPECS: Spec[] = [
  { id: "kernels", name: "Kernels", about: "Which kernels took the time, how much their times vary, and which come in sequences.", parts: [
    { title: "By kernel", analysis: "kernels", options: { limit: "100" }, choice: { option: "by", label: "A row is", of: [
      ["name", "a kernel"], ["shape", "a kernel and its grid"], ["gpu", "a GPU"], ["queue", "a queue"]] } },
    { title: "Time by class", analysis: "breakdown", picture: () => breakdownPicture },
    { title: "Kernels whose times vary", analysis: "variability" },
    { title: "Repeating sequences", analysis: "sequences" }] },
  { id: "operators", name: "Operators", about: "Which operators, modules and lines of code took GPU and CPU time.", parts: [
    { title: "By operator", analysis: "operators", options: { limit: "100" } },
    { title: "By call stack", analysis: "stacks", options: { by: "tree", limit: FLAME_LIMIT }, picture: flamePicture,
      choice: { option: "weight", label: "Width shows", of: [["auto", "what the trace has"], ["cpu", "CPU time"], ["wall", "time"], ["gpu", "GPU time"]] } }] },
  { id: "copies", name: "Copies", about: "What was copied between host and devices, how fast, and by which calls.", parts: [{ title: "By direction", analysis: "copies", options: { limit: "100" } }] },
  { id: "memory", name: "Memory", about: "How much memory was in use, when most, and what allocated it.", parts: [{ title: "Memory in use", analysis: "memory", picture: "svg" }] },
  { id: "steps", name: "Steps", about: "How long each step took, and what was different in the slow ones.", parts: [{ title: "By step", analysis: "steps", options: { limit: "200" }, picture: "svg" }] },
  { id: "path", name: "Critical path", about: "What held up the end of the program, and what would be gained if a part of it took no time.", parts: [
    { title: "Bound by", analysis: "critical-path", picture: () => pathPicture }] },
  { id: "idle", name: "Idle", about: "Why the GPUs were idle, and how long it took from a call to its operation.", parts: [
    { title: "By cause", analysis: "idle", picture: () => idlePicture }, { title: "From call to operation", analysis: "launches" }, { title: "Queues", analysis: "queues" }] },
];

function PartOf({ page, part }: { page: Page; part: Part }) {
  const [chosen, setChosen] = useState(part.choice?.of[0]?.[0] ?? "");
  const isFirst = chosen === part.choice?.of[0]?.[0];
  const options = { ...part.options, ...(part.choice && !isFirst ? { [part.choice.option]: chosen } : {}) };
  const { picture } = part;
  const made = typeof picture === "function" ? picture(page)
    : picture === "svg" ? () => <Picture page={page} path="panel" query={{ analysis: part.analysis, ...options, ...optionsOf(page) }} title={part.title} /> : undefined;
  return (
    <section class="part" aria-label={part.title}>
      <div class="panelhead"><h2>{part.title}</h2>{part.choice ? <Choice label={part.choice.label} value={chosen} of={part.choice.of} set={setChosen} /> : null}</div>
      <Panel page={page} analysis={part.analysis} options={options} picture={made} />
    </section>
  );
}

// What the path would be if something took less time.
function WhatIf({ page }: { page: Page }) {
  const [what, setWhat] = useState("gpu_compute"), [percent, setPercent] = useState(50);
  const [text, setText] = useState("");
  const [asked, setAsked] = useState("");
  const setting = `${text.trim() || what}=${percent}`;
  return (
    <section class="part" aria-label="What if">
      <h2>What if</h2>
      <form class="panelhead" onSubmit={(event) => { event.preventDefault(); setAsked(setting); }}>
        <Choice label="If" value={what} of={BOUND_BY} set={setWhat} />
        <label>or calls and kernels named <input value={text} size={24} maxLength={200} placeholder="a regular expression" onInput={(event) => setText(event.currentTarget.value)} /></label>
        <label>took <input type="range" min="0" max="100" step="5" value={percent} aria-valuetext={`${percent} % of its time`} onInput={(event) => setPercent(Number(event.currentTarget.value))} /> {percent} % of its time</label>
        <button type="submit">Compute</button>
      </form>
      {asked ? <Panel page={page} analysis="critical-path" options={{ "what-if": asked }} /> : null}
    </section>
  );
}

export function SpecPage({ page, spec }: { page: Page; spec: Spec }) {
  return (
    <>
      <p class="about">{spec.about}</p>
      <Selection page={page} />
      {spec.parts.map((part) => <PartOf key={part.title} page={page} part={part} />)}
      {spec.id === "path" ? <WhatIf page={page} /> : null}
      {spec.id === "path" ? <PartOf page={page} part={{ title: "The chain, edge by edge", analysis: "critical-path", options: { show: "edges", limit: "200" } }} /> : null}
    </>
  );
}

export function FindingsPage({ page }: { page: Page }) {
  return (
    <>
      <p class="about">Where to look first: rules over the figures of all analyses, each with its evidence, what to try, and an estimate of what it could save.</p>
      <Copy text={commandOf(page, "check", {})} />
      {page.findingsError ? <p class="error">{page.findingsError}</p> : null}
      {page.findings ? <StoryFacts findings={page.findings} /> : <p>Looking…</p>}
      {page.findings?.findings.length === 0 ? <p>{page.findings.missing}</p> : null}
      <ol class="cards">{page.findings?.findings.map((finding) => <FindingCard page={page} finding={finding} open />)}</ol>
      {page.findings?.notes.map((note) => <p class="note">{note}</p>)}
    </>
  );
}

function SpeedOfLight({ page }: { page: Page }) {
  const options = optionsOf(page);
  const { answer, error, fresh } = useAnswer(page, "panel", { trace: page.trace, analysis: "sol", ...options });
  return (
    <section class="part" aria-label="Speed of light" aria-busy={!fresh}>
      <h2>Speed of light</h2>
      <Copy text={commandOf(page, "sol", options)} />
      {error !== undefined ? <p>{error}</p> : null}
      <Picture page={page} path="panel" query={{ analysis: "sol", ...options }} title="Speed of light" />
      <Picture page={page} path="panel" query={{ analysis: "sol", panel: "3", ...options }} title="Memory chart" />
      {answer ? <Answer answer={answer} page={page} /> : null}
    </section>
  );
}

const SIZES: Part = { title: "From the sizes of tensors", analysis: "perf", picture: "svg" };

// Speed of light, memory chart and roofline, where hardware counters were read; otherwise what the sizes of operators tell.
export function ComputePage({ page }: { page: Page }) {
  const { counted } = page.info;
  return (
    <>
      <p class="about">How close kernels are to the peak of the GPU: from hardware counters where <code>sonde profile</code> read them, else from the sizes of the operators' tensors.</p>
      <Selection page={page} />
      {counted ? <SpeedOfLight page={page} /> : null}
      {counted ? null : <PartOf page={page} part={SIZES} />}
      {counted ? <PartOf page={page} part={{ title: "Roofline", analysis: "roofline", picture: "svg",
        choice: { option: "type", label: "Compute roofs of", of: [["FP32", "FP32"], ["FP64", "FP64"], ["FP16", "FP16"], ["BF16", "BF16"]] } }} /> : null}
      <PartOf page={page} part={{ title: "Hardware counters by kernel", analysis: "counters" }} />
      {counted ? <PartOf page={page} part={SIZES} /> : null}
    </>
  );
}

export function AboutPage({ page }: { page: Page }) {
  const [shows, setShows] = useState(false);
  const { answer, error, fresh } = useAnswer(page, "info", { trace: page.trace, ...(shows ? { environment: "yes" } : {}) });
  return (
    <>
      <p class="about">What the file contains, what was lost while it was recorded, and where.</p>
      <section class="part" aria-label="The file" aria-busy={!fresh}>
        <Copy text={commandOf(page, "info", {})} />
        {page.info.warnings.map((warning) => <p class="error">{warning}</p>)}
        {error !== undefined ? <p class="error">{error}</p> : null}
        {answer ? <Answer answer={answer} page={page} /> : null}
        {shows ? null : <button type="button" id="environment" onClick={() => setShows(true)}>Show the command line and the environment</button>}
      </section>
      <p class="note">Sonde: MIT. The page holds Preact; <a href="LICENSES.txt">its licence</a>.</p>
    </>
  );
}
