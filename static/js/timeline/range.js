// The shown range in the page's address: `from` and `to` as UTC times with milliseconds; nothing means "all of it".

export function readRange(search) {
  const query = new URLSearchParams(search);
  const from = Date.parse(query.get("from") ?? "") / 1000;
  const to = Date.parse(query.get("to") ?? "") / 1000;
  return Number.isFinite(from) && Number.isFinite(to) && to > from ? { start: from, end: to } : null;
}

// The query string with the range in it, or without one (range null).
export function writeRange(search, range) {
  const query = new URLSearchParams(search);
  query.delete("from");
  query.delete("to");
  if (range) {
    query.set("from", new Date(range.start * 1000).toISOString());
    query.set("to", new Date(range.end * 1000).toISOString());
  }
  const text = query.toString();
  return text ? `?${text}` : "";
}
