#!/usr/bin/env python3
"""Trainings by PyTorch in double, for trainer/*_test.cc: accumulated steps as the one batch that they stand for, averages with
BatchNormalization. Run by the Python of `scripts/peers torch`: make_cases.py. A file a case: `data/<field>`, `start/<parameter>`,
`want/<state>` at the end, `losses` of the steps, and `evaluation`, the loss of all data as one batch."""
import os

import numpy as np
import torch
import torch.nn.functional as F
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn, update_bn

torch.set_default_dtype(torch.float64)
torch.manual_seed(3)
CASES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases")
R = torch.randn
N, FEATURES, CLASSES, FRAMES = 7, 4, 3, 5
ignoring = torch.tensor([0, -100, 2, -100, -100, 1, 0])  # of the second batch of two none counts
tokens = torch.randint(0, CLASSES, (N, FRAMES))
tokens[1, 2:] = tokens[3, 1:] = tokens[4, :4] = -100
CLASS_WEIGHT = torch.tensor([0.5, 2.0, 1.25])
ctc_labels = torch.tensor([[1, 2], [2, -1], [1, 1], [2, 1], [1, -1], [2, 2], [1, 2]])


def ctc(scores, label):
    lengths = (label >= 0).sum(1)
    frames = torch.full((len(label),), FRAMES)
    return F.ctc_loss(scores.log_softmax(-1).transpose(0, 1), label.clamp(min=0), frames, lengths)


rows = lambda x: x.reshape(-1, CLASSES)  # noqa: E731
# name: (loss of scores and labels, data, labels)
LOSSES = {
    "classes_ignored": (F.cross_entropy, R(N, FEATURES), ignoring),
    "classes_weighted": (lambda x, y: F.cross_entropy(x, y, weight=CLASS_WEIGHT, label_smoothing=0.1), R(N, FEATURES), ignoring),
    "classes_sum": (lambda x, y: F.cross_entropy(x, y, reduction="sum"), R(N, FEATURES), ignoring),
    "probabilities": (F.cross_entropy, R(N, FEATURES), R(N, CLASSES).softmax(1)),
    "tokens": (lambda x, y: F.cross_entropy(rows(x), y.reshape(-1)), R(N, FRAMES, FEATURES), tokens),
    "nll": (lambda x, y: F.nll_loss(x, y, weight=CLASS_WEIGHT), R(N, FEATURES), ignoring),
    "mse": (F.mse_loss, R(N, FEATURES), R(N, CLASSES)),
    "bce_with_logits": (lambda x, y: F.binary_cross_entropy_with_logits(x, y, weight=CLASS_WEIGHT), R(N, FEATURES), R(N, CLASSES).sigmoid()),
    "kl": (lambda x, y: F.kl_div(x, y, reduction="batchmean"), R(N, FEATURES), R(N, CLASSES).softmax(1)),
    "multi_margin": (F.multi_margin_loss, R(N, FEATURES), ignoring.clamp(min=0)),
    "multi_label_soft_margin": (F.multilabel_soft_margin_loss, R(N, FEATURES), (R(N, CLASSES) > 0).double()),
    "ctc": (ctc, R(N, FRAMES, FEATURES), ctc_labels),
}


def numbers(tensor):
    return tensor.detach().numpy()


def train(loss, x, label, accumulate, batch=2, epochs=3):
    """Steps over the examples of `accumulate` batches at a time; an epoch's last step has what is left."""
    weight = (R(FEATURES, CLASSES) * 0.5).requires_grad_()
    start = numbers(weight).copy()
    optimizer = torch.optim.SGD([weight], lr=0.5, momentum=0.5)
    losses = []
    for _ in range(epochs):
        for begin in range(0, N, batch * accumulate):
            part = slice(begin, begin + batch * accumulate)
            optimizer.zero_grad()
            value = loss(x[part] @ weight, label[part])
            value.backward()
            torch.nn.utils.clip_grad_norm_([weight], 0.6)
            optimizer.step()
            losses.append(value.item())
    return {"data/x": numbers(x), "data/label": label.numpy(), "start/weight": start, "want/weight": numbers(weight), "losses": np.array(losses),
            "evaluation": np.array(loss(x @ weight, label).item())}


class Net(torch.nn.Module):
    """One BatchNormalization is used twice."""

    def __init__(self):
        super().__init__()
        self.fc1 = torch.nn.Linear(FEATURES, 6)
        self.bn1 = torch.nn.BatchNorm1d(6)
        self.fc2 = torch.nn.Linear(6, 6)
        self.fc3 = torch.nn.Linear(6, CLASSES)

    def forward(self, x):
        x = torch.relu(self.bn1(self.fc1(x)))
        return self.fc3(torch.relu(self.bn1(self.fc2(x))))


def average(uniform, start, every, steps):
    n, batch = 24, 4
    x, label = R(n, FEATURES) * 2 + 1, torch.randint(0, CLASSES, (n,))
    net = Net()
    case = {"data/x": numbers(x), "data/label": label.numpy()}
    case |= {f"start/{name}": numbers(value).copy() for name, value in net.state_dict().items() if value.is_floating_point()}
    averaged = AveragedModel(net) if uniform else AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(0.8), use_buffers=True)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.3)
    net.train()
    batches = [(x[i : i + batch], label[i : i + batch]) for i in range(0, n, batch)]
    for step in range(steps):
        data, target = batches[step % len(batches)]
        optimizer.zero_grad()
        F.cross_entropy(net(data), target).backward()
        optimizer.step()
        if step >= start and (step - start) % every == 0:
            averaged.update_parameters(net)
    if uniform:
        update_bn([data for data, _ in batches], averaged)
    averaged.eval()
    case |= {f"want/{name}": numbers(value) for name, value in averaged.module.state_dict().items() if value.is_floating_point()}
    case["evaluation"] = np.array(F.cross_entropy(averaged(x), label).item())
    return case


def main():
    os.makedirs(CASES, exist_ok=True)
    for name, (loss, x, label) in LOSSES.items():
        for accumulate in (2, 3):
            np.savez(os.path.join(CASES, f"accumulate_{name}_{accumulate}.npz"), **train(loss, x, label, accumulate))
    np.savez(os.path.join(CASES, "average_exponential.npz"), **average(False, 3, 1, 14))
    np.savez(os.path.join(CASES, "average_uniform.npz"), **average(True, 4, 2, 15))


main()
