#!/usr/bin/env python3
"""Trainings of embeddings whose rows have a largest norm, as PyTorch has them, for embedding_steps_test. Run by the Python
of `scripts/peers torch`: make_embedding_steps.py [FILE]. The loss of a batch is the mean over its examples of
sum(embedding(ids) * c); 3 steps of SGD, of one batch each ("one") or of two ("two")."""
import os
import sys

import numpy as np
import torch

torch.set_default_dtype(torch.float32)
STEPS, BATCH = 3, 2


def train(start, ids, c, batches):
    table = torch.nn.Embedding(6, 3, max_norm=0.9)
    with torch.no_grad():
        table.weight.copy_(start)
    optimizer = torch.optim.SGD(table.parameters(), lr=0.3, momentum=0.9, weight_decay=0.1)
    after, at = [], 0
    for _ in range(STEPS):
        optimizer.zero_grad()
        for _ in range(batches):
            loss = (table(ids[at:at + BATCH]) * c[at:at + BATCH]).sum() / BATCH / batches
            loss.backward()
            at += BATCH
        optimizer.step()
        after.append(table.weight.detach().numpy().copy())
    return np.stack(after)


def main():
    file = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "embedding_steps.npz")
    torch.manual_seed(4)
    start, ids, c = torch.randn(6, 3), torch.randint(0, 5, (12, 2)), torch.randn(12, 2, 3)
    np.savez_compressed(file, start=start.numpy(), ids=ids.numpy(), c=c.numpy(),
                        one=train(start, ids, c, 1), two=train(start, ids, c, 2))


main()
