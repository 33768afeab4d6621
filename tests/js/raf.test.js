import assert from "node:assert/strict";
import test from "node:test";

import { Frames } from "../../static/js/timeline/raf.js";

function stage(draw) {
  const stage = { frames: [], timers: [], cancelled: 0 };
  stage.frames_ = new Frames(draw, {
    request: (run) => stage.frames.push(run),
    later: (run, milliseconds) => stage.timers.push({ run, milliseconds }),
    cancel: () => (stage.cancelled += 1),
  });
  return stage;
}

test("many requests make one frame", () => {
  let drawn = 0;
  const s = stage(() => ((drawn += 1), null));
  for (let n = 0; n < 5; n += 1) s.frames_.request();
  assert.equal(s.frames.length, 1);
  s.frames.pop()();
  assert.equal(drawn, 1);
  assert.equal(s.timers.length, 0);
});

test("a live timeline wakes itself, no faster than the screen", () => {
  const s = stage(() => 0.001);
  s.frames_.request();
  s.frames.pop()();
  assert.equal(s.timers[0].milliseconds, 16);
  s.timers[0].run();
  assert.equal(s.frames.length, 1);
});

test("a frame for another reason replaces the wake-up", () => {
  const s = stage(() => 1);
  s.frames_.request();
  s.frames.pop()();
  s.frames_.request();
  s.frames.pop()();
  assert.equal(s.cancelled, 1);
});
