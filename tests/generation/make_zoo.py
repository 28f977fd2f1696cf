#!/usr/bin/env python3
"""Tokens that the zoo's decoders give by greedy choice, token by token in ONNX Runtime, for zoo_test. Run by the Python of
`scripts/peers onnxruntime`: make_zoo.py ZOO [FILE]."""
import json
import os
import sys

import numpy as np
import onnxruntime

PROMPTS = {"gpt2_decode": [[464, 3290, 318], [50256]], "llama_tiny_decode": [[5, 17, 4000, 3], [8191]]}
NEW = 12


def greedy(session, prompt):
    names = {each.name: each for each in session.get_inputs()}
    outputs = [each.name for each in session.get_outputs()]
    caches = {name: np.zeros([0 if dim == "past" else dim if isinstance(dim, int) else 1 for dim in each.shape], np.float32)
              for name, each in names.items() if name.startswith("past")}
    tokens, margin = list(prompt), np.inf
    for at in range(len(prompt) + NEW - 1):
        results = dict(zip(outputs, session.run(None, {"input_ids": np.array([[tokens[at]]]), **caches})))
        caches = {name: results[name.replace("past", "present")] for name in caches}
        if at + 1 >= len(tokens):
            scores = np.sort(results["logits"][0])
            margin = min(margin, float(scores[-1] - scores[-2]))
            tokens.append(int(results["logits"][0].argmax()))
    return tokens[len(prompt):], margin


def main():
    file = sys.argv[2] if len(sys.argv) > 2 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "zoo.json")
    cases = []
    for model, prompts in PROMPTS.items():
        session = onnxruntime.InferenceSession(os.path.join(sys.argv[1], model, "model.onnx"), providers=["CPUExecutionProvider"])
        for prompt in prompts:
            ids, margin = greedy(session, prompt)
            cases.append({"model": model, "prompt": prompt, "ids": ids, "least_margin": margin})
    with open(file, "w") as out:
        json.dump(cases, out, indent=0)
        out.write("\n")


main()
