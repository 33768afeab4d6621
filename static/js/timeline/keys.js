// The names of replicas in what the server tells.

// "worker/0/0" -> ["worker", 0, 0]; the type itself may hold a slash.
export function splitKey(key) {
  const parts = key.split("/");
  const jobIndex = Number(parts.pop());
  const index = Number(parts.pop());
  return [parts.join("/"), index, jobIndex];
}
