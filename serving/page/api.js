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

async function send(path, body) {
  const headers = {};
  if (key) headers.Authorization = `Bearer ${key}`;
  try {
    return await fetch(path, { method: body === undefined ? "GET" : "POST", headers, body, cache: "no-store" });
  } catch {
    throw new Refusal(0, "The server does not reply.");
  }
}

function refusalOf(reply, text) {
  let error = `${reply.status} ${reply.statusText}`;
  try {
    error = JSON.parse(text).error || error;
  } catch {
    // A reply that has no JSON is told by its status.
  }
  return new Refusal(reply.status, error.message || error);
}

// GET, or POST where there is a body (text). The reply's JSON; throws Refusal.
export async function ask(path, body) {
  const reply = await send(path, body);
  const text = await reply.text();
  if (reply.ok) return parse(text);
  throw refusalOf(reply, text);
}

// POST whose reply is a stream of events: `take` gets the JSON of each as it comes. Throws Refusal.
export async function follow(path, body, take) {
  const reply = await send(path, body);
  if (!reply.ok) throw refusalOf(reply, await reply.text());
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const events = (waiting + value).split("\n\n");
    waiting = events.pop();
    for (const event of events) {
      const document = parse(event.replace(/^data: /, ""));
      if (document.error) throw new Refusal(reply.status, document.error);
      take(document);
    }
  }
}

export function modelPath(name) {
  return `/v2/models/${encodeURIComponent(name)}`;
}
