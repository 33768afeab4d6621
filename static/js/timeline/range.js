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

const ORDERS = ["index", "worst"];

// {range, order, query, pick} of an address. `pick` is the chosen pod: {replica, uid}.
export function readView(search) {
  const query = new URLSearchParams(search);
  const [replica, uid] = (query.get("pick") ?? "").split("@");
  return {
    range: readRange(search),
    order: ORDERS.includes(query.get("order")) ? query.get("order") : "index",
    query: query.get("find") ?? "",
    pick: replica && uid ? { replica, uid } : null,
  };
}

export function writeView(search, { range, order, query, pick }) {
  const text = new URLSearchParams(writeRange(search, range));
  const put = (name, value) => (value ? text.set(name, value) : text.delete(name));
  put("order", order === "index" ? "" : order);
  put("find", query);
  put("pick", pick ? `${pick.replica}@${pick.uid}` : "");
  const found = text.toString();
  return found ? `?${found}` : "";
}
