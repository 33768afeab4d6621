import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { lasted, lastedNote, length, measured, spanLength } from "../../static/js/timeline/lengths.js";

for (const [seconds, said, text, note] of JSON.parse(readFileSync(new URL("lengths.json", import.meta.url)))) {
  test(`${seconds} s by our clock, ${said} s by the cluster's: ${text}`, () => {
    const known = length(seconds, said);
    assert.equal(lasted(known), text);
    assert.equal(lastedNote(known), note);
  });
}

test("what the cluster does not date is measured, or not", () => {
  assert.equal(measured(0.3), "300 ms");
  assert.equal(measured(0.001), "not measured");
});

test("a span has its dates from the cluster, where both are known", () => {
  const span = { start: 100.2, end: 100.2001, said_start: 100, said_end: 100 };
  assert.equal(lasted(spanLength(span, 200)), "< 1 s");
  assert.equal(lasted(spanLength({ ...span, said_end: undefined }, 200)), "not measured");
  assert.equal(lasted(spanLength({ ...span, said_end: 114 }, 200)), "≈ 14 s");
});

test("an open span grows from its first moment, and a heap of spans is as long as it is wide", () => {
  assert.equal(lasted(spanLength({ start: 100, end: null }, 100.001)), "1 ms");
  assert.equal(lasted(spanLength({ start: 100, end: null, said_start: 90 }, 103)), "3 s");
  assert.equal(lasted(spanLength({ start: 100, end: 160, times: 40, said_start: 100, said_end: 100 }, 200)), "1 m 00 s");
});
