// What is on the page: models, what their requests take, and trying them.

import { ask, hasKey, modelPath, useKey } from "./api.js";
import { byId, element, shapeText, show } from "./elements.js";
import { makeInputs } from "./inputs.js";
import { drawLive, milliseconds, summaryOf, takeStatistics } from "./live.js";
import { labelsIn, scoresClasses, showOutputs } from "./outputs.js";
import { makePrompt, showText } from "./prompt.js";

let chosen = null; // the name of the model that is shown
let requestOf = null; // makes the body of a request from the form
let promptOf = null; // the same for a model that generates text; null: it does not
let listed = new Map(); // states by name
const unlabelled = new Set(); // outputs whose classes have no names: "model/output"

// The models with their states. Those that are not ready are known to administrators alone.
async function readModels() {
  const states = new Map();
  if (hasKey()) {
    try {
      for (const row of await ask("/v2/repository/index", "{}")) {
        const known = states.get(row.name);
        if (known !== "READY") states.set(row.name, row.state || "UNKNOWN");
      }
      return states;
    } catch (error) {
      if (error.status !== 401 && error.status !== 403) throw error;
    }
  }
  for (const name of (await ask("/v2/models")).models) states.set(name, "READY");
  return states;
}

function showModels() {
  const rows = [...listed].map(([name, state]) => {
    const text = state === "READY" ? summaryOf(name) || "ready" : state.toLowerCase();
    const button = element("button", { type: "button", onclick: () => choose(name) }, element("b", { textContent: name }));
    button.append(element("span", { class: `dot ${state}` }), element("span", { class: "quiet", textContent: text }));
    button.setAttribute("aria-current", name === chosen);
    button.disabled = state !== "READY";
    return element("li", {}, button);
  });
  const focused = [...byId("models").querySelectorAll("button")].indexOf(document.activeElement);
  byId("models").replaceChildren(...rows);
  if (focused >= 0) byId("models").querySelectorAll("button")[focused]?.focus();
}

function showSignature(model) {
  const row = (kind) => (tensor) =>
    element(
      "tr",
      {},
      element("td", {}, element("span", { class: "quiet", textContent: `${kind} ` }), tensor.name),
      element("td", { textContent: tensor.datatype }),
      element("td", { textContent: shapeText(tensor.shape) }),
    );
  byId("signature").replaceChildren(...model.inputs.map(row("in")), ...model.outputs.map(row("out")));
}

async function choose(name) {
  const [model, facts] = await Promise.all([ask(modelPath(name)), ask(`/v1/models/${encodeURIComponent(name)}`)]);
  chosen = name;
  byId("name").textContent = `${name} · version ${model.versions.join(", ")}`;
  byId("model").hidden = false;
  showSignature(model);
  byId("outputs").replaceChildren();
  byId("taken").textContent = "";
  show("failure", "");
  promptOf = facts.generates ? makePrompt(byId("inputs")) : null;
  requestOf = facts.generates ? null : makeInputs(byId("inputs"), model.inputs);
  showModels();
  drawLive(name);
}

// The names of the classes that the outputs score, which classification tells.
async function readLabels(name, outputs) {
  const labels = new Map();
  const asked = outputs.filter((output) => scoresClasses(output) && !unlabelled.has(`${name}/${output.name}`));
  if (asked.length === 0) return labels;
  const wanted = asked.map((output) => ({ name: output.name, parameters: { classification: 10 } }));
  const reply = await ask(`${modelPath(name)}/infer`, requestOf(`,"outputs":${JSON.stringify(wanted)}`));
  for (const output of reply.outputs) {
    const found = labelsIn(output.data);
    if (found) {
      labels.set(output.name, found);
    } else {
      unlabelled.add(`${name}/${output.name}`);
    }
  }
  return labels;
}

async function runOnce(name) {
  const begin = performance.now();
  if (promptOf) {
    await showText(byId("outputs"), name, promptOf());
    return { taken: performance.now() - begin };
  }
  const reply = await ask(`${modelPath(name)}/infer`, requestOf(""));
  const taken = performance.now() - begin;
  return { taken, outputs: reply.outputs, labels: await readLabels(name, reply.outputs) };
}

async function run(event) {
  event.preventDefault();
  const button = event.target.querySelector("button.primary");
  const name = chosen;
  button.disabled = true;
  show("failure", "");
  try {
    const { taken, outputs, labels } = await runOnce(name);
    if (name !== chosen) return;
    byId("taken").textContent = `${milliseconds(taken)} from here and back`;
    if (outputs) showOutputs(byId("outputs"), outputs, labels);
  } catch (error) {
    show("failure", error.message);
  } finally {
    button.disabled = false;
  }
}

// Reads again what changes all the time.
async function refresh() {
  if (document.hidden) return;
  try {
    listed = await readModels();
    takeStatistics(await ask("/v2/models/stats"), performance.now());
    show("notice", "");
    if (chosen !== null && listed.get(chosen) !== "READY") {
      chosen = null;
      byId("model").hidden = true;
    }
    const first = [...listed].find(([, state]) => state === "READY");
    if (chosen === null && first) await choose(first[0]);
    showModels();
    if (chosen !== null) drawLive(chosen);
  } catch (error) {
    const wrongKey = hasKey() ? "The key is not one of the server's." : "The server wants a key: give one above.";
    show("notice", error.status === 401 || error.status === 403 ? wrongKey : error.message);
  }
}

async function keepFresh() {
  await refresh();
  setTimeout(keepFresh, 1000);
}

byId("key-form").onsubmit = (event) => {
  event.preventDefault();
  useKey(byId("key").value);
  byId("key").value = "";
  byId("key").placeholder = hasKey() ? "in use" : "none";
  refresh();
};
byId("key").placeholder = hasKey() ? "in use" : "none";
byId("try").onsubmit = run;
ask("/v2").then((server) => {
  byId("server").textContent = server.version;
}, () => {});
keepFresh();
