// Making elements of the document. Texts are set as text, never read as HTML.

export function element(tag, settings = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(settings)) {
    if (name === "class") {
      made.className = value;
    } else {
      made[name] = value;
    }
  }
  made.append(...children);
  return made;
}

export function byId(id) {
  return document.getElementById(id);
}

export function show(id, text) {
  byId(id).textContent = text;
  byId(id).hidden = text === "";
}

// A number in few digits: 1234567, 0.001235, 1.2e-9.
export function short(value, digits = 4) {
  const number = Number(value);
  if (!Number.isFinite(number) || Number.isInteger(number)) return String(value);
  return String(Number(number.toPrecision(digits)));
}

export function shapeText(shape) {
  return `[${shape.map((dim) => (dim < 0 ? "?" : dim)).join(", ")}]`;
}
