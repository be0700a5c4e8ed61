// What stands out: the figures of the whole, and the findings with the way to their proof.
import type { Finding, Findings as Found } from "./api";
import { showFinding } from "./moves";
import type { Page } from "./state";

const FIRST = ["Device", "Wall time", "Steps", "Median step", "GPU busy, of wall time", "GPU busy, first to last operation", "Communication"];
const SHORT: Record<string, string> = {
  "GPU busy, of wall time": "GPU busy", "GPU busy, first to last operation": "GPU busy, first to last op", "Median step": "A step (median)",
};

// The figures that tell what ran, in the header: large, and always there.
export function Story({ page }: { page: Page }) {
  const { findings, info } = page;
  if (!findings) return <dl class="story" aria-label="At a glance"><div><dt>Trace</dt><dd>{page.findingsError ? "" : page.state?.state === "reading" ? "being read…" : "being looked at…"}</dd></div></dl>;
  const facts = FIRST.flatMap((title) => findings.facts.filter((fact) => fact.title === title));
  return (
    <dl class="story" aria-label="At a glance">
      {facts.map((fact) => <div title={fact.title}><dt>{SHORT[fact.title] ?? fact.title}</dt><dd>{fact.text}</dd></div>)}
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
  const rest = findings?.facts.filter((fact) => !FIRST.includes(fact.title)) ?? [];
  return (
    <aside class="findings" aria-label="What stands out" tabIndex={0}>
      <h2>What stands out</h2>
      {page.findingsError ? <p class="error">{page.findingsError}</p> : null}
      {!findings && !page.findingsError ? <p>Looking…</p> : null}
      {findings && findings.findings.length === 0 ? <p>{findings.missing}</p> : null}
      {findings ? <ol>{findings.findings.map((finding) => <FindingCard page={page} finding={finding} />)}</ol> : null}
      {rest.length > 0 ? <dl class="facts">{rest.map((fact) => <div><dt>{fact.title}</dt><dd>{fact.text}</dd></div>)}</dl> : null}
      {findings?.notes.map((note) => <p class="note">{note}</p>)}
      {page.info.warnings.map((warning) => <p class="error">{warning}</p>)}
    </aside>
  );
}
