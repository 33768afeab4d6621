// The linear time scale: epoch seconds to pixels and back. Plain values; every change gives a new scale.

export const MIN_SPAN = 0.002; // seconds: the narrowest range, so that a Restarting of 20 ms fills the screen
export const MAX_SPAN = 400 * 86400;

// Seconds [start, end] over pixels [left, left + width].
export const scale = (start, end, left, width) => ({ start, end: Math.max(end, start + MIN_SPAN), left, width });

export const toX = (s, time) => s.left + ((time - s.start) / (s.end - s.start)) * s.width;

export const toTime = (s, x) => s.start + ((x - s.left) / s.width) * (s.end - s.start);

// How many seconds one pixel covers.
export const secondsPerPixel = (s) => (s.end - s.start) / Math.max(1, s.width);

// Zoom by `factor` (> 1: closer) so that the time under pixel `x` stays under it.
export function zoomAt(s, x, factor) {
  const at = toTime(s, x);
  const span = Math.min(MAX_SPAN, Math.max(MIN_SPAN, (s.end - s.start) / factor));
  const share = (x - s.left) / s.width;
  return { ...s, start: at - share * span, end: at + (1 - share) * span };
}

export function panBy(s, pixels) {
  const shift = pixels * secondsPerPixel(s);
  return { ...s, start: s.start - shift, end: s.end - shift };
}

// Keeps some of [start, end] in view: never more than half a screen of emptiness on either side.
export function clamp(s, start, end) {
  const span = s.end - s.start;
  const low = start - span / 2;
  const high = end + span / 2;
  if (s.start < low) return { ...s, start: low, end: low + span };
  if (s.end > high) return { ...s, start: high - span, end: high };
  return s;
}

// The range that shows [start, end] whole, with a little room at the right where a live bar grows.
export function fit(s, start, end, room = 0.02) {
  const span = Math.max(end - start, 1);
  return { ...s, start, end: start + span * (1 + room) };
}

// The same width of range, ending just after `now`.
export function follow(s, now, room = 0.02) {
  const span = s.end - s.start;
  const end = now + span * room;
  return { ...s, start: end - span, end };
}
