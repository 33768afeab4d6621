// Asks for the rows of a large job as they come into sight: one request at a time, a moment after the scrolling rests.

import { missing } from "./model.js";

const REST = 60; // milliseconds

export class RowLoader {
  // `fetchRows(keys, {start, end, width})` resolves to a payload; `take(payload)` merges it; `failed()` is told of errors.
  constructor(model, { fetchRows, take, later = setTimeout }) {
    this.model = model;
    this.fetchRows = fetchRows;
    this.take = take;
    this.later = (run, milliseconds) => later(run, milliseconds);
    this.waiting = null; // what was in sight last
    this.busy = false;
    this.timer = null;
  }

  // `keys`: rows in sight and near it, the most urgent first; `pixel`: seconds that one covers.
  want(keys, range, pixel) {
    if (missing(this.model, keys, pixel, 1).length === 0) return;
    this.waiting = { keys, range, pixel };
    this.#schedule();
  }

  #schedule(delay = REST) {
    if (this.busy || this.timer !== null) return;
    this.timer = this.later(() => this.#ask(), delay);
  }

  async #ask() {
    this.timer = null;
    const { keys, range, pixel } = this.waiting;
    const wanted = missing(this.model, keys, pixel);
    if (!wanted.length) return;
    this.busy = true;
    for (const key of wanted) this.model.loading.add(key);
    let again = 0;
    try {
      this.take(await this.fetchRows(wanted, range));
    } catch {
      again = 3000;
    }
    for (const key of wanted) this.model.loading.delete(key);
    this.busy = false;
    if (again || missing(this.model, this.waiting.keys, this.waiting.pixel, 1).length) this.#schedule(again || REST);
  }
}
