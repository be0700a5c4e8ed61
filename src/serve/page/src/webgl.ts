// The rectangles of the timeline by WebGL2, one call for all of a picture: where a GPU draws, more of them fit in a frame than by
// fillRect. Edges within a pixel are blended by how much of it they cover, as a canvas in 2D does.
import { Look, PATTERNS, STRIPES, drawPattern } from "./colours";
import type { Rects } from "./rects";

const WORDS = 6;  // of a rectangle: left, top, right, bottom in pixels of the screen; colour; pattern
const SOFTWARE = /swiftshader|llvmpipe|softpipe|basic render|software/i;

const VERTEX = `#version 300 es
layout(location = 0) in vec4 place;
layout(location = 1) in vec4 fill;
layout(location = 2) in float kind;
uniform vec2 size;
flat out vec4 edges;
flat out vec4 colour;
flat out float pattern;
void main() {
  vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1);
  vec2 at = mix(floor(place.xy), ceil(place.zw), corner) / size * 2.0 - 1.0;
  gl_Position = vec4(at.x, -at.y, 0, 1);
  edges = place;
  colour = fill;
  pattern = kind;
}`;

const FRAGMENT = `#version 300 es
precision highp float;
precision highp sampler2DArray;
flat in vec4 edges;
flat in vec4 colour;
flat in float pattern;
uniform vec2 size;
uniform float ratio;
uniform sampler2DArray patterns;
out vec4 pixel;
void main() {
  vec2 at = vec2(gl_FragCoord.x, size.y - gl_FragCoord.y);
  vec2 covered = clamp(min(edges.zw, at + 0.5) - max(edges.xy, at - 0.5), 0.0, 1.0);
  float stripe = texture(patterns, vec3(at / ratio / 8.0, pattern)).a;
  pixel = vec4(mix(colour.rgb, vec3(STRIPES), stripe), colour.a * covered.x * covered.y);
}`;

export class WebglRects implements Rects {
  top = 0;
  private count = 0;
  private places = new Float32Array(WORDS * 4096);
  private colours = new Uint32Array(this.places.buffer);
  private ratio = 1;
  private readonly size; private readonly scale;
  private readonly known = new Map<string, number>();

  constructor(readonly canvas: HTMLCanvasElement, private readonly gl: WebGL2RenderingContext, program: WebGLProgram) {
    gl.useProgram(program);
    this.size = gl.getUniformLocation(program, "size");
    this.scale = gl.getUniformLocation(program, "ratio");
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.vertexAttribPointer(0, 4, gl.FLOAT, false, 4 * WORDS, 0);
    gl.vertexAttribPointer(1, 4, gl.UNSIGNED_BYTE, true, 4 * WORDS, 16);
    gl.vertexAttribPointer(2, 1, gl.FLOAT, false, 4 * WORDS, 20);
    for (const at of [0, 1, 2]) {
      gl.enableVertexAttribArray(at);
      gl.vertexAttribDivisor(at, 1);
    }
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    gl.bindTexture(gl.TEXTURE_2D_ARRAY, gl.createTexture());
    gl.texStorage3D(gl.TEXTURE_2D_ARRAY, 1, gl.RGBA8, 8, 8, PATTERNS.length);
    PATTERNS.forEach((pattern, i) => gl.texSubImage3D(gl.TEXTURE_2D_ARRAY, 0, 0, 0, i, 8, 8, 1, gl.RGBA, gl.UNSIGNED_BYTE, drawPattern(pattern)));
    gl.texParameteri(gl.TEXTURE_2D_ARRAY, gl.TEXTURE_MIN_FILTER, gl.LINEAR);
  }

  begin(width: number, height: number): void {
    const { canvas, gl } = this;
    this.ratio = window.devicePixelRatio || 1;
    const wide = Math.round(width * this.ratio), high = Math.round(height * this.ratio);
    if (canvas.width !== wide || canvas.height !== high) [canvas.width, canvas.height] = [wide, high];
    gl.viewport(0, 0, wide, high);
    gl.uniform2f(this.size, wide, high);
    gl.uniform1f(this.scale, this.ratio);
    this.count = this.top = 0;
  }

  fill(paint: string | Look, x: number, y: number, width: number, height: number, alpha = 1): void {
    const { ratio } = this;
    const top = Math.max(y, this.top);
    if (top >= y + height) return;
    const at = WORDS * this.count++;
    if (at === this.places.length) {
      const more = new Float32Array(2 * at);
      more.set(this.places);
      this.places = more;
      this.colours = new Uint32Array(more.buffer);
    }
    this.places[at] = x * ratio;
    this.places[at + 1] = top * ratio;
    this.places[at + 2] = (x + width) * ratio;
    this.places[at + 3] = (y + height) * ratio;
    const colour = this.colourOf(typeof paint === "string" ? paint : paint.fill);
    this.colours[at + 4] = (colour & 0xffffff | Math.round((colour >>> 24) * alpha) << 24) >>> 0;
    this.places[at + 5] = typeof paint === "string" ? 0 : PATTERNS.indexOf(paint.pattern);
  }

  end(): void {
    const { gl } = this;
    gl.bufferData(gl.ARRAY_BUFFER, this.places.subarray(0, WORDS * this.count), gl.STREAM_DRAW);
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, this.count);
  }

  close(): void {
    this.canvas.remove();
    this.gl.getExtension("WEBGL_lose_context")?.loseContext();  // a browser keeps few of them
  }

  // Red in the lowest byte, as they lie in memory. A canvas knows all ways to write a colour.
  private colourOf(text: string): number {
    let colour = this.known.get(text);
    if (colour === undefined) {
      const dot = document.createElement("canvas").getContext("2d")!;
      dot.fillStyle = text;
      dot.fillRect(0, 0, 1, 1);
      const [red, green, blue, alpha] = dot.getImageData(0, 0, 1, 1).data;
      colour = (red! | green! << 8 | blue! << 16 | alpha! << 24) >>> 0;
      this.known.set(text, colour);
    }
    return colour;
  }
}

function programOf(gl: WebGL2RenderingContext): WebGLProgram | undefined {
  const program = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT.replace("STRIPES", STRIPES.map((part) => (part / 255).toFixed(4)).join())]] as const) {
    const shader = gl.createShader(kind);
    if (!shader) return undefined;
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  return gl.getProgramParameter(program, gl.LINK_STATUS) ? program : undefined;
}

// undefined: there is none, or, unless `always`, it would be drawn by the CPU, which a canvas in 2D does faster.
export function openWebgl(always: boolean): WebglRects | undefined {
  const canvas = document.createElement("canvas");
  const gl = canvas.getContext("webgl2", { alpha: false, antialias: false, depth: false, failIfMajorPerformanceCaveat: !always });
  if (!gl) return undefined;
  const about = gl.getExtension("WEBGL_debug_renderer_info");
  const isSoftware = SOFTWARE.test(String(gl.getParameter(about ? about.UNMASKED_RENDERER_WEBGL : gl.RENDERER)));
  const program = isSoftware && !always ? undefined : programOf(gl);
  if (program) return new WebglRects(canvas, gl, program);
  gl.getExtension("WEBGL_lose_context")?.loseContext();
  return undefined;
}
