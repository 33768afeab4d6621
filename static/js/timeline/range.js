// The shown range in the page's address: `from` and `to` as UTC times with microseconds, because a range may be 2 ms
// wide; nothing means "all of it".

// Epoch seconds of a UTC time, NaN for anything else. Date knows milliseconds alone.
function read(text) {
  const finer = /\.\d{3}(\d{1,3})Z$/.exec(text)?.[1] ?? "0";
  return Date.parse(text) / 1000 + Number(finer.padEnd(3, "0")) / 1e6;
}

function written(epoch) {
  const micros = Math.round(epoch * 1e6);
  const millis = Math.floor(micros / 1000);
  return new Date(millis).toISOString().replace("Z", `${String(micros - millis * 1000).padStart(3, "0")}Z`);
}

export function readRange(search) {
  const query = new URLSearchParams(search);
  const from = read(query.get("from") ?? "");
  const to = read(query.get("to") ?? "");
  return Number.isFinite(from) && Number.isFinite(to) && to > from ? { start: from, end: to } : null;
}

// The query string with the range in it, or without one (range null).
export function writeRange(search, range) {
  const query = new URLSearchParams(search);
  query.delete("from");
  query.delete("to");
  if (range) {
    query.set("from", written(range.start));
    query.set("to", written(range.end));
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
