"""Cases of graph/microsoft/layout.cc."""
import numpy as np
from make_cases import Case


def scalar(value, dtype=np.int64):
    return np.array(value, dtype)


def cases():
    rng = np.random.default_rng(6)

    def numbers(*dims, dtype=np.float32):
        return (rng.standard_normal(dims) * 4).astype(dtype)

    x = numbers(2, 4, 5)
    yield Case("trilu", "y = com.microsoft.Trilu (x)", {"x": x}, ["y"])
    yield Case("trilu_lower", "y = com.microsoft.Trilu <upper: int = 0> (x, k)",
               {"x": x, "k": scalar(1)}, ["y"], dims={"x": "b,m,n"})
    yield Case("trilu_int64", "y = com.microsoft.Trilu (x, k)",
               {"x": numbers(3, 3, dtype=np.int64), "k": scalar(-1)}, ["y"])
    yield Case("unique", "y, i, n = com.microsoft.Unique (x)",
               {"x": np.array([2, 1, 1, 3, 4, 3], np.float32)}, ["y", "i", "n"])
    yield Case("unique_empty", "y, i, n = com.microsoft.Unique (x)",
               {"x": np.zeros(0, np.float32)}, ["y", "i", "n"])
    for dtype in (np.float32, np.float64, np.int16, np.int32, np.int64):
        kind = np.dtype(dtype).name
        yield Case(f"range_{kind}", "y = com.microsoft.Range (a, b, d)",
                   {"a": scalar(1, dtype), "b": scalar(10, dtype), "d": scalar(2, dtype)}, ["y"])
    yield Case("range_default", "y = com.microsoft.Range (a, b)",
               {"a": scalar([1], np.int32), "b": scalar([4], np.int32)}, ["y"])
    yield Case("range_down", "y = com.microsoft.Range (a, b, d)",
               {"a": scalar([5], np.float32), "b": scalar(-1, np.float32),
                "d": scalar([-1.5], np.float32)}, ["y"])
    x = numbers(3, 4)
    yield Case("pad", "y = com.microsoft.Pad (x, p)", {"x": x, "p": scalar([0, 2, 1, 0])}, ["y"])
    yield Case("pad_value", "y = com.microsoft.Pad (x, p, v)",
               {"x": x, "p": scalar([[1, 0, 0, 1]]), "v": scalar([7], np.float32)}, ["y"],
               dims={"x": "m,n"})
    yield Case("pad_negative", "y = com.microsoft.Pad (x, p, v)",
               {"x": x, "p": scalar([-1, 1, 0, -2]), "v": scalar(3, np.float32)}, ["y"])
    for mode in ("reflect", "edge"):
        yield Case(f"pad_{mode}", f'y = com.microsoft.Pad <mode: string = "{mode}"> (x, p)',
                   {"x": x, "p": scalar([1, 2, 2, 0])}, ["y"])
    for axis in (0, 1, 2, -1, -2):
        name = f"expand_dims_{axis}".replace("-", "minus_")
        yield Case(name, "y = com.microsoft.ExpandDims (x, a)", {"x": x, "a": scalar(axis, np.int32)},
                   ["y"], constants=("a",))
    yield Case("expand_dims_open", "y = com.microsoft.ExpandDims (x, a)",
               {"x": numbers(3, 4, dtype=np.int32), "a": scalar(1, np.int32)}, ["y"],
               dims={"x": "m,n"})
    x = numbers(3, 7, 2)
    for name, dim, size, step in (("middle", 1, 3, 2), ("last", -1, 2, 1), ("first", 0, 2, 1),
                                  ("all", 1, 7, 3)):
        yield Case(f"unfold_{name}",
                   f"y = com.microsoft.UnfoldTensor <dim: int = {dim}, size: int = {size}, step: int = {step}> (x)",
                   {"x": x}, ["y"], dims={"x": "a,b,c"} if name == "middle" else {})
    yield Case("unfold_int64", "y = com.microsoft.UnfoldTensor <size: int = 2> (x)",
               {"x": numbers(4, dtype=np.int64)}, ["y"])
