#!/usr/bin/env python3
"""Trajectories of PyTorch's optimizers, for optimizers_test. Run by the Python of `scripts/peers torch`:
make_cases.py [DIR]. Each file has two parameters, 20 gradients of each, and the parameters after each step; Lion and
LAMB, which PyTorch does not have, are written out here as their papers have them."""
import os
import sys

import numpy as np
import torch

STEPS = 20
CASES = {
    "sgd": ("SGD", dict(lr=0.1)),
    "sgd_decay": ("SGD", dict(lr=0.1, weight_decay=0.05, maximize=True)),
    "sgd_momentum": ("SGD", dict(lr=0.1, momentum=0.9)),
    "sgd_dampening": ("SGD", dict(lr=0.1, momentum=0.9, dampening=0.3, weight_decay=0.01)),
    "sgd_nesterov": ("SGD", dict(lr=0.1, momentum=0.9, nesterov=True, weight_decay=5e-4)),
    "adam": ("Adam", dict()),
    "adam_decay": ("Adam", dict(lr=0.01, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.1)),
    "adam_amsgrad": ("Adam", dict(lr=0.05, amsgrad=True)),
    "adamw": ("AdamW", dict(lr=0.01)),
    "adamw_amsgrad": ("AdamW", dict(lr=0.01, betas=(0.9, 0.99), amsgrad=True, maximize=True)),
    "adagrad": ("Adagrad", dict(lr=0.1)),
    "adagrad_decay": ("Adagrad", dict(lr=0.1, lr_decay=0.02, weight_decay=0.1, initial_accumulator_value=0.3)),
    "rmsprop": ("RMSprop", dict(lr=0.01)),
    "rmsprop_momentum": ("RMSprop", dict(lr=0.01, momentum=0.9, weight_decay=0.1, alpha=0.95)),
    "rmsprop_centered": ("RMSprop", dict(lr=0.01, centered=True)),
    "rmsprop_all": ("RMSprop", dict(lr=0.01, centered=True, momentum=0.5, eps=1e-4)),
    "adadelta": ("Adadelta", dict()),
    "adadelta_decay": ("Adadelta", dict(lr=0.7, rho=0.8, eps=1e-4, weight_decay=0.1)),
    "nadam": ("NAdam", dict()),
    "nadam_decay": ("NAdam", dict(lr=0.01, weight_decay=0.1, momentum_decay=0.01)),
    "nadam_decoupled": ("NAdam", dict(lr=0.01, weight_decay=0.1, decoupled_weight_decay=True)),
    "radam": ("RAdam", dict(lr=0.05)),
    "radam_decay": ("RAdam", dict(lr=0.05, betas=(0.9, 0.9), weight_decay=0.1)),
    "radam_decoupled": ("RAdam", dict(lr=0.05, weight_decay=0.1, decoupled_weight_decay=True)),
    "adafactor": ("Adafactor", dict()),
    "adafactor_decay": ("Adafactor", dict(lr=0.3, beta2_decay=-0.6, d=1.5, weight_decay=0.1, eps=(1e-10, 1e-2))),
    "adafactor_odd": ("Adafactor", dict(lr=0.3, weight_decay=0.1, maximize=True)),
    "adafactor_few": ("Adafactor", dict(lr=0.3)),
    "muon": ("Muon", dict(lr=0.02)),
    "muon_odd": ("Muon", dict(lr=0.02, nesterov=False, weight_decay=0.2)),
    "muon_few": ("Muon", dict(lr=0.02)),
    "lion": ("Lion", dict(lr=0.01, betas=(0.9, 0.99), weight_decay=0.1)),
    "lamb": ("LAMB", dict(lr=0.01, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.1)),
    "lamb_odd": ("LAMB", dict(lr=0.01, betas=(0.8, 0.99), eps=1e-8, weight_decay=0.0)),
    "lamb_few": ("LAMB", dict(lr=0.01, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.1)),
}
SHAPES = {
    "adafactor_odd": [(2, 3, 5), (1, 20)],
    "adafactor_few": [(1,), ()],
    "muon_odd": [(3, 7), (9, 1)],
    "muon_few": [(1, 1), (0, 3)],
    "lamb_odd": [(2, 3, 5), ()],
    "lamb_few": [(1,), (0, 4)],
}


