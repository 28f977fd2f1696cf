"""Cases of graph/microsoft/packed_attention.cc, whose ops have no kernel in ONNX Runtime's CPU
provider: each sequence attends for itself."""
import numpy as np
from cases_attention import attend, heads_of, merged
from make_cases import Case

LENGTHS, LONGEST, HEADS = (2, 4, 1), 4, 2
OFFSETS = np.array([0, 1, 4, 5, 6, 7, 8, 2, 3, 9, 10, 11], np.int32).reshape(3, LONGEST)
SUMS = np.cumsum([0, *LENGTHS]).astype(np.int32)


def attend_each(q, k, v, bias=None, scale=None):
    results = []
    for i, length in enumerate(LENGTHS):
        rows = slice(SUMS[i], SUMS[i + 1])
        part = [heads_of(x[None, rows], HEADS) for x in (q, k, v)]
        own = 0 if bias is None else bias[i % len(bias)][None, :, :length, :length]
        results.append(merged(attend(*part, own, scale))[0])
    return np.concatenate(results).astype(q.dtype)


def cases():
    rng = np.random.default_rng(14)

    def numbers(*dims):
        return rng.standard_normal(dims).astype(np.float32)

    x, w, b = numbers(7, 6), numbers(6, 24), numbers(24)
    values = {"x": x, "w": w, "b": b, "o": OFFSETS, "s": SUMS}
    q, k, v = np.split(x @ w + b, 3, -1)
    call = "y = com.microsoft.PackedAttention <num_heads: int = 2"
    yield Case("attention", f"{call}> (x, w, b, o, s)", values, ["y"],
               expected={"y": attend_each(q, k, v)}, dims={"x": "tokens,6", "o": "batch,length", "s": "sums"})
    bias = numbers(1, HEADS, LONGEST, LONGEST)
    yield Case("attention_bias", f"{call}, scale: float = 0.3> (x, w, b, o, s, a)", values | {"a": bias},
               ["y"], expected={"y": attend_each(q, k, v, bias, 0.3)})
    w, b = numbers(6, 20), numbers(20)
    q, k, v = np.split(x @ w + b, [8, 16], -1)
    yield Case("attention_value_size", f"{call}, qkv_hidden_sizes: ints = [8, 8, 4]> (x, w, b, o, s)",
               values | {"w": w, "b": b}, ["y"], expected={"y": attend_each(q, k, v)})
    q, k, v, b = numbers(7, 8), numbers(7, 8), numbers(7, 4), numbers(20)
    own = {"q": q, "k": k, "v": v, "o": OFFSETS, "s": SUMS}
    call = "y = com.microsoft.PackedMultiHeadAttention <num_heads: int = 2>"
    yield Case("heads", f"{call} (q, k, v, , o, s)", own, ["y"], expected={"y": attend_each(q, k, v)})
    y = attend_each(q + b[:8], k + b[8:16], v + b[16:], bias)
    yield Case("heads_bias", f"{call} (q, k, v, b, o, s, a)", own | {"b": b, "a": bias}, ["y"],
               expected={"y": y}, dims={n: "tokens," + str(own[n].shape[1]) for n in "qkv"})
    qkv = numbers(7, HEADS, 3, 4)
    y = attend_each(*(qkv[:, :, i].reshape(7, 8) for i in range(3)))
    yield Case("heads_packed", f"{call} (q, , , , o, s)", {"q": qkv, "o": OFFSETS, "s": SUMS}, ["y"],
               expected={"y": y})
    padded = numbers(3, LONGEST, 5)
    tokens = np.concatenate([padded[i, :n] for i, n in enumerate(LENGTHS)])
    yield Case("remove", "y, o, s, m = com.microsoft.RemovePadding (x, n)",
               {"x": padded, "n": np.array(LENGTHS, np.int32)}, ["y", "o", "s", "m"],
               expected={"y": tokens, "o": OFFSETS, "s": SUMS, "m": np.array([4], np.int32)},
               dims={"x": "batch,length,5"})
    restored = np.zeros_like(padded)
    for i, n in enumerate(LENGTHS):
        restored[i, :n] = padded[i, :n]
    yield Case("restore", "y = com.microsoft.RestorePadding (x, o)", {"x": tokens, "o": OFFSETS}, ["y"],
               expected={"y": restored}, dims={"x": "tokens,5", "o": "batch,length"})
