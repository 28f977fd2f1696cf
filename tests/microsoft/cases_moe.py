"""Cases of graph/microsoft/moe.cc."""
import numpy as np
from make_cases import Case, run

MS = "com.microsoft."
RNG = np.random.default_rng(17)
ROWS, HIDDEN, INNER, EXPERTS = 5, 32, 32, 4
SWIGLU = ', activation_type = "swiglu", swiglu_fusion = 1, activation_alpha = 1.702, activation_beta = 1.0'


def numbers(*dims, scale=1):
    return (RNG.standard_normal(dims) * scale).astype(np.float32)


def floats():
    inputs = {"x": numbers(ROWS, HIDDEN), "r": numbers(ROWS, EXPERTS), "w": numbers(EXPERTS, INNER, HIDDEN, scale=.1),
              "b": numbers(EXPERTS, INNER), "v": numbers(EXPERTS, HIDDEN, INNER, scale=.1),
              "c": numbers(EXPERTS, HIDDEN)}
    weights = ("w", "b", "v", "c")
    line = f"y = {MS}MoE "
    for activation in ("relu", "gelu", "silu", "identity"):
        for k, normalize in ((1, 0), (2, 0), (2, 1), (4, 1)) if activation == "relu" else ((2, 0),):
            yield Case(f"moe_{activation}_{k}_{normalize}",
                       line + f'<k = {k}, activation_type = "{activation}", normalize_routing_weights = {normalize}> '
                       "(x, r, w, b, v, c)", inputs, ["y"], weights)
    yield Case("moe_plain", line + "(x, r, w, , v)", {k: inputs[k] for k in "xrwv"}, ["y"], ("w", "v"))
    one_row = {**inputs, "x": inputs["x"][:1], "r": inputs["r"][:1]}
    yield Case("moe_one_row", line + "<k = 2> (x, r, w, b, v, c)", one_row, ["y"], weights)
    yield Case("moe_sparse_mixer", line + "<k = 2, use_sparse_mixer = 1> (x, r, w, b, v, c)", inputs, ["y"], weights)
    yield Case("moe_rank3", line + "<k = 2> (x, r, w, b, v, c)",
               {**inputs, "x": numbers(2, 3, HIDDEN), "r": numbers(6, EXPERTS)}, ["y"], weights)
    gated = {**inputs, "w": numbers(EXPERTS, 2 * INNER, HIDDEN, scale=.3), "b": numbers(EXPERTS, 2 * INNER)}
    for name, attributes in (("", ""), ("_limit", ", swiglu_limit = 1.5")):
        yield Case(f"moe_swiglu{name}", line + f"<k = 2{SWIGLU}{attributes}> (x, r, w, b, v, c)", gated, ["y"], weights)


def quantized():
    for bits in (4, 8, 2):
        for block, zeros, kind in ((0, False, ""), (0, True, ""), (32, False, "swiglu"), (32, True, "table"),
                                   (32, True, "row"), (16, True, "half")):
            rows, outputs = (1 if kind == "row" else ROWS), INNER * (2 if kind == "swiglu" else 1)
            x, r = numbers(rows, HIDDEN), numbers(rows, EXPERTS)

            def layer(n, k):
                blocks = k // block if block else 1
                shape = (EXPERTS, n, blocks) if block else (EXPERTS, n)
                packed = (EXPERTS, n, -(-blocks * bits // 8)) if block else (EXPERTS, n * bits // 8)
                return (RNG.integers(0, 256, (EXPERTS, n, k * bits // 8)).astype(np.uint8),
                        np.abs(numbers(*shape, scale=.02 if bits < 8 else .001)),
                        RNG.integers(0, 256, packed).astype(np.uint8))

            w, s, z = layer(outputs, HIDDEN)
            v, t, q = layer(HIDDEN, INNER)
            inputs = {"x": x, "r": r, "w": w, "s": s, "b": numbers(EXPERTS, outputs), "v": v, "t": t,
                      "c": numbers(EXPERTS, HIDDEN)}
            names = list(inputs)
            if zeros:
                inputs |= {"z": z, "q": q}
                names += ["", "", "", "z", "q"]
            if kind == "table":
                inputs["g"] = np.abs(numbers(rows, EXPERTS))
                names += ["", "g"]
            if kind == "half":
                for name in "xrsbtc":
                    inputs[name] = inputs[name].astype(np.float16)
            attributes = f"k = 2, expert_weight_bits = {bits}" + (f", block_size = {block}" if block else "")
            attributes += SWIGLU if kind == "swiglu" else ""
            case = Case(f"qmoe{bits}_{block}_{'zeros' if zeros else 'plain'}{'_' + kind if kind else ''}",
                        f"y = {MS}QMoE <{attributes}> ({', '.join(names)})", inputs, ["y"])
            # With constant weights of 8 bits ONNX Runtime quantizes the activations too.
            case.expected = run(case)
            case.constants = tuple(name for name in names[2:] if name and name != "g")
            yield case


def cases():
    yield from floats()
    yield from quantized()
