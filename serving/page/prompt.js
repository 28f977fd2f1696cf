// The form of a model that generates text, and the text that comes.

import { follow, modelPath } from "./api.js";
import { element } from "./elements.js";

function numberField(name, value, step, most) {
  const input = element("input", { type: "number", class: "shape", min: 0, max: most, step, value });
  return { label: element("label", {}, `${name} `, input), input };
}

// Fills `place` with a field for the prompt; what comes back is the request, as an object.
export function makePrompt(place) {
  const text = element("textarea", { value: "Once upon a time", rows: 4 });
  text.setAttribute("aria-label", "prompt");
  const tokens = numberField("Tokens", 60, 1, 100000);
  const temperature = numberField("Temperature", 1, 0.1, 2);
  place.replaceChildren(text, element("div", { class: "row" }, tokens.label, temperature.label));
  return () => ({
    text_input: text.value,
    parameters: { max_tokens: Number(tokens.input.value), temperature: Number(temperature.input.value) },
  });
}

// Writes the text into `place` as it comes.
export async function showText(place, name, request) {
  const text = element("pre", { class: "text", textContent: request.text_input });
  text.setAttribute("aria-live", "polite");
  place.replaceChildren(text);
  await follow(`${modelPath(name)}/generate_stream`, JSON.stringify(request), (event) => {
    text.append(event.text_output);
  });
}
