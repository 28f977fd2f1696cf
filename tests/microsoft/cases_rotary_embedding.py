"""Cases of graph/microsoft/rotary_embedding.cc. Biases by relative position have no kernel in ONNX
Runtime's CPU provider."""
import math

import numpy as np
from make_cases import Case


def rotary_cases(numbers):
    angles = np.arange(12)[:, None] * 100.0 ** (-np.arange(4) / 8)
    cos, sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)

    def case(name, x, positions, attributes="", cos=cos, sin=sin, **options):
        dtype = x.dtype
        return Case(name, f"y = com.microsoft.RotaryEmbedding {attributes}(x, p, c, s)",
                    {"x": x, "p": np.array(positions, np.int64), "c": cos.astype(dtype),
                     "s": sin.astype(dtype)}, ["y"], **options)

    flat, heads = numbers(2, 3, 16), numbers(2, 2, 3, 8)
    each = [[0, 1, 2], [5, 4, 11]]
    yield case("flat", flat, each, dims={"x": "batch,length,16", "p": "batch,length"})
    yield case("flat_first", flat, [4], dims={"x": "batch,length,16"})
    yield case("flat_interleaved", flat, each, "<interleaved: int = 1> ")
    yield case("flat_half", flat.astype(np.float16), each)
    yield case("flat_part", flat, each, "<num_heads: int = 2, rotary_embedding_dim: int = 4> ",
               cos[:, :2], sin[:, :2])
    yield case("flat_scale", flat, each, "<scale: float = 2.0> ")
    yield case("heads", heads, each, dims={"x": "batch,2,length,8", "p": "batch,length"})
    yield case("heads_first", heads, [0])
    yield case("heads_interleaved", heads, each, "<interleaved: int = 1> ")
    yield case("heads_part", heads, each, "<num_heads: int = 2, rotary_embedding_dim: int = 4> ",
               cos[:, :2], sin[:, :2])


def t5_bucket(distance, both_ways, buckets, most):
    bucket, length = 0, distance
    if both_ways:
        buckets //= 2
        bucket, length = (buckets if distance > 0 else 0), abs(distance)
    else:
        length = max(-distance, 0)
    exact = buckets // 2
    if length < exact:
        return bucket + length
    step = int(math.log(length / exact) / math.log(most / exact) * (buckets - exact))
    return bucket + min(exact + step, buckets - 1)


def bias_cases(numbers):
    for both_ways, buckets, most, length in ((1, 8, 20, 30), (0, 8, 20, 30), (1, 32, 128, 150)):
        table = numbers(buckets, 3)
        wanted = np.array([[t5_bucket(k - q, both_ways, buckets, most) for k in range(length)]
                           for q in range(length)])
        y = table.reshape(3, buckets)[:, wanted][None]
        for dtype in (np.float32, np.float16):
            yield Case(f"relative_{both_ways}_{buckets}_{np.dtype(dtype).name}",
                       f"y = com.microsoft.RelativePositionBias <is_bidirectional: int = {both_ways},"
                       f" max_distance: int = {most}> (t, n, n)",
                       {"t": table.astype(dtype), "n": np.array([length], np.int64)}, ["y"],
                       expected={"y": y.astype(dtype)})
    x, bias, rel, weight = numbers(2, 3, 8), numbers(8), numbers(1, 2, 3, 3), numbers(4, 6)
    gate_bias, eco = numbers(6), numbers(1, 2, 1, 1)
    values = {"x": x, "b": bias, "r": rel, "w": weight, "g": gate_bias, "e": eco}

    def gated(x):
        heads = (x + bias).astype(np.float64).reshape(2, 3, 2, 4).transpose(0, 2, 1, 3)
        sums = (heads @ weight + gate_bias).reshape(2, 2, 3, 2, 3).sum(-1)
        u, r = np.split(1 / (1 + np.exp(-sums)), 2, -1)
        return ((u * (r * eco - 1) + 2) * rel).astype(np.float32)

    call = "y = com.microsoft.GatedRelativePositionBias <num_heads: int = 2>"
    yield Case("gated", f"{call} (x, b, r, w, g, e)", values, ["y"], expected={"y": gated(x)},
               dims={"x": "batch,length,8"})
    offsets = np.array([[0, 1, 2], [3, 4, 5]], np.int32)
    yield Case("gated_tokens", f"{call} (x, b, r, w, g, e, o)",
               values | {"x": x.reshape(6, 8), "o": offsets}, ["y"], expected={"y": gated(x)})


def cases():
    rng = np.random.default_rng(13)

    def numbers(*dims):
        return rng.standard_normal(dims).astype(np.float32)

    yield from rotary_cases(numbers)
    yield from bias_cases(numbers)
    emb, parts = numbers(2, 3, 4), [numbers(2, 2, 3, 4).astype(np.float16) for _ in range(4)]
    sin, cos = (f(emb).astype(np.float16)[:, None] for f in (np.sin, np.cos))
    q, qr, k, kr = parts
    yield Case("gemma", "a, b = com.microsoft.GemmaRotaryEmbedding (e, q, qr, k, kr)",
               {"e": emb, "q": q, "qr": qr, "k": k, "kr": kr}, ["a", "b"],
               expected={"a": q * cos + qr * sin, "b": k * cos + kr * sin})
