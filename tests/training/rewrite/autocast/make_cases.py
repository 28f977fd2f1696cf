#!/usr/bin/env python3
"""Steps under PyTorch's autocast and the history of its GradScaler, for autocast_test and loss_scale_test. Run by the Python of
`scripts/peers torch`: make_cases.py [DIR]. A file a model: its state dict, `x`, `label`, `loss` and `gradient/<name>` under
CPU autocast in bfloat16, `exact/...` in float32."""
import os
import sys

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


def mlp():
    return nn.Sequential(nn.Linear(20, 32), nn.GELU(), nn.Linear(32, 32), nn.LayerNorm(32), nn.ReLU(), nn.Linear(32, 5)), (16, 20)


def cnn():
    return nn.Sequential(nn.Conv2d(2, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 8, 3, stride=2),
                         nn.Flatten(), nn.Linear(32, 5)), (8, 2, 10, 10)


def step(model, x, label, enabled):
    model.zero_grad(set_to_none=True)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=enabled):
        loss = F.cross_entropy(model(x), label)
    loss.backward()
    prefix = "" if enabled else "exact/"
    made = {prefix + "loss": loss.detach().float().numpy()}
    made.update({prefix + "gradient/" + name: p.grad.numpy().copy() for name, p in model.named_parameters()})
    return made


def models(folder):
    for name, make in {"mlp": mlp, "cnn": cnn}.items():
        torch.manual_seed(7)
        model, shape = make()
        x, label = torch.randn(*shape), torch.randint(5, shape[:1])
        arrays = {"x": x.numpy(), "label": label.numpy()}
        arrays.update({k: v.numpy().copy() for k, v in model.state_dict().items() if v.dtype == torch.float32})
        for enabled in (False, True):
            arrays.update(step(model, x, label, enabled))
        np.savez_compressed(os.path.join(folder, name + ".npz"), **arrays)


def scaler(folder):
    scaler = torch.amp.GradScaler("cpu", init_scale=3e37, growth_factor=3.0, backoff_factor=0.3, growth_interval=3)
    weight = nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    finite, scales = [], []
    wrong = {4, 9, 10, 16, 40, 41, 42, 43, 60}
    for i in range(80):
        optimizer.zero_grad()
        scaler.scale(torch.zeros(()))  # makes the scale
        weight.grad = torch.tensor([1.0, float("inf") if i % 2 else float("nan")] if i in wrong else [1.0, 2.0])
        scaler.step(optimizer)
        scaler.update()
        finite.append(i not in wrong)
        scales.append(scaler.get_scale())
    np.savez_compressed(os.path.join(folder, "scaler.npz"), finite=np.array(finite, np.int64), scale=np.array(scales, np.float64))


if __name__ == "__main__":
    target = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases")
    os.makedirs(target, exist_ok=True)
    models(target)
    scaler(target)
