// The outputs of a run: the best classes as bars, and the numbers.

import { element, shapeText, short } from "./elements.js";

const mostBars = 10;
const mostNumbers = 1000; // that are shown

// Whether the output may be scores of classes: one row of several numbers.
export function scoresClasses(output) {
  const rows = output.shape.slice(0, -1);
  const classes = output.shape.at(-1) ?? 0;
  const numeric = output.datatype.startsWith("FP") || output.datatype === "BF16";
  return numeric && classes >= 2 && output.data.length === classes && rows.every((dim) => dim === 1);
}

// Probabilities as they are, other scores by softmax.
function probabilitiesOf(scores) {
  const sum = scores.reduce((a, b) => a + b, 0);
  if (scores.every((score) => score >= 0 && score <= 1) && Math.abs(sum - 1) < 0.01) return { values: scores, softmax: false };
  const best = Math.max(...scores);
  const powers = scores.map((score) => Math.exp(score - best));
  const all = powers.reduce((a, b) => a + b, 0);
  return { values: powers.map((power) => power / all), softmax: true };
}

function barsOf(output, labels) {
  const scores = output.data.map(Number);
  if (!scores.every(Number.isFinite)) return [];
  const { values, softmax } = probabilitiesOf(scores);
  const order = [...scores.keys()].sort((a, b) => scores[b] - scores[a]).slice(0, mostBars);
  const bars = order.map((index, place) => {
    const fill = element("div", { class: "fill" });
    fill.style.width = `${(values[index] * 100).toFixed(2)}%`;
    const name = labels?.get(index) ?? String(index);
    const percent = `${(values[index] * 100).toFixed(1)} %`;
    const row = element(
      "div",
      { class: place === 0 ? "bar best" : "bar" },
      element("span", { textContent: name, title: `class ${index}: ${name}` }),
      element("div", { class: "track" }, fill),
      element("span", { textContent: softmax ? `${percent} (${short(scores[index])})` : percent }),
    );
    return row;
  });
  if (softmax) bars.push(element("p", { class: "quiet", textContent: "Percents are the softmax of the scores in parentheses." }));
  return bars;
}

function numbersOf(output) {
  const shown = output.data.slice(0, mostNumbers).map((value) => (output.datatype === "BYTES" ? JSON.stringify(value) : short(value)));
  const left = output.data.length - shown.length;
  return element("pre", { textContent: shown.join(", ") + (left > 0 ? `, … and ${left} more` : "") });
}

// `labels`: of the classes by index, by output.
export function showOutputs(place, outputs, labels) {
  place.replaceChildren();
  for (const output of outputs) {
    const title = element("h3", { textContent: `${output.name} ` });
    title.append(element("span", { class: "quiet", textContent: `${output.datatype} ${shapeText(output.shape)}` }));
    const bars = scoresClasses(output) ? barsOf(output, labels.get(output.name)) : [];
    place.append(element("div", { class: "output" }, title, ...bars, numbersOf(output)));
  }
}

// The labels in an output of classification, "value:index:label", by index; null: there are none.
export function labelsIn(texts) {
  const labels = new Map();
  for (const text of texts) {
    const parts = text.split(":");
    if (parts.length > 2) labels.set(Number(parts[1]), parts.slice(2).join(":"));
  }
  return labels.size > 0 ? labels : null;
}
