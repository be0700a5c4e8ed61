// What the mouse does on the timeline: select by dragging, move, zoom, measure, show what is under it.
import { useEffect, useRef } from "preact/hooks";
import { countText, timeText, valueText, wordsOf } from "./format";
import { Span } from "./camera";
import { lookOf } from "./colours";
import { Box, boxAt, edgeNear } from "./draw";
import { counterAt } from "./marks";
import { choose, chooseOfLayer } from "./moves";
import { Row, heightOf, laneAt } from "./rows";
import type { Painter } from "./painter";
import { NO_ROW, Placed, Scene, headOf, placedRows } from "./scene";
import type { Page } from "./state";

export interface Hover { x: number; y: number; title: string; lines: string[] }

interface Drag { x: number; y: number; span: Span; kind: "select" | "move" | "measure"; moved: boolean; from: number }

const SNAP = 6;  // pixels to the start or end of an event, where the measure takes that

function placedAt(scene: Scene, y: number): Placed | undefined {
  const { pinned, free, from } = placedRows(scene);
  const inside = ({ row, top }: Placed): boolean => y >= top && y < top + row.height;
  return y < headOf(scene) ? undefined : y < from ? pinned.find(inside) : free.find(inside);
}

function hoverOfBox(scene: Scene, page: Page, box: Box, x: number, y: number): Hover {
  const times = `${timeText(box.duration)}, starts at ${timeText(box.start)}`;
  if (box.source === "") {
    if (box.row === NO_ROW) return { x, y, title: "busy", lines: [timeText(box.duration)] };
    const lines = [times];
    if (box.count > 1) lines.push(`the longest of ${countText(box.count)} here; zoom in to see each`);
    return { x, y, title: page.names.find(box.name) ?? "", lines };
  }
  const name = scene.classes[box.source][box.name] ?? "";
  const lines = [lookOf(name).what, times].filter((line) => line !== "");
  lines.push(box.count > 1 ? `the longest of ${countText(box.count)} here; click for its evidence` : box.source === "samples" ? "click for its line" : "click for the evidence");
  return { x, y, title: box.source === "samples" ? name : (box.source === "idle" ? "GPU idle: " : "critical path: ") + wordsOf(name), lines };
}

function hoverOfCounter(scene: Scene, row: Row, time: number, x: number, y: number): Hover | undefined {
  const counter = row.counter!;
  const value = counterAt(scene, counter.counter, time);
  if (!value) return undefined;
  const least = valueText(value.min, counter.unit), most = valueText(value.max, counter.unit);
  return { x, y, title: counter.title, lines: [least === most ? least : `${least} to ${most}`] };
}

export function usePointer(page: Page, painter: Painter, canvas: { current: HTMLCanvasElement | null }, setHover: (hover?: Hover) => void) {
  const drag = useRef<Drag | undefined>(undefined);
  const timeAt = (x: number): number => page.camera.from + x / painter.width * page.camera.length;
  const boxOf = (x: number, y: number): Box | undefined => {
    const scene = painter.scene();
    const placed = scene && placedAt(scene, y);
    const lane = placed && laneAt(placed.row, y - placed.top);
    return scene && placed && lane !== undefined ? boxAt(scene, placed.row.source, lane, x) : undefined;
  };
  const snapped = (x: number, y: number): number => {
    const scene = painter.scene();
    const placed = scene && placedAt(scene, y);
    const lane = placed && laneAt(placed.row, y - placed.top);
    return (lane === undefined ? undefined : edgeNear(scene!, placed!.row.source, lane, x, SNAP)) ?? timeAt(x);
  };
  const hoverAt = (x: number, y: number): Hover | undefined => {
    const scene = painter.scene();
    const placed = scene && placedAt(scene, y);
    if (scene && placed?.row.counter) return hoverOfCounter(scene, placed.row, timeAt(x), x, y);
    const box = boxOf(x, y);
    return scene && box && hoverOfBox(scene, page, box, x, y);
  };
  const down = (event: PointerEvent): void => {
    if (event.button > 1) return;
    (event.target as Element).setPointerCapture(event.pointerId);
    const { offsetX: x, offsetY: y } = event;
    const kind = event.altKey ? "measure" : event.shiftKey || event.button === 1 || y < headOf(page) ? "move" : "select";
    drag.current = { x, y, span: { from: page.camera.from, to: page.camera.to }, kind, moved: false, from: kind === "measure" ? snapped(x, y) : timeAt(x) };
    setHover(undefined);
  };
  const move = (event: PointerEvent): void => {
    const { offsetX: x, offsetY: y } = event;
    page.pointer = timeAt(x);
    const held = drag.current;
    if (!held) {
      setHover(hoverAt(x, y));
      painter.redraw();
      return;
    }
    if (Math.abs(x - held.x) > 3) held.moved = true;
    if (!held.moved) return;
    if (held.kind === "move") {
      const ns = (x - held.x) / painter.width * (held.span.to - held.span.from);
      page.look((camera) => camera.show({ from: held.span.from - ns, to: held.span.to - ns }));
    } else if (held.kind === "measure") {
      page.measure = { from: held.from, to: snapped(x, y), y: held.y };
      page.say(`measured ${timeText(Math.abs(page.measure.to - held.from))}`);
      painter.redraw();
    } else {
      const ends = [held.from, timeAt(x)].sort((a, b) => a - b) as [number, number];
      page.select({ from: ends[0], to: ends[1] });
    }
  };
  const up = (event: PointerEvent): void => {
    const held = drag.current;
    drag.current = undefined;
    if (!held || held.moved) return;
    page.measure = undefined;
    const { offsetX: x, offsetY: y } = event;
    const step = y < headOf(page) && page.steps.find((each) => held.from >= each.start_ns && held.from < each.end_ns);
    if (step) return page.select({ from: step.start_ns, to: step.end_ns });
    const box = boxOf(x, y);
    if (box && box.row !== NO_ROW) {
      if (box.source !== "") void chooseOfLayer(page, box.source, box.lane, box.row);
      else void choose(page, isOperation(page, box.lane) ? "op" : "api", box.row);
    } else {
      page.clear();
    }
  };
  const leave = (): void => {
    page.pointer = undefined;
    setHover(undefined);
    painter.redraw();
  };
  useWheel(page, painter, canvas, timeAt);
  return { down, move, up, leave };
}

function isOperation(page: Page, lane: number): boolean {
  return page.tracks.some((track) => track.kind !== "thread" && lane >= track.first_lane && lane < track.first_lane + track.lanes);
}

function useWheel(page: Page, painter: Painter, canvas: { current: HTMLCanvasElement | null }, timeAt: (x: number) => number): void {
  useEffect(() => {
    const element = canvas.current!;
    const wheel = (event: WheelEvent): void => {
      const sideways = event.shiftKey ? event.deltaY : event.deltaX;
      const scroll = Math.max(0, Math.min(page.scroll + event.deltaY, heightOf(page.rows) - page.room));
      const zooms = event.ctrlKey || event.metaKey || event.offsetY < headOf(page);
      const isVertical = !zooms && Math.abs(sideways) <= Math.abs(event.shiftKey ? 0 : event.deltaY);
      // At the end of the tracks the rest of the page moves.
      if (!isVertical || scroll !== page.scroll) event.preventDefault();
      if (zooms) {
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
}
