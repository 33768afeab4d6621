import assert from "node:assert/strict";
import test from "node:test";

import { label, step, ticks } from "../../static/js/timeline/ticks.js";

test("ticks keep their distance", () => {
  for (const perPixel of [1e-6, 1e-4, 0.01, 0.1, 1, 60, 3600, 86400]) {
    if (perPixel * 80 > 8640000) continue;
    assert.ok(step(perPixel) / perPixel >= 80 - 1e-6);
  }
});

test("ticks stand at whole steps after the job's creation", () => {
  const found = ticks({ start: 1000.4, end: 1031, secondsPerPixel: 0.1, origin: 1000.4 });
  assert.deepEqual(found.map((tick) => tick.label), ["0 s", "10 s", "20 s", "30 s"]);
  assert.ok(Math.abs(found[1].time - 1010.4) < 1e-9);
});

test("labels have as many digits as their step needs", () => {
  assert.equal(label(0.024, 0.001), "0.024 s");
  assert.equal(label(75.5, 0.5), "1 m 15.5 s");
  assert.equal(label(3720, 60), "1 h 02 m");
  assert.equal(label(-5, 1), "−5 s");
  assert.equal(label(65, 5), "1 m 05 s");
  assert.equal(label(7200, 3600), "2 h 00 m");
  assert.equal(label(2 * 86400, 86400), "2 d 00 h");
  assert.equal(label(3 * 86400 + 12 * 3600 + 300, 300), "3 d 12 h 05 m");
  assert.equal(label(3605.02, 0.02), "1 h 00 m 05.02 s");
});

test("labels of neighbours differ, whatever the zoom and however long after the beginning", () => {
  for (const perPixel of [0.00002, 0.0005, 0.01, 0.3, 2, 30, 700]) {
    for (const start of [50, 5000, 3.5 * 86400, 20 * 86400 + 17]) {
      const width = 900 * perPixel;
      const found = ticks({ start, end: start + width, secondsPerPixel: perPixel, origin: 0 });
      assert.ok(found.length >= 1);
      assert.equal(new Set(found.map((tick) => tick.label)).size, found.length, JSON.stringify(found));
    }
  }
});

test("a range far before the origin gives a bounded number of ticks", () => {
  assert.ok(ticks({ start: -1e6, end: 1e6, secondsPerPixel: 2000, origin: 0 }).length < 30);
});
