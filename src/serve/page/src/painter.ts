// Draws the timeline and its minimap when it is told to, and chooses by what.
import type { Renderer } from "./address";
import { boxAt, draw, wantTiles } from "./draw";
import { drawMinimap } from "./marks";
import { chooseOfLayer } from "./moves";
import { Colours, Scene, coloursOf, levelOf, overviewLevel } from "./scene";
import { HIT_BINS, Page } from "./state";
import { WebglRects, openWebgl } from "./webgl";

function sceneOf(page: Page, width: number, height: number): Scene {
  return {
    camera: page.camera, pinned: page.pinnedRows, free: page.rows, tiles: page.tiles, counters: page.counters, names: page.names,
    classes: { "": [], "idle": page.layers.idle?.classes ?? [], "critical-path": page.layers["critical-path"]?.classes ?? [], "samples": page.layers.samples?.classes ?? [] },
    steps: page.steps, notes: page.notes.notes, origin: page.info.start_ns, scroll: page.scroll, width, height,
    range: page.range, chosen: page.outlined, linked: page.linked, measure: page.measure, pointer: page.pointer,
    hits: page.hits && page.hitSpan &&
          { span: page.hitSpan, bins: HIT_BINS, lanes: new Map(page.hits.lanes.map((each) => [each.lane, each.bins])) },
  };
}

// Draws when it is told to, at most once a frame.
export class Painter {
  canvas?: HTMLCanvasElement;
  below?: HTMLElement;  // where a canvas for WebGL2 is put
  minimap?: HTMLCanvasElement;
  page?: Page;
  width = 0;
  height = 0;
  private asked = false;
  private colours?: Colours;
  private webgl?: WebglRects;
  private renderer?: Renderer;  // as was wished when it was chosen; undefined: to be chosen

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
  close(): void {
    this.webgl?.close();
    this.webgl = this.renderer = undefined;
  }
  // What takes the rectangles, as the address says, or else WebGL2 where a GPU draws. One that is lost is not tried again as long as the
  // timeline is there.
  private choose(page: Page): WebglRects | undefined {
    if (this.renderer === page.renderer) return this.webgl;
    this.close();
    this.renderer = page.renderer;
    const made = page.renderer === "canvas" ? undefined : openWebgl(page.renderer === "webgl2");
    made?.canvas.addEventListener("webglcontextlost", () => {
      if (this.webgl !== made) return;
      this.webgl = undefined;
      made.canvas.remove();
      this.redraw();
    });
    if (made) this.below?.replaceChildren(made.canvas);
    return this.webgl = made;
  }
  // The gap that a finding is about, as soon as its tile is there.
  private seek(page: Page, scene: Scene): void {
    const { seeks } = page;
    const track = page.layers.idle?.tracks.find((each) => each.owner === seeks?.gpu);
    if (!seeks || !track) return;
    const x = (seeks.time - scene.camera.from) / scene.camera.length * scene.width;
    const box = boxAt(scene, "idle", track.first_lane, x);
    if (!box || box.start > seeks.time || box.start + box.duration < seeks.time) return;
    page.seeks = undefined;
    void chooseOfLayer(page, "idle", box.lane, box.row);
  }
  private paint(): void {
    const scene = this.scene();
    const { page, canvas, minimap } = this;
    if (!scene || !page || !canvas?.isConnected || !minimap) return;
    const begin = performance.now();
    this.colours ??= coloursOf(canvas);
    const shown = page.gpus.length > 0 ? page.tracks.filter((track) => track.kind === "gpu") : page.tracks.slice(0, 4);
    const overview = shown.map((track) => track.first_lane).slice(0, 16);
    const idle = shown.flatMap((track) => page.layers.idle?.tracks.find((each) => each.owner === track.owner)?.first_lane ?? []).slice(0, 16);
    const { whole } = page.camera;
    if (overview.length > 0) page.tiles[""].want(overviewLevel(whole), 0, overview);
    if (idle.length > 0) page.tiles.idle.want(overviewLevel(whole), 0, idle);
    wantTiles(scene);
    const below = this.choose(page);
    draw(canvas, scene, this.colours, below);
    this.seek(page, scene);
    drawMinimap(minimap, scene, this.colours, overview, idle, whole);
    const { dataset } = canvas;
    dataset.renderer = below ? "webgl2" : "canvas";
    dataset.from = String(Math.round(scene.camera.from));
    dataset.to = String(Math.round(scene.camera.to));
    dataset.level = String(levelOf(scene.camera, scene.width));
    dataset.painted = String(Number(dataset.painted ?? 0) + 1);
    dataset.script = String(Math.round((Number(dataset.script ?? 0) + performance.now() - begin) * 1000) / 1000);  // ms of all frames
  }
}
