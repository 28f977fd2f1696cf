#!/usr/bin/env python3
"""Makes tests/training/gradient/cases: gradients of ops as PyTorch's autograd has them.

Usage: make_cases.py [FAMILY...] with the Python of `scripts/peers torch`. Each family is a module
beside this file, cases_<family>.py, whose cases() yields Case objects. Everything is computed in
double precision. Written are cases/<family>.txt (graphs in ONNX's text syntax, the case's name as
the graph's, after lines "# <key>: <value>") and cases/<family>.npz with arrays <case>/<input>,
<case>/<output>, <case>/d_<output> (the given cotangent) and <case>/g_<input> (the gradient); of
cases that are differentiated twice also <case>/dg_<input> (the given cotangent of the gradient) and
<case>/gg_<input>, <case>/gd_<output> (the gradients with respect to inputs and cotangents).
"""
import dataclasses
import importlib
import pathlib
import sys
import zipfile

import numpy as np
import onnx
import torch

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "support")]
from case_files import array_type, families  # noqa: E402


@dataclasses.dataclass
class Case:
    name: str
    call: str  # one or more lines in ONNX's text syntax: "y = Conv (x, w)"
    inputs: dict  # name -> array
    f: object  # what it computes, on torch tensors in the order of inputs; one tensor or several
    outputs: tuple = ("y",)
    wrt: tuple = None  # inputs to differentiate; all that are double
    data: tuple = ()  # integer inputs that stay inputs; others become constants
    smooth: bool = True  # finite differences are meaningful here
    rtol: float = 0  # instead of the test's
    static: bool = False  # the op needs all sizes
    single: bool = False  # the op has no double: the case runs in float
    second: bool = True  # the gradient can be differentiated once more
    floats: bool = True  # the same graph is also run in float, float16 and bfloat16
    sizes: tuple = ()  # inputs whose sizes the op needs
    narrow: bool = True  # 16-bit inputs give nearly the same: no jump or tie is near
    twice: bool = False  # the gradient of the gradient is written too
    skip: str = ""  # outputs without cotangent, separated by spaces


def graph_text(case, outputs):
    inputs = ", ".join(f"{array_type(v)} {k}" for k, v in case.inputs.items())
    results = ", ".join(f"{array_type(v, '')} {k}" for k, v in outputs.items())
    body = "\n".join("  " + line.strip() for line in case.call.strip().splitlines())
    return f"{case.name} ({inputs}) => ({results}) {{\n{body}\n}}\n"


def differentiate(case, rng):
    """Arrays by name: outputs, cotangents and gradients."""
    tensors = {name: torch.from_numpy(value.copy()) for name, value in case.inputs.items()}
    wrt = case.wrt or tuple(k for k, v in case.inputs.items() if v.dtype == np.float64)
    for name in wrt:
        tensors[name].requires_grad_()
    results = case.f(*tensors.values())
    results = (results,) if isinstance(results, torch.Tensor) else tuple(results)
    outputs = dict(zip(case.outputs, results, strict=True))
    cotangents, pairs = {}, []
    for name, result in outputs.items():
        if not result.dtype.is_floating_point or name in case.skip.split():
            continue
        cotangents[name] = rng.standard_normal(result.shape)
        if result.requires_grad:
            pairs.append((result, torch.from_numpy(np.asarray(cotangents[name])).to(result.dtype).requires_grad_(case.twice)))
    gradients = torch.autograd.grad([r for r, _ in pairs], [tensors[name] for name in wrt],
                                    [c for _, c in pairs], allow_unused=True, create_graph=case.twice) if pairs else [None] * len(wrt)
    arrays = {name: result.detach().numpy() for name, result in outputs.items()}
    arrays |= {f"d_{name}": np.asarray(value) for name, value in cotangents.items()}
    for name, gradient in zip(wrt, gradients):
        arrays[f"g_{name}"] = (np.zeros_like(case.inputs[name]) if gradient is None else gradient.detach().numpy())
    if case.twice:
        arrays |= differentiate_again(wrt, [tensors[name] for name in wrt], case.outputs, pairs, gradients)
    return arrays, wrt


def differentiate_again(wrt, inputs, outputs, pairs, gradients):
    draw = np.random.default_rng(2)
    given = [draw.standard_normal(g.shape) for g in gradients]
    found = torch.autograd.grad(gradients, inputs + [c for _, c in pairs], [torch.from_numpy(w) for w in given], allow_unused=True)
    arrays = {f"dg_{name}": w for name, w in zip(wrt, given)}
    names = [f"gg_{name}" for name in wrt] + [f"gd_{name}" for name in outputs]
    for name, of, gradient in zip(names, inputs + [c for _, c in pairs], found, strict=True):
        arrays[name] = np.zeros(of.shape) if gradient is None else gradient.numpy()
    return arrays


def make_family(family):
    rng = np.random.default_rng(1)
    texts, arrays, names = [], {}, set()
    for case in importlib.import_module(f"cases_{family}").cases():
        case.inputs = {name: np.asarray(value) for name, value in case.inputs.items()}
        try:
            made, wrt = differentiate(case, rng)
        except Exception as error:
            raise RuntimeError(f"{family}/{case.name}") from error
        assert case.name not in names, case.name
        names.add(case.name)
        header = f"# wrt: {' '.join(wrt)}\n"
        constants = [k for k, v in case.inputs.items() if v.dtype != np.float64 and k not in case.data]
        header += f"# constants: {' '.join(constants)}\n" if constants else ""
        header += f"# sizes: {' '.join(case.sizes)}\n" if case.sizes else ""
        for flag in ("single", "rtol", "static"):
            header += f"# {flag}: {getattr(case, flag)}\n" if getattr(case, flag) else ""
        for flag in ("smooth", "second", "floats", "narrow"):
            header += f"# {flag}: False\n" if not getattr(case, flag) else ""
        texts.append(header + graph_text(case, {k: made[k] for k in case.outputs}))
        for name, array in (case.inputs | made).items():
            arrays[f"{case.name}/{name}"] = array
    (HERE / "cases").mkdir(exist_ok=True)
    (HERE / "cases" / f"{family}.txt").write_text("\n".join(texts))
    write_npz(HERE / "cases" / f"{family}.npz", arrays)
    print(f"{family}: {len(texts)} cases")


def write_npz(path, arrays):
    """np.savez_compressed with fixed times, so that equal arrays give equal files."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w") as file:
                np.lib.format.write_array(file, np.asanyarray(array), allow_pickle=False)


def main():
    torch.set_num_threads(1)
    for family in families(HERE, sys.argv[1:]):
        make_family(family)


if __name__ == "__main__":
    main()
