// The part of time that is looked at, in ns from the start of the trace.

export interface Span { from: number; to: number }

const LEAST_NS = 20;

export class Camera {
  from: number;
  to: number;
  constructor(public whole: Span) {
    this.from = whole.from;
    this.to = whole.to;
  }
  // The trace has grown; a view of all of it stays one.
  grow(whole: Span): void {
    const all = this.from <= this.whole.from && this.to >= this.whole.to;
    this.whole = whole;
    if (all) this.show(whole);
  }
  get length(): number { return this.to - this.from; }
  show(span: Span): void {
    const all = this.whole.to - this.whole.from;
    const length = Math.min(Math.max(span.to - span.from, LEAST_NS), all);
    const middle = (span.from + span.to) / 2;
    this.from = Math.min(Math.max(middle - length / 2, this.whole.from), this.whole.to - length);
    this.to = this.from + length;
  }
  // The moment `at` stays where it is.
  zoom(factor: number, at: number): void {
    const all = this.whole.to - this.whole.from;
    const length = Math.min(Math.max(this.length * factor, LEAST_NS), all);
    const share = (at - this.from) / this.length;
    const from = at - share * length;
    this.show({ from, to: from + length });
  }
  pan(ns: number): void { this.show({ from: this.from + ns, to: this.to + ns }); }
  // So that something can be seen: moves only if it is outside, or too small to be seen.
  reveal(span: Span): void {
    const length = span.to - span.from;
    const inside = span.from >= this.from && span.to <= this.to;
    if (inside && length > this.length / 400) return;
    const wanted = length > this.length / 400 ? Math.max(this.length, length * 1.5) : Math.max(length * 20, LEAST_NS);
    const middle = (span.from + span.to) / 2;
    this.show({ from: middle - wanted / 2, to: middle + wanted / 2 });
  }
}

// Distances of ticks: 1, 2, 5 times a power of ten, at least `least` ns.
export function tickOf(least: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  for (const times of [1, 2, 5, 10]) {
    if (power * times >= least) return power * times;
  }
  return power * 10;
}
