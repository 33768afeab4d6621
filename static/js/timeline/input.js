// Pointer and keys to intentions. The timeline decides what they do.

const DRAG_FROM = 3; // pixels: less is a click
const WHEEL_STEP = 0.0016;

// actions: {zoom(x, factor), pan(pixels), scroll(pixels), fit(), follow(), move(key), open(), clear(), hover(x, y), leave(),
//           select(x, y), key(), gutter()}
export function listen(element, actions) {
  pointer(element, actions);
  wheel(element, actions);
  keys(element, actions);
  element.addEventListener("dblclick", (event) => {
    event.preventDefault();
    actions.fit();
  });
}

function pointer(element, actions) {
  const fingers = new Map();
  let moved = 0;
  let spread = 0;
  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    fingers.set(event.pointerId, event);
    moved = 0;
    spread = distance(fingers);
  });
  element.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    if (!before) {
      actions.hover(event.offsetX, event.offsetY);
      return;
    }
    fingers.set(event.pointerId, event);
    if (fingers.size > 1) {
      const now = distance(fingers);
      if (spread > 0 && now > 0) actions.zoom(event.offsetX, now / spread);
      spread = now;
      return;
    }
    moved += Math.abs(event.clientX - before.clientX) + Math.abs(event.clientY - before.clientY);
    if (moved < DRAG_FROM) return;
    if (!element.hasPointerCapture(event.pointerId)) element.setPointerCapture(event.pointerId);
    actions.leave();
    actions.pan(event.clientX - before.clientX);
    if (event.pointerType === "mouse") actions.scroll(before.clientY - event.clientY);
  });
  const up = (event) => {
    const had = fingers.delete(event.pointerId);
    if (had && event.type === "pointerup" && moved < DRAG_FROM) actions.select(event.offsetX, event.offsetY);
  };
  element.addEventListener("pointerup", up);
  element.addEventListener("pointercancel", up);
  element.addEventListener("pointerleave", () => actions.leave());
}

function distance(fingers) {
  if (fingers.size < 2) return 0;
  const [a, b] = [...fingers.values()];
  return Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
}

function wheel(element, actions) {
  element.addEventListener(
    "wheel",
    (event) => {
      if (event.offsetX < actions.gutter()) return; // over the labels the wheel scrolls the rows, or the page
      event.preventDefault();
      const unit = event.deltaMode === 1 ? 16 : 1;
      if (event.shiftKey) actions.scroll(event.deltaY * unit);
      else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) actions.pan(-event.deltaX * unit);
      else actions.zoom(event.offsetX, Math.exp(-event.deltaY * unit * WHEEL_STEP));
    },
    { passive: false },
  );
}

function keys(element, actions) {
  const table = {
    "+": () => actions.zoom(null, 1.5),
    "=": () => actions.zoom(null, 1.5),
    "-": () => actions.zoom(null, 1 / 1.5),
    0: () => actions.fit(),
    f: () => actions.follow(),
    Enter: () => actions.open(),
    Escape: () => actions.clear(),
  };
  element.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    actions.key();
    if (event.key.startsWith("Arrow")) {
      event.preventDefault();
      if (event.shiftKey && (event.key === "ArrowLeft" || event.key === "ArrowRight")) {
        actions.pan(event.key === "ArrowLeft" ? 80 : -80);
      } else actions.move(event.key);
    } else if (table[event.key]) {
      event.preventDefault();
      table[event.key]();
    }
  });
}
