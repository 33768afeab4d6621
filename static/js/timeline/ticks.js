// Where the axis has its ticks: the smallest step of a table whose labels keep their distance.

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

// The time since the origin, from its largest unit down to that of the step: neighbours differ also after days.
export function label(seconds, by) {
  if (Math.abs(seconds) < by / 2) return "0 s";
  const digits = by >= 1 ? 0 : by >= 0.1 ? 1 : by >= 0.01 ? 2 : 3;
  const size = Number(Math.abs(seconds).toFixed(digits));
  const parts = [Math.floor(size / 86400), Math.floor(size / 3600) % 24, Math.floor(size / 60) % 60, size % 60];
  const first = parts.findIndex((part, unit) => part > 0 || unit === 3);
  const finest = by >= 86400 ? 0 : by >= 3600 ? 1 : by >= 60 ? 2 : 3;
  const shown = parts.slice(first, Math.max(finest, first + 1) + 1).map((part, n) => {
    const unit = first + n;
    const text = part.toFixed(unit === 3 ? digits : 0);
    return `${n ? padded(text) : text} ${UNITS[unit]}`;
  });
  return `${seconds < 0 ? "−" : ""}${shown.join(" ")}`;
}

const UNITS = ["d", "h", "m", "s"];
const padded = (text) => (text.indexOf(".") === 1 || text.length === 1 ? `0${text}` : text);