class Lion(torch.optim.Optimizer):
    def __init__(self, params, **options):
        super().__init__(params, options)

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                update = torch.sign(beta1 * m + (1 - beta1) * p.grad)
                p.sub_(group["lr"] * (update + group["weight_decay"] * p))
                m.copy_(beta2 * m + (1 - beta2) * p.grad)


class LAMB(torch.optim.Optimizer):
    def __init__(self, params, **options):
        super().__init__(params, options)

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state.update(m=torch.zeros_like(p), v=torch.zeros_like(p), t=0)
                state["t"] += 1
                state["m"] = beta1 * state["m"] + (1 - beta1) * p.grad
                state["v"] = beta2 * state["v"] + (1 - beta2) * p.grad**2
                m = state["m"] / (1 - beta1 ** state["t"])
                v = state["v"] / (1 - beta2 ** state["t"])
                update = m / (v.sqrt() + group["eps"]) + group["weight_decay"] * p
                norm, other = p.norm(), update.norm()
                trust = norm / other if norm > 0 and other > 0 else 1.0
                p.sub_(group["lr"] * trust * update)


def option_text(options):
    """As Onward names them."""
    flat = {}
    for name, value in options.items():
        if name == "betas":
            flat["beta1"], flat["beta2"] = value
        elif name == "eps" and isinstance(value, tuple):
            flat["eps1"], flat["eps2"] = value
        else:
            flat[name] = value
    return " ".join(f"{name}={float(value)!r}" for name, value in flat.items())


def trajectory(name, optimizer, options, dtype):
    generator = np.random.default_rng(2024)
    shapes = SHAPES.get(name) or ([(4, 3), (5, 2)] if optimizer == "Muon" else [(4, 3), (5,)])
    starts = [np.asarray(generator.normal(size=s)) for s in shapes]
    gradients = [generator.normal(size=(STEPS, *s)) for s in shapes]
    parameters = [torch.tensor(s, dtype=dtype, requires_grad=True) for s in starts]
    made = {"Lion": Lion, "LAMB": LAMB}.get(optimizer) or getattr(torch.optim, optimizer)
    if optimizer == "Adafactor" and "eps" not in options:
        options = dict(options, eps=(float(np.finfo(np.float32).eps), 1e-3))
    stepper = made(parameters, **options)
    after = [[] for _ in parameters]
    for step in range(STEPS):
        for parameter, gradient in zip(parameters, gradients):
            parameter.grad = torch.tensor(gradient[step], dtype=dtype)
        stepper.step()
        for list_, parameter in zip(after, parameters):
            list_.append(parameter.detach().numpy().copy())
    arrays = {}
    for i in range(len(parameters)):
        arrays[f"start{i}"] = starts[i].astype(after[i][0].dtype)
        arrays[f"gradient{i}"] = gradients[i].astype(after[i][0].dtype)
        arrays[f"after{i}"] = np.stack(after[i])
    return arrays


def main():
    out = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases")
    os.makedirs(out, exist_ok=True)
    torch.bfloat16 = torch.float64  # Muon's iterations in the parameter's precision
    torch.set_default_dtype(torch.float64)  # of the scalars that NAdam keeps too
    lines = []
    for name, (optimizer, options) in CASES.items():
        np.savez_compressed(os.path.join(out, f"{name}.npz"), **trajectory(name, optimizer, options, torch.float64))
        lines.append(f"{name} {optimizer} {option_text(options)}".rstrip())
    with open(os.path.join(out, "cases.txt"), "w") as file:
        file.write(f"# Written by make_cases.py with PyTorch {torch.__version__}.\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
