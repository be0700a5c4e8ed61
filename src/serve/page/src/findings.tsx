// What stands out: the figures of the whole, and the findings with the way to their proof.
import type { Fact, Finding, Findings as Found } from "./api";
import { timeText } from "./format";
import { showFinding } from "./moves";
import type { Page } from "./state";

const FIRST = ["device", "wall_ns", "steps", "step_median_ns", "gpu_busy_percentage", "work_busy_percentage", "communication_percentage"];
const SHORT: Record<string, string> = {
  gpu_busy_percentage: "GPU busy", work_busy_percentage: "GPU busy, first to last op", step_median_ns: "Median step",
};
const MUCH_LONGER = 1.02;

function shownFacts(page: Page, facts: Fact[]): { title: string; about: string; text: string }[] {
  const warmUp = facts.find((fact) => fact.key === "warm_up_steps")?.number ?? 0;
  const seen_ns = page.info.end_ns - page.info.start_ns;
  return FIRST.flatMap((key) => facts.filter((fact) => fact.key === key)).flatMap((fact) => {
    const title = SHORT[fact.key] ?? fact.title;
    if (fact.key === "steps" && warmUp > 0) return [{ title, about: "Slower ones at the start are left out of the median", text: `${fact.text}, ${warmUp} of them warm-up` }];
    if (fact.key !== "wall_ns" || (fact.number ?? 0) < MUCH_LONGER * seen_ns) return [{ title, about: fact.title, text: fact.text }];
    return [{ title, about: "From the first event or sampled stack to the last", text: fact.text },
            { title: "On the timeline", text: timeText(seen_ns), about: "From the first operation, call or marker to the last. " +
              "The time before and after has sampled stacks only, of imports for example: see Stacks and Flame graph." }];
  });
}

// The figures that tell what ran, in the header: large, and always there.
export function Story({ page }: { page: Page }) {
  const { findings, info } = page;
  if (!findings) return <dl class="story" aria-label="At a glance"><div><dt>Trace</dt><dd>{page.findingsError ? "" : page.state?.state === "reading" ? "being read…" : "being analysed…"}</dd></div></dl>;
  const facts = shownFacts(page, findings.facts);
  return (
    <dl class="story" aria-label="At a glance">
      {facts.map((fact) => <div title={fact.about}><dt>{fact.title}</dt><dd>{fact.text}</dd></div>)}
      {facts.length === 0 ? <div><dt>Trace</dt><dd>{info.path.replace(/.*\//, "")}</dd></div> : null}
    </dl>
  );
}

export function StoryFacts({ findings }: { findings: Found }) {
  return <dl class="facts">{findings.facts.map((fact) => <div><dt>{fact.title}</dt><dd>{fact.text}</dd></div>)}</dl>;
}

export function FindingCard({ page, finding, open = false }: { page: Page; finding: Finding; open?: boolean }) {
  const { from_ns: from } = finding;
  return (
    <li class="finding">
      <h3>{finding.title}</h3>
      {finding.saving_ns > 0 ? <p class="saving"><svg class="bar" width="90" height="8" aria-hidden="true"><rect class="axis" width="90" height="8" />
        <rect class="more" width={Math.min(finding.saving_percentage, 100) * 0.9} height="8" /></svg> up to {finding.saving_percentage.toFixed(0)} % of the time could be saved</p> : null}
      <p>{finding.evidence}.</p>
      <details open={open}><summary>What to try</summary><p>{finding.advice}</p></details>
      {from !== undefined ? <button type="button" class="show" onClick={() => showFinding(page, finding)}>
        Show the longest{finding.gpu !== undefined && page.gpus.length > 1 ? ` (GPU ${finding.gpu})` : ""}</button> : null}
    </li>
  );
}

export function Findings({ page }: { page: Page }) {
  const { findings } = page;
  const rest = findings?.facts.filter((fact) => ![...FIRST, "warm_up_steps"].includes(fact.key)) ?? [];
  return (
    <aside class="findings" aria-label="What stands out" tabIndex={0}>
      <h2>What stands out</h2>
      {page.tracks.length > 0 && page.gpus.length === 0 ? <p class="note">No GPU operations in this trace: the findings are about CPU time.</p> : null}
      {page.findingsError ? <p class="error">{page.findingsError}</p> : null}
      {!findings && !page.findingsError ? <p>Looking…</p> : null}
      {findings && findings.findings.length === 0 ? <p>{findings.missing}</p> : null}
      {findings ? <ol>{findings.findings.map((finding, i) => <FindingCard page={page} finding={finding} open={i === 0} />)}</ol> : null}
      {rest.length > 0 ? <dl class="facts">{rest.map((fact) => <div><dt>{fact.title}</dt><dd>{fact.text}</dd></div>)}</dl> : null}
      {findings?.notes.filter((note) => !note.startsWith("no device operations")).map((note) => <p class="note">{note}</p>)}
      {page.info.warnings.map((warning) => <p class="error">{warning}</p>)}
    </aside>
  );
}
