// The timeline: minimap, tracks as a tree, and the canvas beside them. pointer.ts is what the mouse does.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Swatch, lookOf } from "./colours";
import { countText, timeText, wordsOf } from "./format";
import type { Painter } from "./painter";
import { Hover, usePointer } from "./pointer";
import { Row, heightOf } from "./rows";
import { headOf } from "./scene";
import type { Page } from "./state";
import type { Layer } from "./api";

function Label({ page, row, top }: { page: Page; row: Row; top: number }) {
  const small = row.height < 20;
  return (
    <li role="treeitem" aria-level={row.level} aria-expanded={row.folds ? row.open : undefined} class={`label level${row.level}${row.pinned ? " pinned" : ""}${small ? " small" : ""}`}
        style={{ top: `${top}px`, height: `${row.height}px` }}>
      {row.folds && !row.pinned ? <button type="button" onClick={() => page.turn("folded", row.key)} aria-expanded={row.open} title={row.label}>
        <span aria-hidden="true" class="turn">{row.open ? "▾" : "▸"}</span>{row.label}
      </button> : <span class="plain">{row.label}</span>}
      <span class="note" title={row.note}>{row.note}</span>
      <span class="tools">
        <button type="button" aria-pressed={row.pinned} aria-label={row.pinned ? `Unpin ${row.label}` : `Pin ${row.label} to the top`} title={row.pinned ? "Unpin" : "Pin to the top"}
                onClick={() => page.turn("pinned", row.key)}>{row.pinned ? "◆" : "◇"}</button>
        <button type="button" aria-label={`Hide ${row.label}`} title="Hide" onClick={() => page.turn("hidden", row.key)}>×</button>
      </span>
      {row.hidden > 0 || row.wide
        ? <button type="button" class="more" onClick={() => page.turn("wide", row.key)}>
            {row.wide ? "show fewer levels" : `${row.hidden} more level${row.hidden === 1 ? "" : "s"}`}
          </button> : null}
    </li>
  );
}

// What the strips say by colour and pattern.
function Legend({ title, about, layer }: { title: string; about: string; layer?: Layer }) {
  const shares = (layer?.class_ns ?? []).map((ns, i) => ({ ns, name: layer!.classes[i]! })).filter(({ ns }) => ns > 0).sort((a, b) => b.ns - a.ns);
  const whole = shares.reduce((sum, { ns }) => sum + ns, 0);
  const share = (ns: number): string => ns < whole / 200 ? "<1 %" : `${(100 * ns / whole).toFixed(0)} %`;
  if (whole === 0) return null;
  return <ul class="legend" aria-label={about} title={about}><li class="what">{title}</li>{shares.map(({ name, ns }) =>
    <li title={`${lookOf(name).what}, ${timeText(ns)}`} data-name={name}><Swatch name={name} /> {wordsOf(name)} {share(ns)}</li>)}</ul>;
}

function Tools({ page }: { page: Page }) {
  const { hidden } = page.ways;
  return (
    <div class="tools-line">
      <input id="filter" type="search" aria-label="Filter tracks" placeholder="Filter tracks (Ctrl+P)" value={page.filter} maxLength={100} spellcheck={false}
             onInput={(event) => { page.filter = event.currentTarget.value; page.arrange(); }}
             onKeyDown={(event) => { event.stopPropagation(); if (event.key === "Escape") { page.filter = ""; page.arrange(); document.getElementById("timeline")?.focus(); } }} />
      <button type="button" id="compact" aria-pressed={page.compact} onClick={() => { page.compact = !page.compact; page.arrange(); }}>Compact</button>
      {hidden.size > 0 ? <button type="button" id="unhide" onClick={() => { hidden.clear(); page.arrange(); }}>Show {countText(page.hiddenRows)} hidden</button> : null}
      {page.state?.growing ? <button type="button" id="follow" aria-pressed={page.follows} onClick={() => { page.follows = !page.follows; page.changed(); }}>Follow</button> : null}
      <Legend title="GPU idle:" about="Why the GPUs were idle, as shares of their idle time" layer={page.layers.idle} />
      <Legend title="Critical path:" about="What the critical path consists of" layer={page.layers["critical-path"]} />
    </div>
  );
}

