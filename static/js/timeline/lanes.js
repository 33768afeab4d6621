// The job's lanes. Of a lane with thousands of phases the first answer holds heaps of them; where somebody zooms in, the
// phases in sight are asked for: `fine` holds them, {start, end, pixel, spans}, and the heaps stay for the view from far.

const ROOM = 1; // screens before and after the range in sight that are asked for with it
const COARSE = 1.9; // times the pixel of now: what was told for a larger pixel is asked for again
const REST = 80; // milliseconds after the last zoom or move
const AGAIN = 3000; // milliseconds after an answer that failed

const fits = (fine, range, pixel) => fine !== null && fine.start <= range.start && fine.end >= range.end && fine.pixel <= pixel * COARSE;

// The spans to be drawn of a range, where a pixel covers so many seconds.
export function spansFor(model, range, pixel) {
  return fits(model.fine, range, pixel) && model.lanePixel > model.fine.pixel ? model.fine.spans : model.spans;
}

// Whether finer ones must be asked for. `horizon`: nothing is behind it.
export function needsFiner(model, range, pixel, horizon) {
  if (model.lanePixel <= pixel * COARSE) return false;
  return !fits(model.fine, { start: range.start, end: Math.min(range.end, horizon) }, pixel);
}

export class LaneLoader {
  // `fetchSpans({start, end, width})` resolves to a payload; `take(payload)` merges it.
  constructor(model, { fetchSpans, take, later = setTimeout }) {
    this.model = model;
    this.fetchSpans = fetchSpans;
    this.take = take;
    this.later = (run, milliseconds) => later(run, milliseconds);
    this.wanted = null;
    this.asking = false;
  }

  want(range, width, pixel, horizon) {
    if (!needsFiner(this.model, range, pixel, horizon)) return;
    this.wanted = { range, width, pixel, horizon };
    if (this.asking) return;
    this.asking = true;
    this.later(() => this.#ask(), REST);
  }

  async #ask() {
    const { range, width, pixel, horizon } = this.wanted;
    const span = range.end - range.start;
    let pause = 0;
    try {
      const wide = { start: range.start - ROOM * span, end: range.end + ROOM * span, width: Math.round(width * (1 + 2 * ROOM)) };
      if (needsFiner(this.model, range, pixel, horizon)) this.take(await this.fetchSpans(wide));
    } catch {
      pause = AGAIN;
    }
    this.later(() => {
      this.asking = false;
      const { wanted } = this;
      this.want(wanted.range, wanted.width, wanted.pixel, wanted.horizon);
    }, pause);
  }
}
