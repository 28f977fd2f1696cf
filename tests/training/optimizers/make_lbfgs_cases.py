#!/usr/bin/env python3
"""Trajectories of torch.optim.LBFGS in double, for lbfgs_test. Run by the Python of `scripts/peers torch`:
make_lbfgs_cases.py [DIR]. Each file has the parameters before ("start/...") and after each of 10 steps ("after/..."), the
loss that each step began with and how often the function was evaluated so far."""
import os
import sys

import numpy as np
import torch

STEPS = 10
CASES = {
    "rosenbrock": ("rosenbrock", dict(lr=0.02, max_iter=5)),
    "rosenbrock_wolfe": ("rosenbrock", dict(max_iter=3, line_search_fn="strong_wolfe")),
    "rosenbrock_few": ("rosenbrock", dict(max_iter=6, max_eval=4, history_size=2, line_search_fn="strong_wolfe")),
    "mlp": ("mlp", dict(lr=0.1, max_iter=4)),
    "mlp_wolfe": ("mlp", dict(max_iter=4, line_search_fn="strong_wolfe")),
    "mlp_history": ("mlp", dict(lr=0.5, max_iter=3, history_size=3, line_search_fn="strong_wolfe")),
    "mlp_tolerance": ("mlp", dict(max_iter=20, tolerance_grad=3e-2, tolerance_change=1e-4, line_search_fn="strong_wolfe")),
}


def rosenbrock():
    x = torch.tensor([-1.2, 1.0, 0.5, -0.3], dtype=torch.float64, requires_grad=True)
    return {"x": x}, {}, lambda: (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def mlp():
    torch.manual_seed(3)
    draw = lambda *shape: torch.randn(*shape, dtype=torch.float64)  # noqa: E731
    data = {"data": draw(16, 3), "target": draw(16, 2)}
    p = {"w1": draw(3, 8) * 0.5, "b1": draw(8) * 0.1, "w2": draw(8, 2) * 0.5, "b2": draw(2) * 0.1}
    for value in p.values():
        value.requires_grad_(True)

    def loss():
        y = torch.tanh(data["data"] @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"]
        return ((y - data["target"]) ** 2).mean()

    return p, data, loss


def main():
    out = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases")
    for name, (function, options) in CASES.items():
        parameters, arrays, loss = {"rosenbrock": rosenbrock, "mlp": mlp}[function]()
        arrays = {key: value.numpy() for key, value in arrays.items()}
        arrays.update({f"start/{key}": p.detach().numpy().copy() for key, p in parameters.items()})
        optimizer = torch.optim.LBFGS([parameters[key] for key in sorted(parameters)], **options)

        def closure():
            optimizer.zero_grad()
            value = loss()
            value.backward()
            return value

        steps, losses, evaluations = {key: [] for key in parameters}, [], []
        for _ in range(STEPS):
            losses.append(float(optimizer.step(closure)))
            state = next(iter(optimizer.state.values()))
            evaluations.append(state["func_evals"])
            for key, p in parameters.items():
                steps[key].append(p.detach().numpy().copy())
        arrays.update({f"after/{key}": np.stack(values) for key, values in steps.items()})
        arrays["loss"], arrays["evaluations"] = np.array(losses), np.array(evaluations, dtype=np.int64)
        np.savez_compressed(os.path.join(out, f"lbfgs_{name}.npz"), **arrays)
        print(name, losses, evaluations)


if __name__ == "__main__":
    main()
