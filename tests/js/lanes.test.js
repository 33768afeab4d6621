import assert from "node:assert/strict";
import test from "node:test";

import { LaneLoader, needsFiner, spansFor } from "../../static/js/timeline/lanes.js";
import { emptyModel, lane, merge } from "../../static/js/timeline/model.js";

const span = (number, start, more) => ({ lane: "restarting", number, value: "Restarting", start, end: start + 1, ...more });
const far = { whole: true, seq: 5, lanes: { pixel: 10 }, spans: [span(0, 0, { end: 900, times: 90 }), span(90, 1000)] };
const near = { seq: 6, lanes: { start: 100, end: 200, pixel: 0 }, spans: [span(10, 100), span(11, 110)] };
const starts = (spans) => lane(spans, "restarting").map((one) => one.start);

function known() {
  const model = emptyModel();
  merge(model, far);
  merge(model, near);
  return model;
}

test("phases of a range stand beside the heaps, which stay for the view from far", () => {
  const model = known();
  assert.deepEqual(starts(spansFor(model, { start: 110, end: 190 }, 1)), [100, 110]);
  assert.deepEqual(starts(spansFor(model, { start: 50, end: 190 }, 1)), [0, 1000]);
  assert.equal(model.seq, 5, "it tells nothing of the rest of the job");
});

test("a live phase is added to both, and a first answer begins anew", () => {
  const model = known();
  merge(model, { seq: 7, spans: [span(91, 150)] });
  assert.deepEqual(starts(spansFor(model, { start: 110, end: 190 }, 1)), [100, 110, 150]);
  assert.equal(model.spans.size, 3);
  merge(model, { ...far, seq: 9 });
  assert.equal(model.fine, null);
  assert.equal(model.spans.size, 2);
});

test("finer ones are asked for only where heaps are shown too coarsely", () => {
  const model = known();
  assert.ok(!needsFiner(model, { start: 0, end: 9000 }, 9, 2000), "the heaps are fine enough");
  assert.ok(needsFiner(model, { start: 0, end: 100 }, 1, 2000));
  assert.ok(!needsFiner(model, { start: 110, end: 190 }, 0.001, 2000), "every detail is here");
  model.lanePixel = 0;
  assert.ok(!needsFiner(model, { start: 0, end: 100 }, 0.001, 2000), "a job that came whole");
});

test("the loader asks once the zooming rests, with a screen around, and again for where it went meanwhile", async () => {
  const model = emptyModel();
  merge(model, far);
  const asked = [];
  const waiting = [];
  const fetchSpans = async (range) => {
    asked.push(range);
    return { seq: 6, lanes: { start: range.start, end: range.end, pixel: 0 }, spans: [] };
  };
  const loader = new LaneLoader(model, { fetchSpans, take: (payload) => merge(model, payload), later: (run) => waiting.push(run) });
  loader.want({ start: 100, end: 200 }, 1000, 0.1, 2000);
  loader.want({ start: 100, end: 140 }, 1000, 0.04, 2000);
  assert.equal(waiting.length, 1);
  await waiting.shift()();
  assert.deepEqual(asked, [{ start: 60, end: 180, width: 3000 }]);
  loader.want({ start: 500, end: 540 }, 1000, 0.04, 2000);
  waiting.shift()();
  await waiting.shift()();
  assert.equal(asked[1].start, 460);
  waiting.shift()();
  assert.equal(waiting.length, 0);
});
