// What drawings are made of: texts, boxes and marks, in CSS pixels.

export const RADIUS = 3;
export const SMALL = 11;

// Text inside a box, where it fits; true if it did.
export function inside(pen, view, text, area, top, height, colour) {
  if (!text) return false;
  font(pen, view, SMALL);
  const left = Math.max(area.left, view.gutter) + 6;
  const right = Math.min(area.right, view.width) - 4;
  if (pen.measureText(text).width > right - left) return false;
  pen.fillStyle = colour;
  pen.fillText(text, left, top + height / 2 + 0.5);
  return true;
}

export function font(pen, view, size, weight = 400) {
  pen.font = `${weight} ${size}px ${view.palette.font}`;
}

export function rounded(pen, x, y, width, height, radius = RADIUS) {
  pen.beginPath();
  pen.roundRect(x, y, Math.max(width, 0), height, Math.min(radius, Math.max(width, 0) / 2));
}

export function fillWith(pen, colour) {
  pen.fillStyle = colour;
  pen.fill();
}

export function strokeWith(pen, colour, width = 1) {
  pen.strokeStyle = colour;
  pen.lineWidth = width;
  pen.stroke();
}

export function dotted(pen, colour) {
  pen.setLineDash([2, 2]);
  strokeWith(pen, colour);
  pen.setLineDash([]);
}

export function tickMark(pen, view, x, y) {
  pen.beginPath();
  pen.moveTo(x - 4, y);
  pen.lineTo(x - 1, y + 3.5);
  pen.lineTo(x + 4.5, y - 4);
  strokeWith(pen, view.palette.ink, 1.8);
}