function Minimap({ page, painter }: { page: Page; painter: Painter }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    painter.minimap = canvas.current!;
    painter.redraw();
  }, []);
  const go = (event: PointerEvent): void => {
    if ((event.buttons & 1) === 0) return;
    const { whole } = page.camera;
    const at = whole.from + event.offsetX / canvas.current!.clientWidth * (whole.to - whole.from);
    page.look((camera) => camera.show({ from: at - camera.length / 2, to: at + camera.length / 2 }));
  };
  return <canvas ref={canvas} class="minimap" aria-hidden="true" title="The whole trace; drag to move the view"
                 onPointerDown={(event) => { canvas.current!.setPointerCapture(event.pointerId); go(event); }}
                 onPointerMove={go} />;
}

// The tracks' names: the pinned ones above, the others scroll, and the canvas with them.
function Labels({ page }: { page: Page }) {
  const list = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (list.current && Math.abs(list.current.scrollTop - page.scroll) >= 1) list.current.scrollTop = page.scroll;
  });
  const scrolled = (top: number): void => {
    if (Math.abs(top - page.scroll) < 1) return;
    page.scroll = top;
    page.changed();
  };
  const rows = page.rows.filter((row) => row.top + row.height > page.scroll && row.top < page.scroll + page.room);
  const head = headOf(page), pinned = heightOf(page.pinnedRows);
  return (
    <>
      <div class="corner" style={{ height: `${head}px` }}>{page.steps.length > 0 ? <span title={page.stepsBy}>{countText(page.steps.length)} step{page.steps.length === 1 ? "" : "s"} (J, K)</span> : null}</div>
      {page.pinnedRows.length > 0 ? <ul class="labels pins" role="tree" aria-label="Pinned tracks" style={{ top: `${head}px`, height: `${pinned}px` }}>
        {page.pinnedRows.map((row) => <Label key={row.key} page={page} row={row} top={row.top} />)}</ul> : null}
      <div class="labels" ref={list} style={{ top: `${head + pinned}px` }} onScroll={(event) => scrolled(event.currentTarget.scrollTop)}>
        <ul role="tree" aria-label="Tracks" style={{ height: `${heightOf(page.rows)}px` }}>
          {rows.map((row) => <Label key={row.key} page={page} row={row} top={row.top} />)}
        </ul>
      </div>
    </>
  );
}

const LABELS = 210;

function Hovering({ hover, painter }: { hover: Hover; painter: Painter }) {
  return (
    <div class="hover" role="presentation" style={{
      left: `${LABELS + Math.min(hover.x + 14, Math.max(painter.width - 330, 0))}px`,
      top: `${Math.min(hover.y + 16, painter.height - 50 - 19 * hover.lines.length)}px` }}>
      <strong>{hover.title}</strong>{hover.lines.map((line) => <div>{line}</div>)}
    </div>
  );
}

export function Timeline({ page, painter }: { page: Page; painter: Painter }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const below = useRef<HTMLDivElement>(null);
  const [hover, setHover] = useState<Hover | undefined>();
  const { down, move, up, leave } = usePointer(page, painter, canvas, setHover);
  useEffect(() => {
    painter.page = page;
    painter.canvas = canvas.current!;
    painter.below = below.current!;
    const fit = (): void => {
      if (!box.current) return;
      painter.width = Math.max(50, box.current.clientWidth - LABELS);
      painter.height = Math.max(60, box.current.clientHeight);
      page.height = painter.height;
      page.changed();
    };
    const watch = new ResizeObserver(fit);
    watch.observe(box.current!);
    fit();
    return () => { watch.disconnect(); painter.close(); };
  }, [page]);
  return (
    <section class="timeline" aria-label="Timeline">
      <Tools page={page} />
      <div class="mini"><span class="minilabel" title="From the first operation, call or marker to the last">{timeText(page.info.end_ns - page.info.start_ns)} on the timeline</span><Minimap page={page} painter={painter} /></div>
      <div class="lanes" ref={box}>
        <Labels page={page} />
        <div ref={below} class="below-canvas" aria-hidden="true" />
        <canvas ref={canvas} class="canvas" tabIndex={0} role="application" id="timeline"
                aria-label="Timeline of the trace. W and S zoom, A and D move, arrow keys go from event to event, J and K from step to step, ? lists all keys."
                onPointerDown={down} onPointerMove={move} onPointerUp={up} onPointerLeave={leave}
                onDblClick={() => page.fit()} />
        {hover ? <Hovering hover={hover} painter={painter} /> : null}
      </div>
    </section>
  );
}
