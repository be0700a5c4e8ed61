// An analysis that is asked for and shown: with its command, and with what to choose where there is a choice.
import { useEffect, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { getJson, getText, whyOf } from "./api";
import { build } from "./picture";
import { Answer, Copy, Json, Options, ROWS, commandOf } from "./report";
import type { Page } from "./state";

export interface Asked { key: string; answer?: Json; error?: string }

// The panel of an analysis with these options, asked for anew when they change. Not for every pixel of a drag.
export function useAnswer(page: Page, path: string, query: Record<string, string | number>): Asked & { fresh: boolean } {
  const key = JSON.stringify([page.trace, page.state?.version, path, query]);
  const [shown, setShown] = useState<Asked>({ key: "" });
  useEffect(() => {
    const abort = new AbortController();
    const timer = setTimeout(() => {
      getJson<Json>(path, query, abort.signal)
        .then((answer) => setShown({ key, answer }),
              (error) => { if (!abort.signal.aborted) setShown({ key, error: whyOf(error) }); });
    }, 120);
    return () => { clearTimeout(timer); abort.abort(); };
  }, [key]);
  return { ...shown, fresh: shown.key === key };
}

// What is selected, as options of a command.
export function optionsOf(page: Page): Options {
  const options: Options = {};
  if (page.range) {
    options.from = `${page.range.from}ns`;
    options.to = `${page.range.to}ns`;
  }
  if (page.gpu !== "") options.gpu = page.gpu;
  return options;
}

export interface PanelProps {
  page: Page; analysis: string; options?: Options; id?: string; labelledBy?: string; role?: "tabpanel" | "region";
  picture?: (answer: Json) => ComponentChildren;  // above the tables
}

export function Panel({ page, analysis, options = {}, id, labelledBy, role, picture }: PanelProps) {
  const all = { limit: String(ROWS), ...options, ...optionsOf(page) };
  const { answer, error, fresh, key } = useAnswer(page, "panel", { trace: page.trace, analysis, ...all });
  return (
    <div class={fresh ? "answer" : "answer stale"} id={id} role={role} aria-labelledby={labelledBy} aria-busy={!fresh} data-shown={key}>
      <Copy text={commandOf(page, analysis, all)} id={id === "panel" ? "command" : undefined} analysis={analysis} />
      {error !== undefined ? <p class="error">{error}</p> : null}
      {answer && picture ? picture(answer) : null}
      {answer ? <Answer answer={answer} page={page} /> : error === undefined ? <p>Reading the trace…</p> : null}
    </div>
  );
}

export function Choice({ label, value, of, set }: { label: string; value: string; of: [string, string][]; set: (value: string) => void }) {
  return <label>{label} <select value={value} onChange={(event) => set(event.currentTarget.value)}>
    {of.map(([each, title]) => <option value={each}>{title}</option>)}</select></label>;
}

// The picture that the command line draws of it, too (--format svg).
export function Picture({ page, path, query, title }: { page: Page; path: string; query: Options; title: string }) {
  const place = useRef<HTMLDivElement>(null);
  const key = JSON.stringify([path, query, page.trace, page.state?.version]);
  useEffect(() => {
    const abort = new AbortController();
    getText(path, { trace: page.trace, ...query, format: "svg" }, abort.signal).then(
      (text) => { const made = text.includes(": nothing to draw</text>") ? undefined : build(text, title); if (made) place.current?.replaceChildren(made); else place.current?.replaceChildren(); },
      (error) => { if (!abort.signal.aborted) place.current?.replaceChildren(whyOf(error)); });
    return () => abort.abort();
  }, [key]);
  return <div class="picture" ref={place} />;
}
