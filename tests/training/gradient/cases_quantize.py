"""Cases of training/gradient/quantize.cc: gradients pass straight through rounding."""
import numpy as np
import torch
from make_cases import Case


def cases():
    rng = np.random.default_rng(0)

    def straight(x, scale, zero, low, high):
        """scale * (clamp(round(x / scale) + zero) - zero), the identity for gradients where nothing saturates."""
        ratio = x / scale
        level = torch.round(ratio) + zero
        inside = ((level >= low) & (level <= high)).detach()
        passed = ratio + (torch.round(ratio) - ratio).detach() + zero
        return (torch.where(inside, passed, level.clamp(low, high).detach()) - zero) * scale

    def pair(attributes="", zero=True):
        inputs = "s, z" if zero else "s"
        return f"q = QuantizeLinear {attributes} (x, {inputs})\ny = DequantizeLinear {attributes} (q, {inputs})"

    x = rng.uniform(-3, 3, (3, 4))
    types = {"uint8": (np.uint8, 0, 255, 100), "int8": (np.int8, -128, 127, 3), "int16": (np.int16, -32768, 32767, 0)}
    for name, (dtype, low, high, zero) in types.items():
        scale = 0.02 if name != "int16" else 0.001
        yield Case(f"{name}", pair(), {"x": x, "s": np.array(scale), "z": np.array(zero, dtype)},
                   lambda x, s, z, low=low, high=high: straight(x, s, z.double(), low, high), data=("z",), single=True,
                   rtol=2e-3 if name == "int16" else 0)  # by the scale: a difference of large numbers
    yield Case("no_zero_point", pair(zero=False), {"x": np.abs(x), "s": np.array(0.01)}, lambda x, s: straight(x, s, 0, 0, 255), single=True)
    yield Case("only_x", pair(), {"x": x, "s": np.array(0.02), "z": np.array(3, np.int8)},
               lambda x, s, z: torch.fake_quantize_per_tensor_affine(x, float(s), 3, -128, 127), wrt=("x",), data=("z",), single=True)
    yield Case("axis", pair("<axis = 1>"), {"x": x, "s": rng.uniform(0.01, 0.05, 4), "z": np.array([0, 5, -3, 1], np.int8)},
               lambda x, s, z: straight(x, s, z.double(), -128, 127), data=("z",), single=True)
    yield Case("axis_first", pair("<axis = -2>"), {"x": x, "s": rng.uniform(0.01, 0.05, 3), "z": np.array([0, 5, -3], np.int8)},
               lambda x, s, z: straight(x, s[:, None], z.double()[:, None], -128, 127), data=("z",), single=True)
    blocks = {"x": rng.uniform(-3, 3, (2, 5)), "s": rng.uniform(0.01, 0.05, (2, 3)), "z": rng.integers(-5, 5, (2, 3)).astype(np.int8)}
    spread = lambda v: v.repeat_interleave(2, 1)[:, :5]
    yield Case("blocks", pair("<axis = 1, block_size = 2>"), blocks,
               lambda x, s, z: straight(x, spread(s), spread(z).double(), -128, 127), data=("z",), static=True, single=True)
    yield Case("dequantize", "y = DequantizeLinear (q, s, z)",
               {"q": rng.integers(-9, 9, (3, 4)).astype(np.int8), "s": np.array(0.5), "z": np.array(2, np.int8)},
               lambda q, s, z: (q.double() - z) * s, data=("q", "z"), single=True)
    levels, scales = rng.integers(0, 16, (5, 2, 16)), rng.uniform(0.05, 0.2, (5, 2))
    packed = (levels[..., ::2] | levels[..., 1::2] << 4).astype(np.uint8)
    weights = torch.from_numpy((levels - 8).astype(float))
    yield Case("matmul_nbits", "y = com.microsoft.MatMulNBits <K = 32, N = 5, bits = 4, block_size = 16> (x, w, s)",
               {"x": rng.uniform(-1, 1, (3, 32)), "w": packed, "s": scales},
               lambda x, w, s: x @ (weights * s[..., None]).reshape(5, 32).T, data=("w",), single=True, sizes=("w", "s"))
