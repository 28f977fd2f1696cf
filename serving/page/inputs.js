// The form of a model's inputs, and the request that it makes.

import { element, shapeText } from "./elements.js";
import { makePicture, pictureOf } from "./picture.js";

const mostZeros = 64; // that are written into a text field

function countOf(shape) {
  return shape.reduce((product, dim) => product * dim, 1);
}

function readShape(text, name) {
  const dims = text.split(/[\s,[\]]+/).filter((part) => part !== "");
  if (dims.some((dim) => !/^\d+$/.test(dim))) throw new Error(`${name}: the shape has to be whole numbers, such as 1, 3`);
  return dims.map(Number);
}

// The elements as JSON, as they are written: large integers stay exact.
function readData(text, datatype, name) {
  const trimmed = text.trim();
  if (datatype === "BYTES") {
    if (trimmed.startsWith("[")) return JSON.stringify([JSON.parse(trimmed)].flat(Infinity)).slice(1, -1);
    return trimmed.split("\n").map((line) => JSON.stringify(line)).join(",");
  }
  const parts = trimmed.split(/[\s,[\]]+/).filter((part) => part !== "");
  const known = datatype === "BOOL" ? /^(true|false|0|1)$/ : /^(-?\d+(\.\d+)?([eE][-+]?\d+)?|NaN|-?Infinity)$/;
  const odd = parts.find((part) => !known.test(part));
  if (odd !== undefined) throw new Error(`${name}: '${odd}' is not a value of ${datatype}`);
  if (datatype !== "BOOL") return parts.join(",");
  return parts.map((part) => (part === "1" ? "true" : part === "0" ? "false" : part)).join(",");
}

function zeros(datatype, count) {
  const zero = datatype === "BYTES" ? '""' : datatype === "BOOL" ? "false" : "0";
  return Array(count).fill(zero).join(",");
}

function makeText(input) {
  const shape = input.shape.map((dim) => (dim < 0 ? 1 : dim));
  const dims = element("input", { class: "shape", value: shape.join(", "), size: 18, spellcheck: false });
  const text = element("textarea", { spellcheck: false, placeholder: "empty: zeros" });
  text.setAttribute("aria-label", `${input.name}: elements`);
  if (countOf(shape) <= mostZeros && input.datatype !== "BYTES") text.value = zeros(input.datatype, countOf(shape)).replaceAll(",", ", ");
  const hint = input.datatype === "BYTES" ? "a text a line, or JSON" : "numbers, by commas or spaces; nested as JSON or flat";
  const field = element(
    "div",
    {},
    element("div", { class: "row" }, element("label", {}, "Shape ", dims), element("span", { class: "quiet", textContent: hint })),
    text,
  );
  const read = () => {
    const given = readShape(dims.value, input.name);
    const empty = text.value.trim() === "";
    const data = empty ? zeros(input.datatype, countOf(given)) : readData(text.value, input.datatype, input.name);
    return { shape: given, data };
  };
  return { field, read };
}

// Fills `place`; what comes back gives the body of a request, as text. It throws where a field is
// wrong.
export function makeInputs(place, inputs) {
  place.replaceChildren();
  const fields = inputs.map((input) => {
    const picture = pictureOf(input);
    const made = picture ? makePicture(input, picture) : makeText(input);
    const legend = element("legend", { textContent: `${input.name} ` });
    legend.append(element("span", { class: "quiet", textContent: `${input.datatype} ${shapeText(input.shape)}` }));
    place.append(element("fieldset", {}, legend, made.field));
    return { input, read: made.read };
  });
  return (members) => {
    const tensors = fields.map(({ input, read }) => {
      const { shape, data } = read();
      const head = JSON.stringify({ name: input.name, datatype: input.datatype, shape });
      return `${head.slice(0, -1)},"data":[${data}]}`;
    });
    return `{"inputs":[${tensors.join(",")}]${members}}`;
  };
}
