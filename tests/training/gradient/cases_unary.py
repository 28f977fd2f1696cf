"""Cases of training/gradient/unary.cc and activation.cc."""
import numpy as np
import torch
import torch.nn.functional as F
from make_cases import Case

SPECIAL = np.array([-1.0, -0.0, 0.0, 1.0, -6.0, 6.0, -3.0, 3.0, 0.5, -0.5])

UNARY = {  # op -> (function, low, high)
    "Abs": (torch.abs, -2, 2), "Acos": (torch.acos, -0.9, 0.9), "Acosh": (torch.acosh, 1.2, 3),
    "Asin": (torch.asin, -0.9, 0.9), "Asinh": (torch.asinh, -2, 2), "Atan": (torch.atan, -2, 2),
    "Atanh": (torch.atanh, -0.9, 0.9), "Cos": (torch.cos, -3, 3), "Cosh": (torch.cosh, -2, 2),
    "Erf": (torch.erf, -2, 2), "Exp": (torch.exp, -2, 2), "Identity": (lambda x: x * 1, -2, 2),
    "Log": (torch.log, 0.3, 3), "Neg": (torch.neg, -2, 2), "Reciprocal": (torch.reciprocal, 0.5, 2),
    "Relu": (torch.relu, -2, 2), "Sigmoid": (torch.sigmoid, -3, 3), "Sin": (torch.sin, -3, 3),
    "Sinh": (torch.sinh, -2, 2), "Softplus": (F.softplus, -3, 3), "Softsign": (F.softsign, -2, 2),
    "Sqrt": (torch.sqrt, 0.3, 3), "Tan": (torch.tan, -1.2, 1.2), "Tanh": (torch.tanh, -2, 2),
    "Mish": (F.mish, -4, 4), "HardSwish": (F.hardswish, -5, 5), "Elu": (F.elu, -2, 2),
    "Celu": (F.celu, -2, 2), "Selu": (F.selu, -2, 2), "Gelu": (F.gelu, -3, 3),
    "LeakyRelu": (lambda x: F.leaky_relu(x, float(np.float32(0.01))), -2, 2),
}

WITH_ATTRIBUTES = {  # name -> (call, function)
    "elu_alpha": ("Elu <alpha = 1.5>", lambda x: F.elu(x, 1.5)),
    "celu_alpha": ("Celu <alpha = 0.5>", lambda x: F.celu(x, 0.5)),
    "gelu_tanh": ('Gelu <approximate = "tanh">', lambda x: F.gelu(x, approximate="tanh")),
    "leaky_relu_alpha": ("LeakyRelu <alpha = 0.25>", lambda x: F.leaky_relu(x, 0.25)),
    "leaky_relu_negative": ("LeakyRelu <alpha = -0.25>", lambda x: torch.where(x > 0, x, -0.25 * x)),
    "hard_sigmoid_torch": ("HardSigmoid <alpha = 0.25, beta = 0.5>",
                           lambda x: F.relu6(1.5 * x + 3) / 6),
    "swish_alpha": ("Swish <alpha = 0.5>", lambda x: x * torch.sigmoid(0.5 * x)),
    "swish": ("Swish", F.silu),
    "thresholded_relu": ("ThresholdedRelu", lambda x: F.threshold(x, 1, 0)),
    "thresholded_relu_alpha": ("ThresholdedRelu <alpha = 0.5>", lambda x: F.threshold(x, 0.5, 0)),
    "hard_shrink": ("Shrink <lambd = 0.5>", lambda x: F.hardshrink(x, 0.5)),
    "soft_shrink": ("Shrink <lambd = 0.5, bias = 0.5>", lambda x: F.softshrink(x, 0.5)),
    "selu_parameters": ("Selu <alpha = 1.5, gamma = 2.0>",
                        lambda x: 2 * torch.where(x > 0, x, 1.5 * torch.expm1(x))),
}

# At singular points, where PyTorch has a value.
AT_POINTS = ["Abs", "Relu", "Elu", "Celu", "Selu", "LeakyRelu", "HardSwish", "Softsign", "Sqrt", "Reciprocal",
             "Softplus", "Mish", "Gelu", "Acos", "Asin", "Atanh"]
ZERO = {"Floor": torch.floor, "Ceil": torch.ceil, "Round": torch.round, "Sign": torch.sign}


def cases():
    rng = np.random.default_rng(0)
    for op, (f, low, high) in UNARY.items():
        rtol = 3e-7 if op in ("Selu",) else 0
        yield Case(op.lower(), f"y = {op} (x)", {"x": rng.uniform(low, high, (3, 4))}, f, rtol=rtol)
    for name, (call, f) in WITH_ATTRIBUTES.items():
        op, _, attributes = call.partition(" ")
        yield Case(name, f"y = {op} {attributes} (x)", {"x": rng.uniform(-3, 3, (3, 5))}, f)
    for op in AT_POINTS:
        points = SPECIAL[np.abs(SPECIAL) <= 1] if op in ("Acos", "Asin", "Atanh") else SPECIAL
        points = points[points >= 0] if op == "Sqrt" else points
        rtol = 3e-7 if op in ("Selu", "LeakyRelu") else 0
        yield Case(f"{op.lower()}_points", f"y = {op} (x)", {"x": points}, UNARY[op][0], smooth=False,
                   rtol=rtol, floats=False)
    for name, points in (("thresholded_relu", [1, 2, 0.5]), ("hard_shrink", [0.5, -0.5, 1]),
                         ("soft_shrink", [0.5, -0.5, 1]), ("hard_sigmoid_torch", [-2, 2, 0])):
        call, f = WITH_ATTRIBUTES[name]
        op, _, attributes = call.partition(" ")
        yield Case(f"{name}_points", f"y = {op} {attributes} (x)", {"x": np.array(points, float)}, f, smooth=False)
    for op in ("Softplus", "Sigmoid", "Tanh", "Mish", "Gelu", "Elu", "Selu", "HardSwish", "Swish", "Erf"):
        f = UNARY[op][0] if op in UNARY else F.silu
        yield Case(f"{op.lower()}_saturated", f"y = {op} (x)",
                   {"x": np.array([-1e4, -800, -50, 50, 800, 1e4])}, f, rtol=3e-7 if op == "Selu" else 0,
                   narrow=False)
    for op, f in ZERO.items():
        yield Case(op.lower(), f"z = {op} (x)\ny = Add (x, z)", {"x": rng.uniform(-3, 3, 7)}, lambda x, f=f: x + f(x))
    yield Case("hard_sigmoid", "y = HardSigmoid (x)", {"x": rng.uniform(-4, 4, (4, 5))},
               lambda x: torch.clamp(x * float(np.float32(0.2)) + 0.5, 0, 1))
    yield Case("relu_empty", "y = Relu (x)", {"x": np.zeros((0, 3))}, torch.relu)
    yield Case("tanh_scalar", "y = Tanh (x)", {"x": np.array(0.3)}, torch.tanh)
    yield Case("cast", "z = Cast <to = 1> (x)\ny = Cast <to = 11> (z)", {"x": rng.uniform(-4, 4, 5)},
               lambda x: x.float().double(), smooth=False, floats=False)
    yield Case("cast_like", "z = Cast <to = 1> (w)\nu = CastLike (x, z)\nv = Mul (u, u)\ny = CastLike (v, x)",
               {"x": rng.integers(-4, 4, 5).astype(float), "w": np.ones(2)},
               lambda x, w: (x.float() ** 2).double(), smooth=False, floats=False)
