// The one owner of requestAnimationFrame: any number of requests make one frame; a wake-up keeps running bars growing.

export class Frames {
  // `draw()` returns after how many seconds it wants to be called again by itself, or null.
  constructor(draw, { request = requestAnimationFrame, later = setTimeout, cancel = clearTimeout } = {}) {
    this.draw = draw;
    this.requestFrame = (run) => request(run);
    this.later = (run, milliseconds) => later(run, milliseconds);
    this.cancelLater = (handle) => cancel(handle);
    this.pending = false;
    this.timer = null;
  }

  request() {
    if (this.pending) return;
    this.pending = true;
    this.requestFrame(() => this.#frame());
  }

  #frame() {
    this.pending = false;
    if (this.timer !== null) this.cancelLater(this.timer);
    this.timer = null;
    const again = this.draw();
    if (again === null || again === undefined) return;
    this.timer = this.later(() => this.request(), Math.max(16, again * 1000));
  }
}
