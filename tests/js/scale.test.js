import assert from "node:assert/strict";
import test from "node:test";

import * as S from "../../static/js/timeline/scale.js";

const near = (a, b, within = 1e-6) => assert.ok(Math.abs(a - b) <= within, `${a} is not ${b}`);
const base = S.scale(1000, 1100, 150, 500);

test("times become pixels and come back", () => {
  near(S.toX(base, 1000), 150);
  near(S.toX(base, 1100), 650);
  near(S.toTime(base, S.toX(base, 1042.5)), 1042.5);
});

test("zooming keeps the time under the pointer", () => {
  for (const factor of [1.5, 0.5, 4]) {
    const at = S.toTime(base, 300);
    near(S.toTime(S.zoomAt(base, 300, factor), 300), at);
  }
});

test("zooming in stops where 2 ms fill the plot, and out after years", () => {
  let close = base;
  for (let n = 0; n < 200; n += 1) close = S.zoomAt(close, 400, 2);
  near(close.end - close.start, S.MIN_SPAN);
  let far = base;
  for (let n = 0; n < 200; n += 1) far = S.zoomAt(far, 400, 0.5);
  near(far.end - far.start, S.MAX_SPAN, 1);
});

test("a Restarting of 25 ms can fill the screen with epoch times", () => {
  const at = 1795956231.062618;
  const close = S.scale(at, at + 0.025, 150, 1000);
  near(S.toX(close, at + 0.0125), 650, 0.05);
});

test("panning moves the range by the pixels", () => {
  const moved = S.panBy(base, 50);
  near(moved.start, 990);
  near(moved.end, 1090);
});

test("what is shown cannot be lost out of sight", () => {
  near(S.clamp(S.panBy(base, 1e6), 1000, 1100).end, 1050);
  near(S.clamp(S.panBy(base, -1e6), 1000, 1100).start, 1050);
  assert.deepEqual(S.clamp(base, 1000, 1100), base);
});

test("fitting shows everything, also a job that has just begun", () => {
  const fitted = S.fit(base, 500, 700);
  near(fitted.start, 500);
  assert.ok(fitted.end > 700);
  assert.ok(S.fit(base, 500, 500).end > 500);
});

test("following keeps the width of the range and ends behind now", () => {
  const followed = S.follow(base, 2000);
  near(followed.end - followed.start, 100);
  near(followed.end, 2002);
});
