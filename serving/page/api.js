// Requests to the server that the page came from.

let key = sessionStorage.getItem("key") || "";

export function hasKey() {
  return key !== "";
}

export function useKey(text) {
  key = text.trim();
  if (key) {
    sessionStorage.setItem("key", key);
  } else {
    sessionStorage.removeItem("key");
  }
}

export class Refusal extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

// The server writes NaN and infinities as such, which JSON does not have: they become strings.
function parse(text) {
  if (text === "") return null;
  try {
    return JSON.parse(text);
  } catch {
    const tokens = /"(?:[^"\\]|\\.)*"|-?Infinity|NaN/g;
    return JSON.parse(text.replace(tokens, (found) => (found[0] === '"' ? found : `"${found}"`)));
  }
}

// GET, or POST where there is a body (text). The reply's JSON; throws Refusal.
export async function ask(path, body) {
  const headers = {};
  if (key) headers.Authorization = `Bearer ${key}`;
  let reply;
  try {
    reply = await fetch(path, { method: body === undefined ? "GET" : "POST", headers, body, cache: "no-store" });
  } catch {
    throw new Refusal(0, "The server does not reply.");
  }
  const text = await reply.text();
  if (reply.ok) return parse(text);
  let error = `${reply.status} ${reply.statusText}`;
  try {
    error = JSON.parse(text).error || error;
  } catch {
    // A reply that has no JSON is told by its status.
  }
  throw new Refusal(reply.status, error);
}

export function modelPath(name) {
  return `/v2/models/${encodeURIComponent(name)}`;
}
