// The timeline: minimap, tracks as a tree, and the canvas beside them.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Span } from "./camera";
import { Box, Colours, RULER, Scene, boxAt, coloursOf, draw, drawMinimap, levelOf, overviewLevel, wantTiles } from "./draw";
import { countText, timeText } from "./format";
import { Row, heightOf, laneAt, rowAt } from "./rows";
import { HIT_BINS, Page } from "./state";

const NO_ROW = 0xffffffff;
const LABELS = 210;

export interface Hover { x: number; y: number; title: string; lines: string[] }

function sceneOf(page: Page, width: number, height: number): Scene {
  return {
    camera: page.camera, rows: page.rows, tiles: page.tiles, names: page.names, origin: page.info.start_ns,
    scroll: page.scroll, width, height, range: page.range, chosen: page.asChosen(page.chosen),
    linked: page.asChosen(page.chosen?.call ?? page.chosen?.operation),
    hits: page.hits && page.hitSpan &&
          { span: page.hitSpan, bins: HIT_BINS, lanes: new Map(page.hits.lanes.map((each) => [each.lane, each.bins])) },
  };
}

// Draws when it is told to, at most once a frame.
export class Painter {
  canvas?: HTMLCanvasElement;
  minimap?: HTMLCanvasElement;
  page?: Page;
  width = 0;
  height = 0;
  private asked = false;
  private colours?: Colours;

  redraw = (): void => {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      this.paint();
    });
  };
  recolour = (): void => {
    this.colours = undefined;
    this.redraw();
  };
  scene(): Scene | undefined {
    return this.page && this.width > 0 ? sceneOf(this.page, this.width, this.height) : undefined;
  }
  private paint(): void {
    const scene = this.scene();
    if (!scene || !this.page || !this.canvas || !this.minimap) return;
    this.colours ??= coloursOf(this.canvas);
    const shown = this.page.gpus.length > 0 ? this.page.tracks.filter((track) => track.kind === "gpu")
                                            : this.page.tracks.slice(0, 4);
    const overview = shown.map((track) => track.first_lane).slice(0, 16);
    const { whole } = this.page.camera;
    if (overview.length > 0) this.page.tiles.want(overviewLevel(whole), 0, overview);
    wantTiles(scene);
    draw(this.canvas, scene, this.colours);
    drawMinimap(this.minimap, scene, this.colours, overview, whole);
    const { dataset } = this.canvas;
    dataset.from = String(Math.round(scene.camera.from));
    dataset.to = String(Math.round(scene.camera.to));
    dataset.level = String(levelOf(scene.camera, scene.width));
    dataset.painted = String(Number(dataset.painted ?? 0) + 1);
  }
}

function hoverOf(box: Box, name: string | undefined, x: number, y: number): Hover {
  if (box.row === NO_ROW) return { x, y, title: "busy", lines: [timeText(box.duration)] };
  const lines = [`${timeText(box.duration)}, starts at ${timeText(box.start)}`];
  if (box.count > 1) lines.push(`the longest of ${countText(box.count)} here; zoom in to see each`);
  return { x, y, title: name ?? "", lines };
}

function Label({ page, row }: { page: Page; row: Row }) {
  return (
    <li role="treeitem" aria-level={row.level} aria-expanded={row.open} class={`label level${row.level}`}
        style={{ top: `${row.top}px`, height: `${row.height}px` }}>
      <button type="button" onClick={() => page.fold(row.key)} aria-expanded={row.open}>
        <span aria-hidden="true" class="turn">{row.open ? "▾" : "▸"}</span>{row.label}
      </button>
      <span class="note" title={row.note}>{row.note}</span>
      {row.hidden > 0 || row.wide
        ? <button type="button" class="more" onClick={() => page.widen(row.key)}>
            {row.wide ? "show fewer levels" : `${row.hidden} more level${row.hidden === 1 ? "" : "s"}`}
          </button> : null}
    </li>
  );
}

interface Drag { x: number; span: Span; pans: boolean; moved: boolean }

