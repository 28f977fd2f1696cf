"""Cases of graph/microsoft/activation.cc."""
import numpy as np
from make_cases import Case


def cases():
    rng = np.random.default_rng(0)

    def numbers(*dims, dtype=np.float32):
        return (rng.standard_normal(dims) * 3).astype(dtype)

    x = numbers(2, 3, 8)
    yield Case("gelu", "y = com.microsoft.Gelu (x)", {"x": x}, ["y"])
    yield Case("bias_gelu", "y = com.microsoft.BiasGelu (x, b)", {"x": x, "b": numbers(8)}, ["y"])
    yield Case("fast_gelu", "y = com.microsoft.FastGelu (x)", {"x": x}, ["y"])
    yield Case("fast_gelu_bias", "y = com.microsoft.FastGelu (x, b)", {"x": x, "b": numbers(8)}, ["y"])
    yield Case("quick_gelu", "y = com.microsoft.QuickGelu (x)", {"x": x}, ["y"])
    yield Case("quick_gelu_alpha", "y = com.microsoft.QuickGelu <alpha: float = -0.5> (x)",
               {"x": numbers(0, 4)}, ["y"])
