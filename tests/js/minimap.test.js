import assert from "node:assert/strict";
import test from "node:test";

import { dragged, grip } from "../../static/js/timeline/minimap.js";
import { scale } from "../../static/js/timeline/scale.js";

const whole = scale(0, 1000, 100, 1000); // a pixel a second
const range = { start: 200, end: 400 };

test("edges change the length, the middle moves, elsewhere jumps", () => {
  assert.deepEqual([300, 497, 400, 800].map((x) => grip(whole, range, x)), ["start", "end", "move", "jump"]);
});

test("a window too narrow for its edges can still be moved", () => assert.equal(grip(whole, { start: 200, end: 205 }, 302), "move"));

test("dragging", () => {
  assert.deepEqual(dragged(whole, range, "move", 400, 450), { start: 250, end: 450 });
  assert.deepEqual(dragged(whole, range, "start", 300, 250), { start: 150, end: 400 });
  assert.deepEqual(dragged(whole, range, "end", 500, 250), { start: 200, end: 200 });
  assert.deepEqual(dragged(whole, range, "jump", 800, 800), { start: 600, end: 800 });
});
