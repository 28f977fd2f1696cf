"""Cases of training/gradient/binary.cc."""
import numpy as np
import torch
from make_cases import Case


def cases():
    rng = np.random.default_rng(0)

    def numbers(*dims, low=0.5, high=2.0):
        return rng.uniform(low, high, dims)

    simple = {"Add": torch.add, "Sub": torch.sub, "Mul": torch.mul, "Div": torch.div, "Pow": torch.pow,
              "Max": torch.maximum, "Min": torch.minimum}
    for op, f in simple.items():
        name = op.lower()
        yield Case(name, f"y = {op} (a, b)", {"a": numbers(2, 3), "b": numbers(2, 3)}, f)
        yield Case(f"{name}_row", f"y = {op} (a, b)", {"a": numbers(2, 3), "b": numbers(3)}, f)
        yield Case(f"{name}_outer", f"y = {op} (a, b)", {"a": numbers(2, 1, 3), "b": numbers(4, 1)}, f)
        yield Case(f"{name}_scalar", f"y = {op} (a, b)", {"a": np.array(1.5), "b": numbers(2, 2)}, f)
    yield Case("mul_square", "y = Mul (a, a)", {"a": numbers(3)}, lambda a: a * a)
    yield Case("div_by_zero", "y = Div (a, b)", {"a": np.array([1.0, -1, 2]), "b": np.array([0.0, 0, 4])},
               torch.div, smooth=False, floats=False)
    for name, exponent in (("square", 2.0), ("cube", 3.0), ("root", 0.5), ("inverse", -1.0), ("one", 1.0),
                           ("zero", 0.0), ("odd", 2.5)):
        yield Case(f"pow_{name}", "y = Pow (a, b)", {"a": numbers(2, 3), "b": np.array(exponent)}, torch.pow, wrt=("a",))
    yield Case("pow_integer_exponent", "y = Pow (a, b)", {"a": numbers(2, 3, low=-2), "b": np.array([2, 3, 0])}, torch.pow)
    yield Case("pow_negative_base", "y = Pow (a, b)",
               {"a": numbers(2, 4, low=-2, high=-0.5), "b": np.array([2.0, 3, 0, 1])}, torch.pow, wrt=("a",))
    yield Case("pow_at_zero", "y = Pow (a, b)",
               {"a": np.array([0.0, 0, 0, 0, 1, 0]), "b": np.array([2.0, 0, 1, 0.5, 0, -1])}, torch.pow,
               smooth=False, floats=False)
    yield Case("max_ties", "y = Max (a, b)", {"a": np.array([1.0, 2, 3]), "b": np.array([1.0, 3, 2])},
               torch.maximum, smooth=False)
    yield Case("min_ties", "y = Min (a, b)", {"a": np.array([1.0, 2, 3]), "b": np.array([1.0, 3, 2])},
               torch.minimum, smooth=False)
    yield Case("max_three", "y = Max (a, b, c)", {"a": numbers(2, 3), "b": numbers(3), "c": numbers(2, 1)},
               lambda a, b, c: torch.maximum(torch.maximum(a, b), c))
    yield Case("min_three", "y = Min (a, b, c)", {"a": numbers(2, 3), "b": numbers(3), "c": numbers(2, 1)},
               lambda a, b, c: torch.minimum(torch.minimum(a, b), c))
    yield Case("max_three_ties", "y = Max (a, b, c)", {"a": np.array([1.0, 2]), "b": np.array([1.0, 3]), "c": np.array([1.0, 3])},
               lambda a, b, c: torch.stack([a, b, c]).amax(0), smooth=False)
    yield Case("max_one", "y = Max (a)", {"a": numbers(2, 3)}, lambda a: a * 1)
    yield Case("sum_one", "y = Sum (a)", {"a": numbers(2, 3)}, lambda a: a * 1)
    yield Case("sum_three", "y = Sum (a, b, c)", {"a": numbers(2, 3), "b": numbers(3), "c": numbers(2, 1)},
               lambda a, b, c: a + b + c)
    yield Case("mean_three", "y = Mean (a, b, c)", {"a": numbers(2, 3), "b": numbers(3), "c": numbers(2, 1)},
               lambda a, b, c: (a + b + c) / 3)
    yield Case("mean_one", "y = Mean (a)", {"a": numbers(2, 3)}, lambda a: a * 1)
    yield Case("fmod", "y = Mod <fmod = 1> (a, b)", {"a": numbers(3, 4, low=-8, high=8), "b": numbers(4)}, torch.fmod, narrow=False)
    yield Case("fmod_negative", "y = Mod <fmod = 1> (a, b)", {"a": numbers(3, 4, low=-8, high=8), "b": -numbers(3, 1)}, torch.fmod)
    yield Case("where", "y = Where (c, a, b)", {"c": rng.integers(0, 2, (2, 3)).astype(bool), "a": numbers(2, 3), "b": numbers(2, 3)},
               torch.where, data=("c",))
    yield Case("where_broadcast", "y = Where (c, a, b)", {"c": rng.integers(0, 2, (3,)).astype(bool), "a": numbers(2, 1), "b": numbers(1, 3)},
               torch.where, data=("c",))
    yield Case("prelu", "y = PRelu (x, s)", {"x": numbers(2, 3, 4, low=-2), "s": numbers(3, 1)},
               lambda x, s: torch.where(x > 0, x, s * x))
    yield Case("prelu_channels", "y = PRelu (x, s)", {"x": numbers(2, 3, 4, low=-2), "s": numbers(3, 1)},
               lambda x, s: torch.nn.functional.prelu(x, s.reshape(3)))
    yield Case("prelu_scalar", "y = PRelu (x, s)", {"x": np.array([-1.0, 0, 2]), "s": np.array([0.25])},
               torch.nn.functional.prelu, smooth=False, twice=True)
    x = numbers(3, 5, low=-3, high=3)
    low, high = np.array(-1.0), np.array(1.25)
    yield Case("clip", "y = Clip (x, low, high)", {"x": x, "low": low, "high": high}, torch.clamp)
    yield Case("clip_low", "y = Clip (x, low)", {"x": x, "low": low}, lambda x, low: torch.clamp(x, min=low))
    yield Case("clip_high", "y = Clip (x, , high)", {"x": x, "high": high}, lambda x, high: torch.clamp(x, max=high))
    yield Case("clip_none", "y = Clip (x)", {"x": x}, lambda x: x * 1)
    points = {"x": np.array([-1.0, 1.25, 0, 2, -2])}
    yield Case("clip_bounds", "y = Clip (x, low, high)", points | {"low": low, "high": high}, torch.clamp, smooth=False)
    yield Case("clip_low_bound", "y = Clip (x, low)", points | {"low": low}, lambda x, l: torch.clamp(x, min=l), smooth=False)
    yield Case("clip_high_bound", "y = Clip (x, , high)", points | {"high": high}, lambda x, h: torch.clamp(x, max=h),
               smooth=False)
    yield Case("clip_bounds_constant", "low = Constant <value_float = -1.0> ()\nlo = CastLike (low, x)\n"
               "high = Constant <value_float = 1.25> ()\nhi = CastLike (high, x)\ny = Clip (x, lo, hi)", points,
               lambda x: torch.clamp(x, -1, 1.25), smooth=False)
    yield Case("clip_bounds_given", "y = Clip (x, low, high)", points | {"low": low, "high": high},
               lambda x, l, h: torch.clamp(x, -1, 1.25), wrt=("x",), smooth=False)
    for name, low, high in (("crossed", 1.0, -1.0), ("equal", 1.0, 1.0)):
        yield Case(f"clip_{name}", "y = Clip (x, low, high)",
                   {"x": np.array([-2.0, 0, 2, 1]), "low": np.array(low), "high": np.array(high)}, torch.clamp, smooth=False)
