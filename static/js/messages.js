// The page's translated strings: the server puts them into a data island, keyed by their English text.

let catalogue = null;

function load() {
  const island = globalThis.document?.getElementById("messages");
  return island ? JSON.parse(island.textContent) : {};
}

// The translation of `text`, with {name} replaced by values.name.
export function t(text, values = {}) {
  catalogue ??= load();
  return (catalogue[text] ?? text).replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}
