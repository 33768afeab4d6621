// The colours of the canvas: read from the page's custom properties, so that light and dark have one source.

const NAMES = [
  "ink", "muted", "line", "surface", "pending", "running", "running-lane", "completed", "failed", "failed-ink",
  "restarting", "restarting-ink", "restarting-text", "band", "group", "hatch", "now", "accent", "on-bar", "terminating", "veil", "failed-soft", "failed-text",
];

export function readPalette(element) {
  const style = getComputedStyle(element);
  const palette = {};
  for (const name of NAMES) palette[name] = style.getPropertyValue(`--c-${name}`).trim() || "#888";
  palette.font = style.fontFamily || "sans-serif";
  return palette;
}

// A diagonal hatch in the given colour; it means "not known", never a state.
export function hatch(context, colour) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 8;
  const pen = tile.getContext("2d");
  pen.strokeStyle = colour;
  pen.lineWidth = 1.2;
  pen.beginPath();
  for (const shift of [-8, 0, 8]) {
    pen.moveTo(shift - 1, 9);
    pen.lineTo(shift + 9, -1);
  }
  pen.stroke();
  return context.createPattern(tile, "repeat");
}
