#!/usr/bin/env python3
"""Losses and their gradients by PyTorch in double, for losses_test. Run by the Python of `scripts/peers torch`:
make_cases.py [DIR]. A file a case: the arguments in order, `loss`, and `gradient<i>` of each float argument that has one."""
import os
import sys

import numpy as np
import torch
import torch.nn.functional as F

torch.manual_seed(5)
R = lambda *shape: torch.randn(*shape, dtype=torch.float64)  # noqa: E731
P = lambda *shape: torch.rand(*shape, dtype=torch.float64) * 0.9 + 0.05  # noqa: E731
I = lambda high, *shape: torch.randint(high, shape)  # noqa: E731
signs = lambda *shape: (torch.randint(2, shape) * 2 - 1).double()  # noqa: E731
ignoring = torch.tensor([1, -100, 3, 0, -100, 4])
weight = P(5)


def ctc(**options):
    """Of scores: PyTorch's gradient of ctc_loss is meant for log_softmax below it."""
    return lambda x, y, frames, lengths: F.ctc_loss(torch.log_softmax(x, 2), y, frames, lengths, **options)


ctc_targets = torch.tensor([[1, 2, 2, 3], [4, 1, 9, -7], [3, 3, 3, 1], [1, 1, 1, 1]])  # with a label twice and with padding
ctc_lengths = torch.tensor([4, 2, 3, 0])
ctc_frames = torch.tensor([9, 5, 8, 6])

