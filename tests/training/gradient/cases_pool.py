"""Cases of training/gradient/pool.cc."""
import numpy as np
import torch
import torch.nn.functional as F
from cases_conv import attributes
from make_cases import Case

MAX = [F.max_pool1d, F.max_pool2d, F.max_pool3d]
AVERAGE = [F.avg_pool1d, F.avg_pool2d, F.avg_pool3d]


def windows(x, kernel, strides=None, pads=None, dilations=None, value=0.0):
    """[N, C, out..., kernel elements]"""
    n = len(kernel)
    strides, dilations, pads = strides or [1] * n, dilations or [1] * n, pads or [0] * 2 * n
    x = F.pad(x, [p for i in reversed(range(n)) for p in (pads[i], pads[n + i])], value=value)
    for i in range(n):
        size = (kernel[i] - 1) * dilations[i] + 1
        x = x.unfold(2 + i, size, strides[i])[..., ::dilations[i]]
    return x.flatten(2 + n)


def cases():
    rng = np.random.default_rng(0)

    def numbers(*dims):
        return rng.standard_normal(dims)

    pools = {
        "plain": ((2, 2, 5, 5), dict(kernel_shape=[2, 3])),
        "strides": ((1, 2, 6, 7), dict(kernel_shape=[2, 2], strides=[2, 3])),
        "pads": ((1, 2, 5, 4), dict(kernel_shape=[3, 3], strides=[2, 1], pads=[1, 1, 1, 1])),
        "uneven_pads": ((1, 2, 5, 4), dict(kernel_shape=[3, 3], strides=[2, 2], pads=[1, 0, 0, 2])),
        "dilations": ((1, 2, 6, 6), dict(kernel_shape=[2, 3], dilations=[3, 2])),
        "tiles": ((1, 2, 4, 6), dict(kernel_shape=[2, 3], strides=[2, 3])),
        "one": ((2, 2, 7), dict(kernel_shape=[3], strides=[2])),
        "three": ((1, 2, 3, 4, 3), dict(kernel_shape=[2, 2, 2], strides=[1, 2, 1])),
    }
    for name, (x, given) in pools.items():
        text = attributes(**given)
        own = {"kernel": given["kernel_shape"]} | {k: v for k, v in given.items() if k != "kernel_shape"}
        yield Case(f"max_{name}", f"y = MaxPool {text} (x)", {"x": numbers(*x)},
                   lambda x, own=own: windows(x, **own, value=-np.inf).amax(-1))
        yield Case(f"average_{name}", f"y = AveragePool {text} (x)", {"x": numbers(*x)},
                   lambda x, own=own: windows(x, **own).sum(-1) / windows(torch.ones_like(x), **own).sum(-1))
        yield Case(f"average_include_{name}", f"y = AveragePool {attributes(**given, count_include_pad=1)} (x)", {"x": numbers(*x)},
                   lambda x, own=own: windows(x, **own).mean(-1))
        for p in (1, 2, 3):
            if name in ("plain", "pads", "dilations") or p == 2:
                yield Case(f"lp_{p}_{name}", f"y = LpPool {attributes(**given, p=p)} (x)", {"x": numbers(*x)},
                           lambda x, own=own, p=p: (windows(x, **own).abs() ** p).sum(-1) ** (1 / p))
    for kind, padding in (("ceil", 0), ("ceil_pads", 1)):
        text = dict(kernel_shape=[3, 2], strides=[2, 3], ceil_mode=1) | (dict(pads=[1, 1, 1, 1]) if padding else {})
        x = numbers(1, 2, 6, 7)
        yield Case(f"max_{kind}", f"y = MaxPool {attributes(**text)} (x)", {"x": x},
                   lambda x, padding=padding: F.max_pool2d(x, (3, 2), (2, 3), padding, ceil_mode=True))
        for include in (0, 1):
            yield Case(f"average_{kind}_{include}", f"y = AveragePool {attributes(**text, count_include_pad=include)} (x)", {"x": x},
                       lambda x, padding=padding, include=include: F.avg_pool2d(x, (3, 2), (2, 3), padding, True, bool(include)))
    for mode in ("SAME_UPPER", "SAME_LOWER"):
        pads = [0, 1, 1, 1] if mode == "SAME_UPPER" else [1, 1, 0, 1]
        own = dict(kernel=[2, 3], strides=[2, 2], pads=pads)
        text = attributes(kernel_shape=[2, 3], strides=[2, 2], auto_pad=mode)
        x = numbers(1, 2, 5, 5)
        yield Case(f"max_{mode.lower()}", f"y = MaxPool {text} (x)", {"x": x},
                   lambda x, own=own: windows(x, **own, value=-np.inf).amax(-1))
        yield Case(f"average_{mode.lower()}", f"y = AveragePool {text} (x)", {"x": x},
                   lambda x, own=own: windows(x, **own).sum(-1) / windows(torch.ones_like(x), **own).sum(-1))
    ties = np.array([[[[1.0, 1, 0, 2], [1, 1, 2, 2]]]])
    yield Case("max_ties", "y = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x)", {"x": ties},
               lambda x: F.max_pool2d(x, 2), smooth=False)
    yield Case("max_indices", "y, i = MaxPool <kernel_shape = [2, 2]> (x)", {"x": numbers(1, 1, 3, 4)},
               lambda x: F.max_pool2d(x, 2, 1, return_indices=True), outputs=("y", "i"))
    yield Case("max_column_major", "y, i = MaxPool <kernel_shape = [2, 2], storage_order = 1> (x)\nz = Identity (y)",
               {"x": numbers(1, 1, 3, 4)}, lambda x: F.max_pool2d(x, 2, 1), outputs=("z",))
    yield Case("lp_zeros", "y = LpPool <kernel_shape = [2], strides = [2]> (x)", {"x": np.array([[[0.0, 0, 3, 4]]])},
               lambda x: torch.stack([x[..., :2].sum(-1) * 0, torch.linalg.vector_norm(x[..., 2:], dim=-1)], -1), smooth=False)
    x = numbers(2, 3, 4, 3)
    yield Case("global_average", "y = GlobalAveragePool (x)", {"x": x}, lambda x: x.mean((2, 3), keepdim=True))
    yield Case("global_average_1d", "y = GlobalAveragePool (x)", {"x": numbers(2, 3, 4)}, lambda x: x.mean(2, keepdim=True))
    yield Case("global_max", "y = GlobalMaxPool (x)", {"x": x}, lambda x: F.adaptive_max_pool2d(x, 1))
    yield Case("global_max_ties", "y = GlobalMaxPool (x)", {"x": np.array([[[[1.0, 2], [2, 0]]]])},
               lambda x: F.adaptive_max_pool2d(x, 1), smooth=False)
    for p in (1, 2, 3):
        yield Case(f"global_lp_{p}", f"y = GlobalLpPool <p = {p}> (x)", {"x": x},
                   lambda x, p=p: torch.linalg.vector_norm(x, p, (2, 3), keepdim=True))
    i = np.array([[[[0, 3], [9, 14]]], [[[16 + 1, 16 + 6], [16 + 8, 16 + 15]]]])
    local = torch.from_numpy(i % 16)
    yield Case("unpool", "y = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (x, i)", {"x": numbers(2, 1, 2, 2), "i": i},
               lambda x, i: F.max_unpool2d(x, local, 2), data=("i",))
    yield Case("unpool_shape", "y = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (x, i, shape)",
               {"x": numbers(2, 1, 2, 2), "i": i, "shape": np.array([2, 1, 5, 6])},
               lambda x, i, s: F.pad(F.max_unpool2d(x, local, 2), (0, 2, 0, 1)), data=("i",))
