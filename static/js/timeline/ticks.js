// Where the axis has its ticks: the smallest step of a table whose labels keep their distance.

import { duration } from "../format.js";

const STEPS = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200,
  10800, 21600, 43200, 86400, 172800, 432000, 864000, 1728000, 4320000, 8640000,
];

export function step(secondsPerPixel, minPixels = 80) {
  const least = secondsPerPixel * minPixels;
  return STEPS.find((candidate) => candidate >= least) ?? STEPS[STEPS.length - 1];
}

// Ticks in [start, end] at whole steps after `origin` (the job's creation): [{time, label}].
export function ticks({ start, end, secondsPerPixel, origin, minPixels = 80 }) {
  const by = step(secondsPerPixel, minPixels);
  const result = [];
  const first = Math.ceil((start - origin) / by - 1e-6);
  const last = Math.floor((end - origin) / by + 1e-6);
  for (let n = first; n <= last; n += 1) result.push({ time: origin + n * by, label: label(n * by, by) });
  return result;
}

// The time since the origin, with as many digits as the step asks for.
export function label(seconds, by) {
  if (Math.abs(seconds) < by / 2) return "0 s";
  if (by >= 1) return duration(Math.round(seconds));
  const digits = by >= 0.1 ? 1 : by >= 0.01 ? 2 : 3;
  const sign = seconds < 0 ? "−" : "";
  const size = Math.abs(seconds);
  const minutes = Math.floor(size / 60);
  const rest = (size - minutes * 60).toFixed(digits);
  return minutes ? `${sign}${minutes} m ${rest} s` : `${sign}${rest} s`;
}