# name: (function, arguments, how many of them get a gradient)
CASES = {
    "cross_entropy": (F.cross_entropy, [R(6, 5), I(5, 6)], 1),
    "cross_entropy_sum": (lambda x, y: F.cross_entropy(x, y, reduction="sum"), [R(6, 5), I(5, 6)], 1),
    "cross_entropy_none": (lambda x, y: F.cross_entropy(x, y, reduction="none"), [R(6, 5), I(5, 6)], 1),
    "cross_entropy_one": (F.cross_entropy, [R(5), I(5, 1)[0]], 1),
    "cross_entropy_ignore": (F.cross_entropy, [R(6, 5), ignoring], 1),
    "cross_entropy_weight": (lambda x, y, w: F.cross_entropy(x, y, w), [R(6, 5), ignoring, weight], 1),
    "cross_entropy_smooth": (lambda x, y: F.cross_entropy(x, y, label_smoothing=0.1), [R(6, 5), ignoring], 1),
    "cross_entropy_smooth_weight": (lambda x, y, w: F.cross_entropy(x, y, w, label_smoothing=0.2), [R(6, 5), ignoring, weight], 1),
    "cross_entropy_image": (lambda x, y, w: F.cross_entropy(x, y, w, label_smoothing=0.2), [R(2, 5, 3, 2), I(5, 2, 3, 2), weight], 1),
    "cross_entropy_probabilities": (F.cross_entropy, [R(6, 5), torch.softmax(R(6, 5), 1)], 1),
    "cross_entropy_probabilities_smooth": (lambda x, y, w: F.cross_entropy(x, y, w, label_smoothing=0.3),
                                           [R(2, 5, 3), torch.softmax(R(2, 5, 3), 1), weight], 1),
    "nll": (F.nll_loss, [torch.log_softmax(R(6, 5), 1), I(5, 6)], 1),
    "nll_weight_none": (lambda x, y, w: F.nll_loss(x, y, w, reduction="none"), [R(6, 5), ignoring, weight], 1),
    "bce": (F.binary_cross_entropy, [P(4, 3), P(4, 3)], 1),
    "bce_bounds": (F.binary_cross_entropy, [torch.tensor([1e-60, 0.5, 1 - 1e-16], dtype=torch.float64), torch.tensor([1.0, 1.0, 0.0]).double()], 0),
    "bce_weight": (lambda x, y, w: F.binary_cross_entropy(x, y, w, reduction="sum"), [P(4, 3), P(4, 3), P(4, 3)], 1),
    "bce_logits": (F.binary_cross_entropy_with_logits, [R(4, 3) * 30, P(4, 3)], 1),
    "bce_logits_weights": (lambda x, y, w, p: F.binary_cross_entropy_with_logits(x, y, w, pos_weight=p), [R(4, 3), P(4, 3), P(4, 3), P(3) * 3], 1),
    "mse": (F.mse_loss, [R(4, 3), R(4, 3)], 2),
    "l1": (lambda x, y: F.l1_loss(x, y, reduction="sum"), [R(4, 3), R(4, 3)], 2),
    "huber": (lambda x, y: F.huber_loss(x, y, delta=0.7), [R(4, 3), R(4, 3)], 2),
    "smooth_l1": (lambda x, y: F.smooth_l1_loss(x, y, beta=0.6), [R(4, 3), R(4, 3)], 2),
    "smooth_l1_zero": (lambda x, y: F.smooth_l1_loss(x, y, beta=0.0), [R(4, 3), R(4, 3)], 2),
    "kl": (F.kl_div, [torch.log_softmax(R(4, 3), 1), torch.tensor([[0.0, 0.25, 0.75]] * 4).double()], 1),
    "kl_log": (lambda x, y: F.kl_div(x, y, log_target=True, reduction="sum"), [R(4, 3), R(4, 3)], 2),
    "kl_batch": (lambda x, y: F.kl_div(x, y, reduction="batchmean"), [R(4, 3), P(4, 3)], 2),
    "poisson": (F.poisson_nll_loss, [R(4, 3), P(4, 3)], 1),
    "poisson_linear": (lambda x, y: F.poisson_nll_loss(x, y, log_input=False), [P(4, 3), P(4, 3)], 1),
    "gaussian": (F.gaussian_nll_loss, [R(4, 3), R(4, 3), P(4, 3)], 3),
    "cosine_embedding": (lambda a, b, y: F.cosine_embedding_loss(a, b, y, margin=0.1), [R(6, 4), R(6, 4), signs(6)], 2),
    "triplet": (F.triplet_margin_loss, [R(6, 4), R(6, 4), R(6, 4)], 3),
    "triplet_swap": (lambda a, p, n: F.triplet_margin_loss(a, p, n, margin=0.5, swap=True, reduction="none"), [R(6, 4), R(6, 4), R(6, 4)], 3),
    "hinge": (lambda x, y: F.hinge_embedding_loss(x, y, margin=0.8), [R(4, 3), signs(4, 3)], 1),
    "margin_ranking": (lambda a, b, y: F.margin_ranking_loss(a, b, y, margin=0.2), [R(6), R(6), signs(6)], 2),
    "soft_margin": (F.soft_margin_loss, [R(4, 3), signs(4, 3)], 1),
    "ctc": (ctc(), [R(9, 4, 5), ctc_targets, ctc_frames, ctc_lengths], 1),
    "ctc_sum": (ctc(reduction="sum", blank=4), [R(9, 4, 5), ctc_targets % 4, ctc_frames, ctc_lengths], 1),
    "ctc_row": (ctc(reduction="none"), [R(9, 3, 5), torch.tensor([1, 2, 2, 3, 4, 1, 3, 3, 3]), ctc_frames[:3], ctc_lengths[:3]], 1),
    "ctc_long": (ctc(), [R(200, 2, 30) * 5, I(29, 2, 40) + 1, torch.tensor([200, 150]), torch.tensor([40, 25])], 1),
    "ctc_impossible": (ctc(zero_infinity=True), [R(4, 3, 5), torch.tensor([[1, 1, 1], [1, 2, 3], [2, 3, 4]]), torch.tensor([4, 2, 4]),
                                                 torch.tensor([3, 3, 3])], 1),
    "ctc_infinite": (ctc(reduction="none"), [R(4, 2, 5), torch.tensor([[1, 1, 1], [1, 2, 3]]), torch.tensor([4, 4]), torch.tensor([3, 3])], 0),
    "poisson_full": (lambda x, y: F.poisson_nll_loss(x, y, full=True), [R(4, 3), torch.tensor([[0.0, 1, 2], [3, 7, 0.5], [1.5, 2, 4], [9, 0, 1]]).double()], 1),
    "gaussian_full": (lambda x, y, v: F.gaussian_nll_loss(x, y, v, full=True, reduction="sum"), [R(4, 3), R(4, 3), P(4, 3)], 3),
    "triplet_distance": (lambda a, p, n: F.triplet_margin_with_distance_loss(a, p, n, distance_function=lambda x, y: (x - y).abs().sum(-1), margin=0.7,
                                                                             swap=True), [R(6, 4), R(6, 4), R(6, 4)], 3),
    "multi_margin": (F.multi_margin_loss, [R(6, 5), I(5, 6)], 1),
    "multi_margin_square": (lambda x, y, w: F.multi_margin_loss(x, y, p=2, margin=0.6, weight=w, reduction="none"), [R(6, 5), I(5, 6), weight], 1),
    "multi_label_margin": (F.multilabel_margin_loss, [R(4, 5), torch.tensor([[3, 0, -1, 1, 2], [-1, 0, 1, 2, 3], [4, 2, 0, 1, 3], [2, -1, -1, -1, -1]])], 1),
    "multi_label_margin_none": (lambda x, y: F.multilabel_margin_loss(x, y, reduction="none"),
                                [R(3, 5), torch.tensor([[3, 0, -1, 1, 2], [1, 4, 2, -1, 3], [4, -1, 0, 1, 3]])], 1),
    "multi_label_soft_margin": (F.multilabel_soft_margin_loss, [R(4, 5), I(2, 4, 5).double()], 1),
    "multi_label_soft_margin_weight": (lambda x, y, w: F.multilabel_soft_margin_loss(x, y, w, reduction="sum"), [R(4, 5), I(2, 4, 5).double(), weight], 1),
}


def main():
    out = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases")
    os.makedirs(out, exist_ok=True)
    for name, (function, arguments, differentiated) in CASES.items():
        arguments = [a.clone().requires_grad_(i < differentiated) for i, a in enumerate(arguments)]
        loss = function(*arguments)
        arrays = {f"argument{i}": a.detach().numpy() for i, a in enumerate(arguments)}
        arrays["loss"] = loss.detach().numpy()
        if differentiated:
            loss.sum().backward()
        for i in range(differentiated):
            arrays[f"gradient{i}"] = arguments[i].grad.numpy()
        np.savez_compressed(os.path.join(out, f"{name}.npz"), **arrays)


if __name__ == "__main__":
    main()
