"""Cases of graph/microsoft/normalization.cc. GroupNorm and SkipGroupNorm have no kernel in ONNX
Runtime's CPU provider: their expected values are their description in NumPy."""
import numpy as np
from make_cases import Case


def group_norm(x, gamma, beta, groups, epsilon, silu, channels_last):
    x = x.astype(np.float64)
    if not channels_last:
        x = np.moveaxis(x, 1, -1)
    batch, channels = x.shape[0], x.shape[-1]
    grouped = x.reshape(batch, -1, groups, channels // groups)
    mean = grouped.mean(axis=(1, 3), keepdims=True)
    variance = grouped.var(axis=(1, 3), keepdims=True)
    y = ((grouped - mean) / np.sqrt(variance + epsilon)).reshape(x.shape) * gamma + beta
    if silu:
        y = y / (1 + np.exp(-y))
    return y if channels_last else np.moveaxis(y, -1, 1)


def group_norm_cases(numbers):
    for name, dtype, kind, silu, last in (("plain", np.float32, np.float32, 0, 1),
                                          ("silu", np.float32, np.float32, 1, 1),
                                          ("first", np.float32, np.float32, 1, 0),
                                          ("half", np.float16, np.float32, 1, 1),
                                          ("half_gamma", np.float16, np.float16, 0, 1)):
        dims = (2, 3, 4, 6) if last else (2, 6, 3, 4)
        x, gamma, beta = numbers(*dims, dtype=dtype), numbers(6, dtype=kind), numbers(6, dtype=kind)
        attributes = f"<groups: int = 3, activation: int = {silu}, channels_last: int = {last}, epsilon: float = 0.001>"
        y = group_norm(x, gamma, beta, 3, 0.001, silu, last)
        yield Case(f"group_norm_{name}", f"y = com.microsoft.GroupNorm {attributes} (x, gamma, beta)",
                   {"x": x, "gamma": gamma, "beta": beta}, ["y"], expected={"y": y.astype(dtype)},
                   dims={"x": "n,h,w,6"} if name == "silu" else {})
        skips = {"full": numbers(*dims, dtype=dtype)}
        if last:
            skips |= {"flat": numbers(2, 6, dtype=dtype), "ones": numbers(2, 1, 1, 6, dtype=dtype)}
        bias = numbers(6, dtype=dtype)
        for skip_name, skip in skips.items():
            wide = skip if skip.ndim == 4 else skip[:, None, None]
            total = x + wide + (bias if last else bias[:, None, None])
            y = group_norm(total, gamma, beta, 3, 0.001, silu, last)
            yield Case(f"skip_group_norm_{name}_{skip_name}",
                       f"y, s = com.microsoft.SkipGroupNorm {attributes} (x, gamma, beta, skip, bias)",
                       {"x": x, "gamma": gamma, "beta": beta, "skip": skip, "bias": bias}, ["y", "s"],
                       expected={"y": y.astype(dtype), "s": total})
        if last:
            y = group_norm(x + skip, gamma, beta, 3, 0.001, silu, last)
            yield Case(f"skip_group_norm_{name}_no_bias",
                       f"y = com.microsoft.SkipGroupNorm {attributes} (x, gamma, beta, skip)",
                       {"x": x, "gamma": gamma, "beta": beta, "skip": skip}, ["y"],
                       expected={"y": y.astype(dtype)})


def skip_cases(numbers):
    for dtype in (np.float32, np.float16):
        kind = np.dtype(dtype).name
        values = {"x": numbers(2, 3, 8, dtype=dtype), "s": numbers(2, 3, 8, dtype=dtype),
                  "g": numbers(8, dtype=dtype), "beta": numbers(8, dtype=dtype),
                  "bias": numbers(8, dtype=dtype)}

        def case(name, op, call, outputs="y", values=values, **more):
            used = {k: v for k, v in values.items() if k in call.replace("(", "").replace(")", "").split(", ")}
            names = [o for o in outputs.split(", ") if o]
            return Case(f"{name}_{kind}", f"{outputs} = com.microsoft.{op} {call}", used, names, **more)

        layer, simple = "SkipLayerNormalization", "SkipSimplifiedLayerNormalization"
        dynamic = {"x": "batch,length,8", "s": "batch,length,8"}
        yield case("skip_layer", f"{layer} <epsilon: float = 0.01>", "(x, s, g)")
        yield case("skip_layer_beta", layer, "(x, s, g, beta)", dims=dynamic)
        yield case("skip_layer_bias", layer, "(x, s, g, beta, bias)")
        yield case("skip_layer_bias_only", layer, "(x, s, g, , bias)")
        yield case("skip_layer_sum", layer, "(x, s, g, beta, bias)", "y, , , sum", dims=dynamic)
        yield case("skip_layer_broadcast", layer, "(x, s, g, beta)", "y, , , sum",
                   values | {"s": numbers(1, 3, 8, dtype=dtype)})
        yield case("skip_layer_broadcast2", layer, "(x, s, g, beta)", "y",
                   values | {"s": numbers(3, 8, dtype=dtype)})
        yield case("skip_simple", f"{simple} <epsilon: float = 0.01>", "(x, s, g)", dims=dynamic)
        yield case("skip_simple_bias", simple, "(x, s, g, bias)")
        yield case("skip_simple_sum", simple, "(x, s, g, bias)", "y, , , sum")
        yield case("skip_simple_rank2", simple, "(x, s, g)", "y, , , sum",
                   values | {"x": numbers(5, 8, dtype=dtype), "s": numbers(5, 8, dtype=dtype)})
    x, s, g, b = numbers(2, 3, 8), numbers(2, 3, 8), numbers(8), numbers(8)
    total = (x + s).astype(np.float64)
    mean, deviation = total.mean(-1, keepdims=True), 1 / np.sqrt(total.var(-1, keepdims=True) + 1e-12)
    yield Case("skip_layer_statistics", "y, m, d = com.microsoft.SkipLayerNormalization (x, s, g, b)",
               {"x": x, "s": s, "g": g, "b": b}, ["y", "m", "d"],
               expected={"y": ((total - mean) * deviation * g + b).astype(np.float32),
                         "m": mean.astype(np.float32), "d": deviation.astype(np.float32)})
    inverse = 1 / np.sqrt((total ** 2).mean(-1, keepdims=True) + 1e-12)
    yield Case("skip_simple_statistics", "y, , d = com.microsoft.SkipSimplifiedLayerNormalization (x, s, g)",
               {"x": x, "s": s, "g": g}, ["y", "d"],
               expected={"y": (total * inverse * g).astype(np.float32), "d": inverse.astype(np.float32)})


def simplified_cases(numbers):
    """In the standard's domain, where ONNX Runtime has it."""
    for dtype in (np.float32, np.float64, np.float16):
        yield Case(f"simplified_{np.dtype(dtype).name}", "y = SimplifiedLayerNormalization (x, g)",
                   {"x": numbers(2, 3, 8, dtype=dtype), "g": numbers(8, dtype=dtype)}, ["y"])
    yield Case("simplified_axis",
               "y, d = SimplifiedLayerNormalization <axis: int = 1, epsilon: float = 0.01> (x, g)",
               {"x": numbers(2, 3, 4), "g": numbers(3, 4)}, ["y", "d"])
    yield Case("simplified_mixed", "y = SimplifiedLayerNormalization (x, g)",
               {"x": numbers(2, 3, 8), "g": numbers(8, dtype=np.float16)}, ["y"],
               dims={"x": "b,s,8"})


def embed_cases(rng, numbers):
    ids = rng.integers(0, 11, (2, 4), np.int32)
    segments = rng.integers(0, 2, (2, 4), np.int32)
    positions = rng.integers(0, 6, (2, 4), np.int32)
    mask = np.array([[1, 1, 1, 0], [1, 1, 0, 0]], np.int32)
    values = {"ids": ids, "seg": segments, "word": numbers(11, 8), "pos": numbers(6, 8),
              "segs": numbers(2, 8), "g": numbers(8), "b": numbers(8), "mask": mask, "at": positions}

    def case(name, call, outputs, attributes="", values=values, **more):
        used = [v.strip() for v in call.split(",") if v.strip()]
        return Case(name, f"{outputs} = com.microsoft.EmbedLayerNormalization {attributes}({call})",
                    {k: values[k] for k in used}, [o for o in outputs.split(", ") if o], **more)

    yield case("embed", "ids, seg, word, pos, segs, g, b, mask", "y, m",
               "<epsilon: float = 0.001> ")
    yield case("embed_no_mask", "ids, seg, word, pos, segs, g, b", "y, m")
    yield case("embed_no_segments", "ids, , word, pos, , g, b, mask", "y, m, s",
               dims={"ids": "batch,length", "mask": "batch,length"})
    yield case("embed_positions", "ids, seg, word, pos, segs, g, b, mask, at", "y, m, s")
    yield case("embed_positions_broadcast", "ids, seg, word, pos, segs, g, b, , at", "y, m, s",
               values=values | {"at": positions[:1]})
    yield case("embed_dynamic", "ids, seg, word, pos, segs, g, b", "y, m",
               dims={"ids": "batch,length", "seg": "batch,length"})


def cases():
    rng = np.random.default_rng(5)

    def numbers(*dims, dtype=np.float32):
        return rng.standard_normal(dims).astype(dtype)

    yield from skip_cases(numbers)
    yield from simplified_cases(numbers)
    yield from embed_cases(rng, numbers)
    yield from group_norm_cases(numbers)
    for activation in ("silu", "swish", "sigmoid"):
        yield Case(f"gated_rms_{activation}",
                   f'y = com.microsoft.GatedRMSNorm <activation: string = "{activation}"> (x, s, g)',
                   {"x": numbers(2, 3, 8), "s": numbers(4), "g": numbers(2, 3, 8)}, ["y"])
    yield Case("gated_rms_half", "y = com.microsoft.GatedRMSNorm <epsilon: float = 0.01> (x, s, g)",
               {"x": numbers(2, 3, 8, dtype=np.float16), "s": numbers(8, dtype=np.float16),
                "g": numbers(2, 3, 8, dtype=np.float16)}, ["y"], dims={"x": "b,s,8", "g": "b,s,8"})
