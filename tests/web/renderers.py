#!/usr/bin/python3
"""Whether WebGL2 would draw the timeline faster than a canvas in 2D: rectangles of a few pixels, as a lane has them, in Chromium
without a GPU, by fillRect and by one call for all with instances. Text and patterns are not drawn by either.

renderers.py [--frames N]. Prints a line for each size, number of rectangles and renderer, each twice in turn: the time between
frames and of the script in a frame, least and median. A measurement, not a test: say how busy the machine was.
"""

import argparse
import pathlib
import sys
import tempfile

from browser import Browser, missing

CASES = ((1920, 1080, 10_000), (1920, 1080, 40_000), (3840, 2160, 10_000), (3840, 2160, 40_000))

PAGE = """<!doctype html><html lang="en"><title>renderers</title><body><script>
const FILLS = ["#8ec7f0", "#f2b25c", "#6fcdb0", "#f3e37c", "#b9a5e8", "#f19a8f", "#a8d66b", "#d8b08c", "#86d3d9", "#e7a3cf"];
const RGB = FILLS.map((fill) => [1, 3, 5].map((at) => parseInt(fill.slice(at, at + 2), 16)));
const alphaOf = (box) => 0.3 + 0.07 * box.fill;

function flat(canvas) {
  const context = canvas.getContext("2d");
  return (boxes) => {
    context.globalAlpha = 1;
    context.fillStyle = "#fff";
    context.fillRect(0, 0, canvas.width, canvas.height);
    for (const box of boxes) {
      context.globalAlpha = alphaOf(box);
      context.fillStyle = FILLS[box.fill];
      context.fillRect(Math.floor(box.x), box.y, box.width, 16);
    }
  };
}

function webgl(canvas) {
  const gl = canvas.getContext("webgl2", { antialias: false, alpha: false });
  if (!gl) return undefined;
  const program = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, `#version 300 es
      layout(location = 0) in vec4 box; layout(location = 1) in vec4 colour; uniform vec2 size; out vec4 shown;
      void main() {
        vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1), at = (box.xy + corner * box.zw) / size * 2.0 - 1.0;
        gl_Position = vec4(at.x, -at.y, 0, 1); shown = colour;
      }`], [gl.FRAGMENT_SHADER, `#version 300 es
      precision mediump float; in vec4 shown; out vec4 pixel; void main() { pixel = shown; }`]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  gl.useProgram(program);
  gl.uniform2f(gl.getUniformLocation(program, "size"), canvas.width, canvas.height);
  gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
  gl.vertexAttribPointer(0, 4, gl.FLOAT, false, 20, 0);
  gl.vertexAttribPointer(1, 4, gl.UNSIGNED_BYTE, true, 20, 16);
  for (const at of [0, 1]) { gl.enableVertexAttribArray(at); gl.vertexAttribDivisor(at, 1); }
  gl.enable(gl.BLEND);
  gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
  gl.clearColor(1, 1, 1, 1);
  return (boxes) => {
    const buffer = new ArrayBuffer(20 * boxes.length), places = new Float32Array(buffer), bytes = new Uint8Array(buffer);
    boxes.forEach((box, i) => {
      places.set([Math.floor(box.x), box.y, box.width, 16], 5 * i);
      bytes.set([...RGB[box.fill], 255 * alphaOf(box)], 20 * i + 16);
    });
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.bufferData(gl.ARRAY_BUFFER, bytes, gl.STREAM_DRAW);
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, boxes.length);
  };
}

function measure(kind, width, height, count, frames, done) {
  const canvas = Object.assign(document.createElement("canvas"), { width, height });
  document.body.replaceChildren(canvas);
  const draw = kind === "2d" ? flat(canvas) : webgl(canvas);
  if (!draw) return done(null);
  const lanes = Math.floor(height / 18) - 2;
  const boxes = Array.from({ length: count }, (_, i) => ({ x: i * 7919 % width, y: 18 * (i % lanes) + 30, width: 1 + i % 3, fill: i % 10 }));
  const between = [], scripts = [];
  let last;
  const step = (now) => {
    if (last !== undefined) between.push(now - last);
    last = now;
    if (between.length >= frames) return done({ between, scripts });
    for (const box of boxes) box.x = (box.x + 3) % width;
    const begin = performance.now();
    draw(boxes);
    scripts.push(performance.now() - begin);
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
}
</script></body></html>
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=30)
    options = parser.parse_args()
    if missing():
        print(f"skip: no {missing()}")
        return 77
    with tempfile.TemporaryDirectory(prefix="sonde-renderers-") as folder:
        page = pathlib.Path(folder) / "page.html"
        page.write_text(PAGE)
        with Browser(folder, width=3840, height=2160) as browser:
            browser.driver.get(page.as_uri())
            for width, height, count in CASES:
                for kind in ("2d", "webgl2") * 2:
                    taken = browser.driver.execute_async_script("measure(...arguments)", kind, width, height, count, options.frames)
                    if taken is None:
                        print(f"{width}x{height} {count} {kind}: no such context")
                        continue
                    figures = [f"{name} least {min(taken[key]):.1f}, median {sorted(taken[key])[len(taken[key]) // 2]:.1f} ms"
                               for name, key in (("frame", "between"), ("script", "scripts"))]
                    print(f"{width}x{height} {count} {kind}: {'; '.join(figures)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
