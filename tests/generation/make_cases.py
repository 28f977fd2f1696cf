#!/usr/bin/env python3
"""What transformers generates with a small GPT-2 of random weights, for generate_test: the weights (weights.npz), tokens by
greedy choice and by beams, and scores as its processors and warpers change them (cases.json). Run by the Python of
`scripts/peers torch`: make_cases.py [DIR]."""
import json
import os
import sys

import numpy as np
import torch
import transformers
from transformers import LogitsProcessorList, RepetitionPenaltyLogitsProcessor, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

VOCABULARY, NEW = 13, 12
STOP, STOPS = [5], [2, 8]


def model():
    config = transformers.GPT2Config(vocab_size=VOCABULARY, n_positions=32, n_embd=8, n_layer=2, n_head=2, attn_implementation="eager",
                                     bos_token_id=0, eos_token_id=None, tie_word_embeddings=False)
    made = transformers.GPT2LMHeadModel(config).double().eval()
    with torch.no_grad():
        # Strong positions and weak biases: else one token is the best everywhere.
        for name, value in made.named_parameters():
            scale = 2 if "wpe" in name else 0.05 if "bias" in name else 0.5
            value.copy_((torch.randn_like(value) * scale).half())
    return made


def generations(gpt):
    prompts = [[1], [4, 7, 2], [11, 3, 5, 5, 9, 0]]
    greedy = [{}, {"repetition_penalty": 1.3}, {"stop": STOP}, {"repetition_penalty": 2.5, "stop": STOPS}]
    beams = [{"beams": b, "length_penalty": p, **more} for b, p in [(2, 1.0), (3, 0.5), (4, 2.0), (3, -1.0), (1, 1.0)]
             for more in ({}, {"stop": STOP}, {"stop": STOPS, "early_stopping": True}, {"repetition_penalty": 1.5})
             if b > 1 or "repetition_penalty" not in more]  # one beam is greedy choice there: the penalty is on scores
    cases = []
    for prompt in prompts:
        for options in greedy + beams:
            result = gpt.generate(torch.tensor([prompt]), max_new_tokens=NEW, do_sample=False, pad_token_id=12,
                                  num_beams=options.get("beams", 1), length_penalty=options.get("length_penalty", 1.0),
                                  early_stopping=options.get("early_stopping", False),
                                  repetition_penalty=options.get("repetition_penalty", 1.0), eos_token_id=options.get("stop"),
                                  num_return_sequences=1, return_dict_in_generate=True, output_scores=True)
            ids = result.sequences[0, len(prompt):].tolist()
            case = {"prompt": prompt, "options": options, "ids": ids}
            if options.get("beams", 1) > 1:
                case["score"] = float(result.sequences_scores[0])
            cases.append(case)
    return cases


def filters():
    cases = []
    for temperature, top_k, top_p, penalty in [(1, 0, 1, 1), (0.7, 0, 1, 1), (1, 5, 1, 1), (1, 1, 1, 1), (1, 40, 1, 1), (1, 0, 0.9, 1), (1, 0, 0.05, 1),
                                               (1.5, 8, 0.8, 1), (0.5, 3, 0.99, 1.4), (2, 0, 0.5, 3)]:
        scores = torch.randn(1, 20) * 3
        scores[0, 7] = scores[0, 2]  # a tie
        tokens = torch.tensor([[3, 3, 19, 0, 7]])
        chain = LogitsProcessorList()
        if penalty != 1:
            chain.append(RepetitionPenaltyLogitsProcessor(float(penalty)))
        if temperature != 1:
            chain.append(TemperatureLogitsWarper(float(temperature)))
        if top_k:
            chain.append(TopKLogitsWarper(top_k))
        if top_p < 1:
            chain.append(TopPLogitsWarper(top_p))
        result = chain(tokens, scores.clone())[0].tolist()
        cases.append({"temperature": temperature, "top_k": top_k, "top_p": top_p, "repetition_penalty": penalty, "tokens": tokens[0].tolist(),
                      "scores": scores[0].tolist(), "result": [None if np.isinf(each) else each for each in result]})
    return cases


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    torch.manual_seed(0)
    gpt = model()
    np.savez_compressed(os.path.join(folder, "weights.npz"), **{key: value.half().numpy() for key, value in gpt.state_dict().items()})
    with open(os.path.join(folder, "cases.json"), "w") as file:
        json.dump({"generations": generations(gpt), "filters": filters()}, file, indent=0)
        file.write("\n")


main()
