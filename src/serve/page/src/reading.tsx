// A trace that is still being read: how far that is, and about what there is in it.
import { countText, timeText } from "./format";
import type { Page } from "./state";

export function Reading({ page }: { page: Page }) {
  const { state, preview } = page;
  const bins = (all: number[]) => all.map((dense, i) => dense > 0
    ? <rect x={i} width="1" y={16 - 14 * Math.max(dense, 0.1)} height={14 * Math.max(dense, 0.1)} class="dense" /> : null);
  return (
    <>
      <h2>Reading the trace</h2>
      <p><progress max="1" value={state?.done ?? 0} aria-label="How much is read" /> {state?.what}</p>
      {preview ? <>
        <p class="about">About {countText(preview.ops)} operations and {countText(preview.apis)} calls in {timeText(preview.end_ns - preview.start_ns)}, told from a sample:</p>
        <dl class="preview">{preview.tracks.slice(0, 60).map((track) => (
          <div><dt>{track.kind === "thread" ? `Process ${track.owner}, thread ${track.number}` : track.kind === "queue" ? `GPU ${track.owner}, queue ${track.number}` : `GPU ${track.owner}`}</dt>
            <dd><svg width="100%" height="16" viewBox={`0 0 ${Math.max(track.bins.length, 1)} 16`} preserveAspectRatio="none" aria-hidden="true">{bins(track.bins)}</svg></dd></div>))}
        </dl></> : null}
    </>
  );
}
