// How counts, durations and times are written. The server writes them the same way (jobs/numbers.py, jobs/web/formats.py);
// both are held to tests/js/numbers.json and tests/js/durations.json.

const MINUTE = 60;
const HOUR = 3600;
const DAY = 86400;

const counts = new Map(); // language -> its format

// A count as the page's language writes it: `999`, `1,000`. Codes, versions and indexes are names, and stay as they are.
export function number(count, language = globalThis.document?.documentElement.lang || "en") {
  if (!counts.has(language)) counts.set(language, new Intl.NumberFormat(language));
  return counts.get(language).format(count);
}

const pad = (n) => String(n).padStart(2, "0");

// Seconds to words: `24 ms`, `3.3 s`, `45 s`, `2 m 05 s`, `1 h 02 m`, `20 d 03 h`. Null and NaN give "".
export function duration(seconds) {
  if (seconds === null || seconds === undefined || Number.isNaN(seconds)) return "";
  if (seconds < 0) return `−${duration(-seconds)}`;
  if (seconds < 0.9995) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 9.95) return `${trimmed(seconds)} s`;
  const whole = Math.round(seconds);
  if (whole < MINUTE) return `${whole} s`;
  if (whole < HOUR) return `${Math.floor(whole / MINUTE)} m ${pad(whole % MINUTE)} s`;
  if (whole < DAY) return `${Math.floor(whole / HOUR)} h ${pad(Math.floor((whole % HOUR) / MINUTE))} m`;
  return `${Math.floor(whole / DAY)} d ${pad(Math.floor((whole % DAY) / HOUR))} h`;
}

function trimmed(seconds) {
  const text = seconds.toFixed(1);
  return text.endsWith(".0") ? text.slice(0, -2) : text;
}

const sameDay = (a, b) =>
  a.getFullYear() === b.getFullYear() && a.getMonth() === b.getMonth() && a.getDate() === b.getDate();

// Epoch seconds to local time of day, with the date where it is not today's; `digits` of a second (0 or 3).
export function clock(epoch, { digits = 0, now = new Date() } = {}) {
  const at = new Date(epoch * 1000);
  let text = `${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}`;
  if (digits) text += `.${String(at.getMilliseconds()).padStart(3, "0")}`;
  return sameDay(at, now) ? text : `${date(at)} ${text}`;
}

const date = (at) => `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}`;

// The same instant in UTC, for the tooltip.
export const utc = (epoch) => new Date(epoch * 1000).toISOString().replace("T", " ").replace("Z", " UTC");

// What a failed end says: the code, and the reason where it says more than "Error".
export function exitText(code, reason) {
  const more = reason && reason !== "Error" && reason !== "Completed" ? reason : "";
  if (code === null || code === undefined) return more || "?";
  return more ? `${code} ${more}` : String(code);
}

// A string of the cluster inside our own text: its direction must not turn ours.
export const isolate = (text) => `\u2068${text}\u2069`;
