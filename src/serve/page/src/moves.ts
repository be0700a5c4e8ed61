// Going from event to event, from step to step, from a finding to where it can be seen.
import { Basics, EventInfo, Finding, LayerEvent, getJson, whyOf } from "./api";
import { tabFor } from "./finding_tabs";
import { timeText, wordsOf } from "./format";
import { stepFrom } from "./marks";
import { LANE, Row, Source, headOf as keyOfHead, heightOf, keyOf, laneTop } from "./rows";
import type { Page } from "./state";

export async function choose(page: Page, table: string, row: number, move = false): Promise<void> {
  try {
    const event = await getJson<EventInfo>("event", { trace: page.trace, table, row });
    page.chosen = event;
    page.gap = undefined;
    page.said = `${event.name}, ${timeText(event.duration_ns)}, starts at ${timeText(event.start_ns)}`;
    if (move) reveal(page, event);
    page.changed();
  } catch (error) {
    page.fail(whyOf(error));
  }
}

// A time of a layer: why the GPU was idle, what the critical path was in.
export async function chooseOfLayer(page: Page, source: Source, lane: number, row: number): Promise<void> {
  try {
    const event = await getJson<LayerEvent>("layer-event", { trace: page.trace, layer: source, row });
    page.gap = { ...event, source, lane, row };
    page.chosen = undefined;
    page.said = `${wordsOf(event.class)}, ${timeText(event.duration_ns)}, starts at ${timeText(event.start_ns)}`;
    page.changed();
  } catch (error) {
    page.fail(whyOf(error));
  }
}

// So that an event can be seen: its track is opened, and time and tracks are moved if they must.
function reveal(page: Page, event: Basics): void {
  const lane = event.lane;
  const of = lane === null ? undefined
    : page.tracks.find((each) => each.kind !== "packed" && lane >= each.first_lane && lane < each.first_lane + each.lanes);
  if (lane !== null && of) {
    const here = (row: Row): boolean => row.source === "" && (row.lanes.includes(lane) || (event.packed !== undefined && row.lanes.includes(event.packed)));
    const shown = (): boolean => page.allRows.some(here);
    for (const key of [keyOfHead(of), keyOf(of)]) {
      page.ways.folded.delete(key);
      page.ways.hidden.delete(key);
    }
    page.arrange();
    if (!shown()) page.filter = "";
    if (!shown() && of.kind === "queue") page.compact = false;
    page.arrange();
    if (!shown()) page.ways.wide.add(keyOf(of));
    page.arrange();
    const row = page.rows.find(here);
    const y = row ? row.top + laneTop(row, Math.max(row.lanes.indexOf(lane), row.lanes.indexOf(event.packed ?? -1))) : page.scroll;
    if (y < page.scroll || y + LANE > page.scroll + page.room) {
      page.scroll = Math.max(0, Math.min(y - page.room / 2, heightOf(page.rows) - page.room));
    }
  }
  page.look((camera) => camera.reveal({ from: event.start_ns, to: event.start_ns + event.duration_ns }));
}

// The next event of the lane of the chosen one, or of a name in all lanes.
export async function step(page: Page, back: boolean, byName: boolean): Promise<void> {
  const { chosen, text } = page;
  if (byName && !text) return;
  if (!byName && (!chosen || chosen.lane === null)) return;
  const from = chosen ?? { start_ns: Math.max(0, Math.round(page.camera.from)), lane: 0 };
  try {
    const query: Record<string, string | number> =
      { trace: page.trace, lane: from.lane ?? 0, time: Math.max(0, from.start_ns), back: back ? 1 : 0 };
    if (byName) query.text = text;
    const next = await getJson<Basics | null>("next", query);
    if (next) await choose(page, next.table, next.row, true);
    else page.say(back ? "no earlier one" : "no later one");
  } catch (error) {
    page.fail(whyOf(error));
  }
}

// The first event of the lane above or below, from where the chosen one starts.
export async function across(page: Page, down: boolean): Promise<void> {
  const lanes = page.allRows.filter((row) => row.kind === "lanes").flatMap((row) => row.lanes);
  const at = lanes.indexOf(page.chosen?.lane ?? -1);
  const lane = at < 0 ? lanes[0] : lanes[at + (down ? 1 : -1)];
  if (lane === undefined) return;
  const time = Math.max(0, Math.round((page.chosen?.start_ns ?? page.camera.from) - 1));
  for (const back of [0, 1]) {
    const next = await getJson<Basics | null>("next", { trace: page.trace, lane, time, back });
    if (next) return choose(page, next.table, next.row, true);
  }
}

// From an operation to its call, and back; from a gap to what ended it.
export function follow(page: Page): void {
  const linked = page.gap?.events[0] ?? page.chosen?.call ?? page.chosen?.operations?.[0];
  if (linked) void choose(page, linked.table, linked.row, true);
}

// The step before or after the one in the middle of the view: at the same place of it where less than a step is seen, else all of it.
export function goToStep(page: Page, by: number): void {
  const { steps, camera } = page;
  if (steps.length === 0) return page.say("this trace has no steps");
  const middle = (camera.from + camera.to) / 2;
  const wide = camera.from <= camera.whole.from && camera.to >= camera.whole.to;
  const found = Math.min(stepFrom(steps, middle), steps.length - 1);
  const at = wide ? (by > 0 ? 0 : steps.length - 1) : Math.min(Math.max(found + by, 0), steps.length - 1);
  const from = steps[found]!, to = steps[at]!;
  const inside = !wide && camera.length < 0.9 * (from.end_ns - from.start_ns);
  const moved = to.start_ns - from.start_ns;
  const margin = (to.end_ns - to.start_ns) * 0.04;
  page.look((view) => inside ? view.show({ from: view.from + moved, to: view.to + moved })
                             : view.show({ from: to.start_ns - margin, to: to.end_ns + margin }));
  if (!inside) page.select({ from: to.start_ns, to: to.end_ns });
  page.say(`${to.name}: ${timeText(to.end_ns - to.start_ns)}, step ${at + 1} of ${steps.length}`);
}

export function showFinding(page: Page, finding: Finding): void {
  const { from_ns: from, to_ns: to } = finding;
  if (from === undefined || to === undefined) return;
  const margin = (to - from) * 0.5 + 1000;
  // With the ends of what is around it: a gap alone has no operations, so no analysis could say anything of it.
  const edge = Math.ceil((to - from) * 0.1) + 1000;
  page.chosen = page.gap = undefined;
  page.seeks = finding.gpu !== undefined && page.gpus.includes(finding.gpu) ? { gpu: finding.gpu, time: (from + to) / 2 } : undefined;
  page.scroll = 0;
  page.tab = tabFor(finding.finding, page.gpus.length > 0);
  page.tabChosen = true;
  if (page.route !== "timeline") page.go("timeline");
  page.look((camera) => camera.show({ from: from - margin, to: to + margin }));
  page.select({ from: from - edge, to: to + edge });
}