function usePointer(page: Page, painter: Painter, canvas: { current: HTMLCanvasElement | null }, setHover: (hover?: Hover) => void) {
  const drag = useRef<Drag | undefined>(undefined);
  const timeAt = (x: number): number => page.camera.from + x / painter.width * page.camera.length;
  const find = (x: number, y: number): Box | undefined => {
    const scene = painter.scene();
    const row = y > RULER ? rowAt(page.rows, y - RULER + page.scroll) : undefined;
    const lane = row && laneAt(row, y - RULER + page.scroll);
    return scene && lane !== undefined ? boxAt(scene, lane, x) : undefined;
  };
  const down = (event: PointerEvent): void => {
    if (event.button > 1) return;
    (event.target as Element).setPointerCapture(event.pointerId);
    const pans = event.shiftKey || event.button === 1 || event.offsetY < RULER;
    drag.current = { x: event.offsetX, span: { from: page.camera.from, to: page.camera.to }, pans, moved: false };
    setHover(undefined);
  };
  const move = (event: PointerEvent): void => {
    const held = drag.current;
    if (!held) {
      const box = find(event.offsetX, event.offsetY);
      setHover(box && hoverOf(box, page.names.find(box.name), event.offsetX, event.offsetY));
      return;
    }
    const distance = event.offsetX - held.x;
    if (Math.abs(distance) > 3) held.moved = true;
    if (!held.moved) return;
    if (held.pans) {
      const ns = distance / painter.width * (held.span.to - held.span.from);
      page.look((camera) => camera.show({ from: held.span.from - ns, to: held.span.to - ns }));
    } else {
      const ends = [timeAt(held.x), timeAt(event.offsetX)].sort((a, b) => a - b) as [number, number];
      page.select({ from: ends[0], to: ends[1] });
    }
  };
  const up = (event: PointerEvent): void => {
    const held = drag.current;
    drag.current = undefined;
    if (!held || held.moved) return;
    const box = find(event.offsetX, event.offsetY);
    const row = page.rows.find((each) => box && each.lanes.includes(box.lane));
    if (box && box.row !== NO_ROW && row?.track) {
      void page.choose(row.track.kind === "queue" ? "op" : "api", box.row);
    } else {
      page.chosen = undefined;
      page.select(undefined);
    }
  };
  useEffect(() => {
    const element = canvas.current!;
    const wheel = (event: WheelEvent): void => {
      const sideways = event.shiftKey ? event.deltaY : event.deltaX;
      const scroll = Math.max(0, Math.min(page.scroll + event.deltaY, heightOf(page.rows) - page.height));
      const isVertical = !event.ctrlKey && !event.metaKey && event.offsetY >= RULER &&
                         Math.abs(sideways) <= Math.abs(event.shiftKey ? 0 : event.deltaY);
      // At the end of the tracks the rest of the page moves.
      if (!isVertical || scroll !== page.scroll) event.preventDefault();
      if (event.ctrlKey || event.metaKey || event.offsetY < RULER) {
        const at = timeAt(event.offsetX);
        page.look((camera) => camera.zoom(Math.exp(Math.max(-200, Math.min(200, event.deltaY)) / 300), at));
      } else if (!isVertical) {
        page.look((camera) => camera.pan(sideways / painter.width * camera.length));
      } else {
        page.scroll = scroll;
        page.changed();
      }
    };
    element.addEventListener("wheel", wheel, { passive: false });
    return () => element.removeEventListener("wheel", wheel);
  }, [page]);
  return { down, move, up };
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

export function Timeline({ page, painter }: { page: Page; painter: Painter }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const labels = useRef<HTMLDivElement>(null);
  const [hover, setHover] = useState<Hover | undefined>();
  const { down, move, up } = usePointer(page, painter, canvas, setHover);
  useEffect(() => {
    painter.page = page;
    painter.canvas = canvas.current!;
    const fit = (): void => {
      painter.width = Math.max(50, box.current!.clientWidth - LABELS);
      painter.height = Math.max(60, box.current!.clientHeight);
      page.height = painter.height - RULER;
      page.changed();
    };
    const watch = new ResizeObserver(fit);
    watch.observe(box.current!);
    fit();
    return () => watch.disconnect();
  }, [page]);
  // The list scrolls, and the canvas with it.
  const scrolled = (top: number): void => {
    if (Math.abs(top - page.scroll) < 1) return;
    page.scroll = top;
    page.changed();
  };
  useLayoutEffect(() => {
    if (labels.current && Math.abs(labels.current.scrollTop - page.scroll) >= 1) labels.current.scrollTop = page.scroll;
  });
  const rows = page.rows.filter((row) => row.top + row.height > page.scroll && row.top < page.scroll + page.height);
  return (
    <section class="timeline" aria-label="Timeline">
      <div class="mini"><span class="minilabel">Whole trace, {timeText(page.info.end_ns - page.info.start_ns)}</span><Minimap page={page} painter={painter} /></div>
      <div class="lanes" ref={box}>
        <div class="labels" ref={labels} onScroll={(event) => scrolled(event.currentTarget.scrollTop)}>
          <ul role="tree" aria-label="Tracks" style={{ height: `${heightOf(page.rows)}px` }}>
            {rows.map((row) => <Label key={row.key} page={page} row={row} />)}
          </ul>
        </div>
        <canvas ref={canvas} class="canvas" tabIndex={0} role="application" id="timeline"
                aria-label="Timeline of the trace. W and S zoom, A and D move, arrow keys go from event to event, ? lists all keys."
                onPointerDown={down} onPointerMove={move} onPointerUp={up} onPointerLeave={() => setHover(undefined)}
                onDblClick={() => page.fit()} />
        {hover ? <div class="hover" role="presentation" style={{
          left: `${LABELS + Math.min(hover.x + 14, painter.width - 330)}px`,
          top: `${Math.min(hover.y + 16, painter.height - 70)}px` }}>
          <strong>{hover.title}</strong>{hover.lines.map((line) => <div>{line}</div>)}
        </div> : null}
      </div>
    </section>
  );
}
