// Where the rectangles of a picture go: most of what is drawn. A canvas in 2D takes them, and so does webgl.ts, on one that lies below it.
import { Look, paintOf } from "./colours";

export interface Rects {
  begin(width: number, height: number): void;
  top: number;  // nothing is drawn above it
  fill(paint: string | Look, x: number, y: number, width: number, height: number, alpha?: number): void;
  end(): void;
}

// On the canvas that letters and lines are drawn on, too; who draws has clipped it.
export class FlatRects implements Rects {
  top = 0;
  constructor(private readonly context: CanvasRenderingContext2D) {}
  begin(): void {}
  fill(paint: string | Look, x: number, y: number, width: number, height: number, alpha = 1): void {
    const { context } = this;
    if (alpha !== 1) context.globalAlpha = alpha;
    context.fillStyle = typeof paint === "string" ? paint : paintOf(context, paint);
    context.fillRect(x, y, width, height);
    if (alpha !== 1) context.globalAlpha = 1;
  }
  end(): void {}
}
