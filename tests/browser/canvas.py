"""What a canvas shows, for tests: its texts, and the colours of its pixels."""

from typing import Any

CANVAS = "[data-scroll] canvas"

# Notes what is written since the canvas was last cleared. Pages must be opened after it was added.
NOTE_TEXTS = """
const context = CanvasRenderingContext2D.prototype;
for (const [name, note] of [
  ["clearRect", (pen) => (pen.noted = [])],
  ["fillText", (pen, [text, x, y]) => (pen.noted ??= []).push({ text: String(text), x, y })],
]) {
  const own = context[name];
  context[name] = function (...values) {
    note(this, values);
    return own.apply(this, values);
  };
}
"""
DRAWN = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
RUNS = """([kind, colour]) => {
  const timeline = window.restartscope.timeline;
  const canvas = timeline.canvas;
  const row = timeline.layout.rows.find((one) => one.kind === kind);
  const density = devicePixelRatio || 1;
  const y = Math.round((26 + row.top + row.height - 2 - timeline.scroller.scrollTop) * density);
  const own = document.createElement("canvas").getContext("2d");
  own.fillStyle = timeline.palette[colour];
  own.fillRect(0, 0, 1, 1);
  const wanted = own.getImageData(0, 0, 1, 1).data;
  const row_of = canvas.getContext("2d").getImageData(0, y, canvas.width, 1).data;
  const runs = [];
  for (let x = 0; x < canvas.width; x += 1) {
    const same = [0, 1, 2].every((n) => Math.abs(row_of[4 * x + n] - wanted[n]) < 6);
    if (!same) continue;
    const last = runs[runs.length - 1];
    if (last && last.left + last.width === x) last.width += 1;
    else runs.push({ left: x, width: 1 });
  }
  return runs.map((run) => ({ left: run.left / density, width: run.width / density }));
}"""


def drawn(page: Any) -> None:
    """Wait until what was asked for so far is on the canvas."""
    page.evaluate(DRAWN)


def texts(page: Any) -> list[str]:
    """What is written on the timeline, without its marks of direction; the page was opened with NOTE_TEXTS."""
    drawn(page)
    found = page.evaluate(f"document.querySelector('{CANVAS}').getContext('2d').noted.map((one) => one.text)")
    return [text.replace("\u2068", "").replace("\u2069", "") for text in found]


def runs_of(page: Any, kind: str, colour: str) -> list[dict[str, float]]:
    """Where a lane shows a colour of the palette: [{left, width}] in CSS pixels."""
    drawn(page)
    found: list[dict[str, float]] = page.evaluate(RUNS, [kind, colour])
    return found
