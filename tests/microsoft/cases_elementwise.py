"""Cases of graph/microsoft/elementwise.cc. Where ONNX Runtime's CPU provider has no kernel, NumPy
has the op's description."""
import math

import numpy as np
from make_cases import Case

erf = np.vectorize(math.erf)


def cases():
    rng = np.random.default_rng(4)

    def numbers(*dims, dtype=np.float32):
        return rng.standard_normal(dims).astype(dtype)

    for dtype in (np.float32, np.float16):
        kind = np.dtype(dtype).name
        x, bias, skip = numbers(2, 3, 8, dtype=dtype), numbers(8, dtype=dtype), numbers(2, 3, 8, dtype=dtype)
        yield Case(f"bias_add_{kind}", "y = com.microsoft.BiasAdd (x, b, s)",
                   {"x": x, "b": bias, "s": skip}, ["y"], expected={"y": x + bias + skip})
        z = (x + bias).astype(np.float64)
        left, right = z[..., :4], z[..., 4:]
        y = left * 0.5 * right * (1 + erf(right / math.sqrt(2)))
        yield Case(f"bias_split_gelu_{kind}", "y = com.microsoft.BiasSplitGelu (x, b)",
                   {"x": x, "b": bias}, ["y"], expected={"y": y.astype(dtype)},
                   dims={"x": "n,s,8"} if dtype == np.float32 else {})
    x, bias = numbers(2, 3, 8), numbers(8)
    residual = numbers(2, 3, 8)
    mask = np.ones((2, 3, 8), bool)
    yield Case("bias_dropout", "y, m = com.microsoft.BiasDropout (x, b)", {"x": x, "b": bias},
               ["y", "m"], expected={"y": x + bias, "m": mask})
    yield Case("bias_dropout_residual",
               "y = com.microsoft.BiasDropout <seed: int = 7> (x, b, r, ratio, training)",
               {"x": x, "b": bias, "r": residual, "ratio": np.float32(0.5).reshape(()),
                "training": np.array(False)}, ["y"], expected={"y": x + bias + residual})
    gate = numbers(2, 3, 1)
    yield Case("gated_add", "y = com.microsoft.GatedAdd (a, b, gate)",
               {"a": x, "b": residual, "gate": gate}, ["y"])
    yield Case("gated_add_half", "y = com.microsoft.GatedAdd (a, b, gate)",
               {"a": x.astype(np.float16), "b": residual.astype(np.float16),
                "gate": gate.astype(np.float16)}, ["y"])

    def finite(name, attributes, expected, *arrays):
        names = ", ".join(f"x{i}" for i in range(len(arrays)))
        return Case(name, f"y = com.microsoft.IsAllFinite {attributes}({names})",
                    {f"x{i}": a for i, a in enumerate(arrays)}, ["y"],
                    expected={"y": np.array(expected)})

    fine = numbers(3, 2)
    nan, inf = np.array([1, np.nan], np.float32), np.array([-np.inf, 2], np.float32)
    yield finite("all_finite", "", True, fine, numbers(0, 2), np.float32(3).reshape(()))
    yield finite("not_all_finite_nan", "", False, fine, nan)
    yield finite("not_all_finite_inf", "", False, inf)
    yield finite("finite_isinf_only", "<isinf_only: int = 1> ", True, nan)
    yield finite("finite_isnan_only", "<isnan_only: int = 1> ", True, inf)
    yield finite("not_finite_half", "", False, np.array([np.inf], np.float16))
    for dtype in (np.uint8, np.int8):
        limits = np.iinfo(dtype)
        a = rng.integers(limits.min, limits.max + 1, (2, 3), dtype)
        b = rng.integers(limits.min, limits.max + 1, (3,), dtype)
        za, zb = dtype(3), dtype(100)
        wide = (a.astype(np.int32) - 3) * (b.astype(np.int32) - 100)
        kind = np.dtype(dtype).name
        yield Case(f"mul_integer_{kind}", "c = com.microsoft.MulInteger (a, za, b, zb)",
                   {"a": a, "za": np.array(za), "b": b, "zb": np.array(zb)}, ["c"],
                   expected={"c": wide})
        sums = a.sum(axis=1, keepdims=True).astype(np.int32 if dtype == np.int8 else np.uint32)
        yield Case(f"reduce_sum_integer_{kind}",
                   "y = com.microsoft.ReduceSumInteger <axes: ints = [1], keepdims: int = 1> (a)",
                   {"a": a}, ["y"], expected={"y": sums})
    yield Case("mul_integer_no_zero_points", "c = com.microsoft.MulInteger (a, , b)", {"a": a, "b": b},
               ["c"], expected={"c": a.astype(np.int32) * b.astype(np.int32)})
    a, b = numbers(3, 4, 2), numbers(4, 2)
    za, zb = a[..., 0] + 1j * a[..., 1], b[..., 0] + 1j * b[..., 1]
    for name, z in (("ComplexMul", za * zb), ("ComplexMulConj", za * zb.conj())):
        pair = np.stack([z.real, z.imag], -1).astype(np.float32)
        yield Case(name.lower(), f"c = com.microsoft.{name} (a, b)", {"a": a, "b": b}, ["c"],
                   expected={"c": pair})
    yield Case("sample_op", "y = com.microsoft.SampleOp (x)", {"x": numbers(2, 2)}, ["y"])
