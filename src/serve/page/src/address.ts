// The view in the URL behind #, so that it can be reloaded, gone back to and shared: page, part of time, selection.
import type { Camera, Span } from "./camera";

// What of the page stands there. `renderer`: what draws the timeline, if it is not to be chosen by what is there.
export type Renderer = "webgl2" | "canvas" | "";
interface View {
  trace: number; route: string; camera: Camera; range?: Span; gpu: string; tab: string; tabChosen: boolean; renderer: Renderer;
  tracks: readonly unknown[];
}

let timer: ReturnType<typeof setTimeout> | undefined;

function addressOf(page: View): string {
  const words = new URLSearchParams();
  if (page.trace !== 0) words.set("trace", String(page.trace));
  const { camera, range } = page;
  if (camera.from > camera.whole.from || camera.to < camera.whole.to) words.set("view", `${Math.round(camera.from)}-${Math.round(camera.to)}`);
  if (range) words.set("select", `${range.from}-${range.to}`);
  if (page.gpu !== "") words.set("gpu", page.gpu);
  if (page.tabChosen) words.set("tab", page.tab);
  if (page.renderer !== "") words.set("renderer", page.renderer);
  const text = words.toString();
  return `#/${page.route === "timeline" ? "" : page.route}${text ? `?${text}` : ""}`;
}

// `isNew`: another page, to which "back" leads; else the entry that is there is changed, and not for every pixel.
export function writeAddress(page: View, isNew = false): void {
  clearTimeout(timer);
  if (isNew) {
    history.pushState(null, "", addressOf(page));
    return;
  }
  if (page.tracks.length === 0) return;  // not read yet
  timer = setTimeout(() => {
    if (location.hash !== addressOf(page)) history.replaceState(null, "", addressOf(page));
  }, 300);
}

function wordsOf(): [string, URLSearchParams] {
  const [route, words] = location.hash.replace(/^#\/?/, "").split("?", 2);
  return [route || "timeline", new URLSearchParams(words ?? "")];
}

export function routeOf(): string { return wordsOf()[0]; }
export function traceOf(): number { return Number(wordsOf()[1].get("trace") ?? 0) || 0; }

export function rendererOf(): Renderer {
  const name = wordsOf()[1].get("renderer");
  return name === "webgl2" || name === "canvas" ? name : "";
}

function spanOf(text: string | null): Span | undefined {
  const found = /^(\d{1,18})-(\d{1,18})$/.exec(text ?? "");
  return found && Number(found[1]) < Number(found[2]) ? { from: Number(found[1]), to: Number(found[2]) } : undefined;
}

export function readAddress(page: View): void {
  const [route, words] = wordsOf();
  page.route = route;
  page.renderer = rendererOf() || page.renderer;  // links to other pages do not say it again
  const view = spanOf(words.get("view"));
  page.camera.show(view ?? page.camera.whole);
  const range = spanOf(words.get("select"));
  const { whole } = page.camera;
  page.range = range && range.from < whole.to && range.to > whole.from
    ? { from: Math.max(range.from, whole.from), to: Math.min(range.to, whole.to) } : undefined;
  const gpu = words.get("gpu") ?? "";
  page.gpu = /^\d{1,9}$/.test(gpu) ? gpu : "";
  const tab = words.get("tab");
  if (tab && /^[a-z-]{1,30}$/.test(tab)) [page.tab, page.tabChosen] = [tab, true];
}
