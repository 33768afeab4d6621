import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { duration, exitText, number } from "../../static/js/format.js";

const read = (name) => JSON.parse(readFileSync(new URL(name, import.meta.url)));
const table = read("durations.json");

for (const [language, count, text] of read("numbers.json")) {
  test(`${count} is written ${text} in ${language}`, () => assert.equal(number(count, language), text));
}

for (const [seconds, text] of table) {
  test(`${seconds} s is written ${text}`, () => assert.equal(duration(seconds), text));
}

test("nothing is written for no duration", () => {
  assert.equal(duration(null), "");
  assert.equal(duration(undefined), "");
  assert.equal(duration(NaN), "");
});

test("an end is its code, and its reason where that says more", () => {
  assert.equal(exitText(138, "Error"), "138");
  assert.equal(exitText(137, "OOMKilled"), "137 OOMKilled");
  assert.equal(exitText(null, "Evicted"), "Evicted");
  assert.equal(exitText(null, null), "?");
});
