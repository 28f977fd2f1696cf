"""Continues a text with a GPT of characters: continue_text.py MODEL.pt2 VOCABULARY.txt TEXT"""
import sys

import torch


@torch.no_grad()
def generate(model, tokens, max_new_tokens, context, temperature, top_k):
    for _ in range(max_new_tokens):
        logits = model(tokens[:, -context:])[:, -1] / temperature
        kth = torch.topk(logits, top_k).values[:, -1:]
        probabilities = torch.softmax(logits.masked_fill(logits < kth, -torch.inf), dim=-1)
        token = torch.multinomial(probabilities, num_samples=1)
        tokens = torch.cat([tokens, token], dim=1)
    return tokens


def main():
    path, tokens, text = sys.argv[1:]
    with open(tokens, encoding="utf-8") as file:
        vocabulary = [line.rstrip("\n").replace("\\n", "\n") for line in file]
    number = {token: i for i, token in enumerate(vocabulary)}
    model = torch.export.load(path).module()
    torch.manual_seed(0)
    prompt = torch.tensor([[number[character] for character in text]])
    tokens = generate(model, prompt, 200, context=64, temperature=0.8, top_k=20)
    print("".join(vocabulary[token] for token in tokens[0, len(text):]))


if __name__ == "__main__":
    main()
