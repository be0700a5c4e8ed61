// Two traces: what changed, and both on one axis with a step of each beginning together. And the ranks of a job.
import { useEffect, useState } from "preact/hooks";
import { Pair, getJson, shortNames, whyOf } from "./api";
import { Choice, useAnswer } from "./ask";
import { Span } from "./camera";
import { timeText } from "./format";
import { Answer, Copy, Json, commandOf, isRows } from "./report";
import { StripOf, Strips, Tint } from "./strips";
import type { Page } from "./state";

const SLOWER = "#e0701a", FASTER = "#3d9bd9", SAME = "#b9c2cc";

export function nameOf(page: Page, trace: number): string { return page.traces[trace]!.path.replace(/.*\//, ""); }

// Whether these traces have been read; until then it is not known where they begin and end.
function useRead(page: Page, traces: number[]): boolean {
  const unread = traces.filter((trace) => page.traces[trace]!.state === "reading");
  useEffect(() => {
    if (unread.length > 0) page.readAlso(unread).catch((error) => page.fail(whyOf(error)));
  }, [unread.join()]);
  return unread.length === 0;
}

// What each step took longer or shorter in B; a click looks at it.
function Steps({ pairs, chosen, choose }: { pairs: Pair[]; chosen: number; choose: (step: number) => void }) {
  const more = pairs.map((pair) => (pair.end_ns - pair.start_ns) - (pair.base_end_ns - pair.base_start_ns));
  const most = Math.max(...more.map(Math.abs), 1);
  return (
    <div class="stepbars" role="group" aria-label="What each step took longer or shorter in B">
      {pairs.slice(0, 200).map((pair, i) => (
        <button type="button" class="stepbar" aria-pressed={i === chosen} title={`${pair.name}: ${more[i]! >= 0 ? "+" : "-"}${timeText(Math.abs(more[i]!))} in B`}
                aria-label={`${pair.name}: ${timeText(Math.abs(more[i]!))} ${more[i]! >= 0 ? "longer" : "shorter"} in B`} onClick={() => choose(i)}>
          <svg width="10" height="60" aria-hidden="true"><rect class="axis" y="29.5" width="10" height="1" />
            <rect x="1" width="8" y={more[i]! >= 0 ? 30 - 28 * more[i]! / most : 30} height={Math.max(28 * Math.abs(more[i]!) / most, 0.5)} fill={more[i]! >= 0 ? SLOWER : FASTER} /></svg>
        </button>))}
    </div>
  );
}

// Kernels that differ, coloured by which way; the others are grey.
function useTint(page: Page, answer?: Json): Tint | undefined {
  const [tint, setTint] = useState<Tint | undefined>();
  useEffect(() => {
    const rows = Object.values(answer ?? {}).flatMap((value) => isRows(value) ? value : []).filter((row) => typeof row.name === "string" && typeof row.delta_ns === "number" && row.delta_ns !== 0);
    const most = Math.max(...rows.map((row) => Math.abs(Number(row.delta_ns))), 0);
    const told = rows.filter((row) => Math.abs(Number(row.delta_ns)) > most / 100).slice(0, 200);
    if (told.length === 0) return setTint(undefined);
    shortNames(page.trace, told.map((row) => String(row.name))).then((short) => {
      const colours = new Map(told.map((row, i) => [short[i]!, Number(row.delta_ns) > 0 ? SLOWER : FASTER]));
      setTint(() => (name: string) => colours.get(name) ?? SAME);
    }, (error) => page.fail(whyOf(error)));
  }, [answer]);
  return tint;
}

function Aligned({ page, other, answer }: { page: Page; other: number; answer?: Json }) {
  const [pairs, setPairs] = useState<Pair[] | undefined>();
  const [at, setAt] = useState(0);
  const tint = useTint(page, answer);
  const isRead = useRead(page, [page.trace, other]);
  useEffect(() => {
    setPairs(undefined);
    getJson<{ pairs: Pair[] }>("align", { base: page.trace, trace: other }).then((found) => {
      setPairs(found.pairs);
      setAt(Math.min(1, Math.max(found.pairs.length - 1, 0)));  // the first one warms up
    }, (error) => page.fail(whyOf(error)));
  }, [page.trace, other]);
  if (!pairs || !isRead) return <p>Aligning…</p>;
  const pair = pairs[at];
  const from = pair?.base_start_ns ?? page.info.start_ns;
  const long = pair ? Math.max(pair.base_end_ns - pair.base_start_ns, pair.end_ns - pair.start_ns) : page.info.end_ns - page.info.start_ns;
  const view: Span = { from: from - long * 0.03, to: from + long * 1.03 };
  const of: StripOf[] = [{ trace: page.trace, title: `A: ${nameOf(page, page.trace)}`, shift: 0 },
                         { trace: other, title: `B: ${nameOf(page, other)}`, shift: pair ? pair.base_start_ns - pair.start_ns : page.info.start_ns - page.traces[other]!.start_ns }];
  return (
    <>
      {pairs.length > 1 ? <Steps pairs={pairs} chosen={at} choose={setAt} /> : null}
      <p class="note">{pair ? `${pair.name} begins together in both: ${timeText(pair.base_end_ns - pair.base_start_ns)} in A, ${timeText(pair.end_ns - pair.start_ns)} in B. ` : "Both from their start. "}
        <span class="key"><svg width="12" height="12" aria-hidden="true"><rect width="12" height="12" fill={SLOWER} /></svg> took longer in B,{" "}
          <svg width="12" height="12" aria-hidden="true"><rect width="12" height="12" fill={FASTER} /></svg> shorter in B. Drag moves both, Ctrl + wheel zooms.</span></p>
      <Strips traces={page.traces} of={of} view={view} tint={tint} fail={page.fail} />
    </>
  );
}

export function ComparePage({ page }: { page: Page }) {
  const others = page.traces.map((_, i) => i).filter((i) => i !== page.trace);
  const [other, setOther] = useState(others[0] ?? -1);
  const chosen = others.includes(other) ? other : others[0];
  if (chosen === undefined) {
    return <p class="about">Comparing needs two traces: <code>sonde serve before.rpd after.rpd</code> opens both.</p>;
  }
  return <Compared page={page} other={chosen} others={others} setOther={setOther} />;
}

function Compared({ page, other, others, setOther }: { page: Page; other: number; others: number[]; setOther: (other: number) => void }) {
  const { answer, error, fresh } = useAnswer(page, "diff", { base: page.trace, trace: other, limit: 50 });
  return (
    <>
      <p class="about">What changed from A to B, and where: kernels and operators are matched by name, steps by their number.</p>
      <div class="panelhead"><span>A: <b>{nameOf(page, page.trace)}</b></span>
        <Choice label="B:" value={String(other)} of={others.map((i) => [String(i), nameOf(page, i)])} set={(value) => setOther(Number(value))} /></div>
      <Aligned page={page} other={other} answer={answer} />
      <section class={fresh ? "part answer" : "part answer stale"} aria-label="Differences" aria-busy={!fresh}>
        <Copy text={commandOf(page, "diff", { limit: "50" }, [page.info.path, page.traces[other]!.path])} />
        {error !== undefined ? <p class="error">{error}</p> : null}
        {answer ? <Answer answer={answer} page={page} /> : error === undefined ? <p>Comparing…</p> : null}
      </section>
    </>
  );
}

interface Rank { trace: number; rank: number | null; shift_ns: number; by?: string }
interface Late { name: string; trace: number; collectives: number; last: number; late_ns: number; caused_ns: number; waited_ns: number }

function Joint({ page, analysis, title }: { page: Page; analysis: string; title: string }) {
  const { answer, error, fresh } = useAnswer(page, "joint-panel", { analysis, limit: 100 });
  return (
    <section class={fresh ? "part answer" : "part answer stale"} aria-label={title} aria-busy={!fresh}>
      <h2>{title}</h2>
      <Copy text={commandOf(page, analysis, { limit: "100" }, page.traces.map((trace) => trace.path))} />
      {error !== undefined ? <p>{error}</p> : null}
      {answer ? <Answer answer={answer} page={page} /> : error === undefined ? <p>Reading the traces…</p> : null}
    </section>
  );
}

// Who was late: each rank's share of the time that the others waited for it.
function LateBars({ ranks }: { ranks: Late[] }) {
  const most = Math.max(...ranks.map((rank) => rank.caused_ns), 1);
  return (
    <figure class="parts"><figcaption>How long the others waited for each rank</figcaption>
      <table><thead><tr><th scope="col">Rank</th><th scope="col">Others waited</th><th scope="col" class="number">Came last</th><th scope="col" class="number">Waited itself</th></tr></thead>
        <tbody>{ranks.map((rank) => <tr><td>{rank.name}</td>
          <td><span class="share"><svg class="bar" width="200" height="10" aria-hidden="true"><rect class="slower" width={200 * rank.caused_ns / most} height="10" /></svg><span>{timeText(rank.caused_ns)}</span></span></td>
          <td class="number">{rank.last} of {rank.collectives}</td><td class="number">{timeText(rank.waited_ns)}</td></tr>)}</tbody></table></figure>
  );
}

interface Instance { op: string; skew_ns: number; last: string | null; late_ns: number; times: ([number, number] | null)[] }
interface Found { traces: Rank[]; ranks: Late[]; instances: Instance[] }

function instanceText(one: Instance, first: number): string {
  const at = one.times[first];
  return `${one.op}${at ? ` at ${timeText(at[0])}` : ""}: ${one.last === null ? "together" : `${one.last} last, ${timeText(one.late_ns)} late`}`;
}

// Where each trace stands on the axis: as the server says, or with the ends of a chosen collective at one place, as no rank leaves it before all have arrived.
function shiftsOf(traces: Rank[], by?: Instance): number[] {
  const first = traces.findIndex((each) => by?.times[each.trace]);
  const end = first < 0 ? undefined : by!.times[traces[first]!.trace]![1] + traces[first]!.shift_ns;
  return traces.map((each) => {
    const own = by?.times[each.trace];
    return own && end !== undefined ? end - own[1] : each.shift_ns;
  });
}

function SideBySide({ page, found }: { page: Page; found: Found }) {
  const [chosen, setChosen] = useState("");
  const traces = found.traces.slice(0, 16);
  const isRead = useRead(page, traces.map((each) => each.trace));
  const by = chosen === "" ? undefined : found.instances[Number(chosen)];
  const shifts = shiftsOf(traces, by);
  const of: StripOf[] = traces.map((each, i) => ({ trace: each.trace, title: `${each.rank === null ? "" : `Rank ${each.rank}: `}${nameOf(page, each.trace)}`, shift: shifts[i]! }));
  const spans = by ? traces.flatMap((each, i) => { const own = by.times[each.trace]; return own ? [own.map((time) => time + shifts[i]!) as [number, number]] : []; })
                   : traces.map((each, i): [number, number] => [page.traces[each.trace]!.start_ns + shifts[i]!, page.traces[each.trace]!.end_ns + shifts[i]!]);
  const from = Math.min(...spans.map(([start]) => start)), to = Math.max(...spans.map(([, end]) => end));
  const margin = by ? (to - from) * 0.25 : 0;
  if (!isRead) return <p>Reading the traces…</p>;
  const known = found.traces.find((each) => each.by && each.by !== "clock")?.by ?? found.traces.find((each) => each.by)?.by ?? "their start";
  return (
    <>
      <p class="panelhead">
        {found.instances.length > 0
          ? <Choice label="Aligned by" value={chosen} set={setChosen}
                    of={[["", known === "collectives" ? "all collectives" : `the ${known}`], ...found.instances.map((one, i): [string, string] => [String(i), instanceText(one, traces[0]!.trace)])]} />
          : <span class="note">Aligned by {known === "collectives" ? "all collectives" : `the ${known}`}.</span>}
        <span class="note">Drag moves all, Ctrl + wheel zooms.{by ? " All ranks leave the collective together: the others waited for the one that starts it last." : ""}</span></p>
      <Strips traces={page.traces} of={of} view={{ from: from - margin, to: to + margin }} fail={page.fail} />
    </>
  );
}

export function RanksPage({ page }: { page: Page }) {
  const [found, setFound] = useState<Found | undefined>();
  useEffect(() => {
    getJson<Found>("ranks").then(setFound, () => setFound(undefined));
  }, [page.trace]);
  return (
    <>
      <p class="about">Ranks of a job beside each other, and their collectives: who came late, and who waited.
        {page.traces.length < 2 ? " With the traces of all ranks, sonde serve rank0.rpd rank1.rpd shows them on one axis." : ""}</p>
      {found && found.ranks.length > 0 ? <LateBars ranks={found.ranks} /> : null}
      {found && found.traces.length > 1 ? <SideBySide page={page} found={found} /> : null}
      <Joint page={page} analysis="collectives" title="Collectives" />
      <Joint page={page} analysis="ranks" title="Across ranks" />
    </>
  );
}
