import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import test from "node:test";

import { t } from "../../static/js/messages.js";

test("values take their places, unknown ones stay", () => {
  assert.equal(t("{n} jobs changed, show", { n: 3 }), "3 jobs changed, show");
  assert.equal(t("at {time}"), "at {time}");
});

test("every string that a script shows is in the server's catalogue", () => {
  const root = new URL("../../static/js/", import.meta.url);
  const catalogue = readFileSync(new URL("../../jobs/web/context.py", import.meta.url), "utf8");
  const files = readdirSync(root, { recursive: true }).filter((name) => name.endsWith(".js"));
  const used = files.flatMap((name) => [...readFileSync(new URL(name, root), "utf8").matchAll(/\bt\(\s*"([^"]+)"/g)].map((m) => m[1]));
  assert.ok(used.length > 15);
  for (const text of used) assert.ok(catalogue.includes(`"${text}":`), `not translated: ${text}`);
});
