"""Cases of graph/microsoft/multi_head_attention.cc."""
import numpy as np
from cases_attention import attend, heads_of, merged
from make_cases import Case

BATCH, LENGTH, KEYS, HEADS, SIZE = 2, 4, 5, 2, 4
HIDDEN = HEADS * SIZE


def multi_head_cases(rng, numbers):
    q, k, v = numbers(BATCH, LENGTH, HIDDEN), numbers(BATCH, KEYS, HIDDEN), numbers(BATCH, KEYS, HIDDEN)
    values = {"q": q, "k": k, "v": v, "b": numbers(3 * HIDDEN)}
    names = ("q", "k", "v", "b", "m", "a", "pk", "pv", "n", "c")

    def case(name, values, attributes="", outputs="y", **options):
        call = ", ".join(n if n in values else "" for n in names).rstrip(", ")
        return Case(name, f"{outputs} = com.microsoft.MultiHeadAttention"
                    f" <num_heads: int = {HEADS}{attributes}> ({call})", values,
                    [o for o in outputs.split(", ") if o], **options)

    def without(*dropped):
        return {n: a for n, a in values.items() if n not in dropped}

    causal = ", unidirectional: int = 1"
    dynamic = {"q": "batch,length,8", "k": "batch,keys,8", "v": "batch,keys,8"}
    yield case("plain", without("b"))
    yield case("bias", values, dims=dynamic)
    yield case("scale", values, ", scale: float = 0.2")
    yield case("value_size", without("b") | {"v": numbers(BATCH, KEYS, 12)})
    yield case("value_size_bias", values | {"v": numbers(BATCH, KEYS, 12), "b": numbers(28)})
    yield case("present", values, outputs="y, pk2, pv2")
    own = {"q": q, "k": numbers(BATCH, LENGTH, HIDDEN), "v": numbers(BATCH, LENGTH, HIDDEN)}
    yield case("causal", own, causal)
    # ONNX Runtime's CPU provider does not take packed inputs.
    qkv = numbers(BATCH, LENGTH, HEADS, 3, SIZE)
    parts = [qkv[:, :, :, i].transpose(0, 2, 1, 3) for i in range(3)]
    yield case("packed_qkv", {"q": qkv}, expected={"y": merged(attend(*parts)).astype(np.float32)},
               dims={"q": "batch,length,2,3,4"})
    parts = [part + heads_of(bias[None, None], HEADS) for part, bias in zip(parts, np.split(values["b"], 3))]
    yield case("packed_qkv_bias", {"q": qkv, "b": values["b"]},
               expected={"y": merged(attend(*parts)).astype(np.float32)})
    kv = numbers(BATCH, KEYS, HEADS, 2, SIZE)
    parts = [kv[:, :, :, i].transpose(0, 2, 1, 3) for i in range(2)]
    yield case("packed_kv", {"q": q, "k": kv},
               expected={"y": merged(attend(heads_of(q, HEADS), *parts)).astype(np.float32)})
    cross = {"q": q, "k": numbers(BATCH, HEADS, KEYS, SIZE), "v": numbers(BATCH, HEADS, KEYS, SIZE)}
    yield case("cross", cross, dims={"q": "batch,length,8", "k": "batch,2,keys,4", "v": "batch,2,keys,4"})
    yield case("cross_bias", cross | {"b": values["b"]})
    masks = {"ends": np.array([5, 2], np.int32),
             "keys": np.array([[1, 1, 1, 0, 1], [0, 1, 1, 0, 0]], np.int32),
             "rows": rng.integers(0, 2, (BATCH, LENGTH, KEYS)).astype(np.int32)}
    for name, mask in masks.items():
        yield case(f"mask_{name}", without("b") | {"m": mask})
    yield case("mask_dynamic", values | {"m": masks["keys"]}, dims=dynamic | {"m": "batch,keys"})
    yield case("mask_cross", cross | {"m": masks["keys"]}, ", mask_filter_value: float = -3.0")
    for batch in (1, BATCH):
        for heads in (1, HEADS):
            yield case(f"attention_bias_{batch}_{heads}",
                       without("b") | {"a": numbers(batch, heads, LENGTH, KEYS)})
    yield case("attention_bias_and_mask", values | {"m": masks["keys"], "a": numbers(1, 1, LENGTH, KEYS)})
    past = {"pk": numbers(BATCH, HEADS, 3, SIZE), "pv": numbers(BATCH, HEADS, 3, SIZE)}
    yield case("past", own | past, outputs="y, pk2, pv2",
               dims={"q": "batch,length,8", "k": "batch,length,8", "v": "batch,length,8",
                     "pk": "batch,2,past,4", "pv": "batch,2,past,4"})
    yield case("past_bias", own | past | {"b": values["b"]}, causal, "y, pk2, pv2")
    mask = np.ones((BATCH, 3 + LENGTH), np.int32)
    mask[0, :2] = 0
    yield case("past_mask", own | past | {"m": mask}, causal, "y, pk2, pv2")
    yield case("past_attention_bias", own | past | {"a": numbers(1, HEADS, LENGTH, 3 + LENGTH)},
               outputs="y, pk2, pv2")
    step = {n: a[:, :1] for n, a in own.items()}
    yield case("step", step | past | {"b": values["b"]}, causal, "y, pk2, pv2",
               dims={"q": "batch,1,8", "k": "batch,1,8", "v": "batch,1,8", "pk": "batch,2,past,4",
                     "pv": "batch,2,past,4"})
    yield case("qk", values | {"m": masks["keys"]}, outputs="y, , , qk", types={"qk": "float"})
    half = {n: a.astype(np.float16) for n, a in without("b").items()}
    expected = merged(attend(heads_of(half["q"], HEADS), heads_of(half["k"], HEADS), heads_of(half["v"], HEADS)))
    yield case("half", half, expected={"y": expected.astype(np.float16)})
    packed = {"m": np.array([5, 2, 0, 4, 8, 0, 5, 7], np.int32)}
    bias = np.where(np.arange(KEYS) < packed["m"][:2, None], 0, -10000)[:, None, None]
    expected = merged(attend(heads_of(q, HEADS), heads_of(k, HEADS), heads_of(v, HEADS), bias))
    yield case("mask_cumulative", without("b") | packed, expected={"y": expected.astype(np.float32)})


def decoder_cases(rng, numbers):
    q, k, v = (numbers(BATCH, 1, HIDDEN) for _ in range(3))
    names = ("q", "k", "v", "m", "a", "pk", "pv", "n", "w", "c", "b")

    def case(name, values, attributes="", outputs="y, k2, v2", **options):
        call = ", ".join(n if n in values else "" for n in names).rstrip(", ")
        return Case(f"decoder_{name}", f"{outputs} = com.microsoft.DecoderMaskedMultiHeadAttention"
                    f" <num_heads: int = {HEADS}{attributes}> ({call})", values,
                    [o for o in outputs.split(", ") if o], **options)

    past = {"pk": numbers(BATCH, HEADS, 3, SIZE), "pv": numbers(BATCH, HEADS, 3, SIZE)}
    new = {"q": q, "k": k, "v": v}
    longer = {n: np.concatenate([a, np.zeros((BATCH, HEADS, 3, SIZE), np.float32)], 2)
              for n, a in past.items()} | {"n": np.array([3], np.int32)}
    shared = ", past_present_share_buffer: int = 1"
    mask = np.array([[1, 1, 1, 1], [0, 0, 1, 1]], np.int32)
    yield case("shared", new | longer, shared)
    yield case("shared_bias", new | longer | {"b": numbers(3 * HIDDEN)}, shared)
    yield case("shared_mask", new | longer | {"m": mask}, shared,
               dims={"pk": "batch,2,longest,4", "pv": "batch,2,longest,4"})
    yield case("shared_attention_bias", new | longer | {"a": numbers(1, HEADS, 1, 4)}, shared)
    # Beams read each position of the past from the beam that `c` names.
    beams = {n: np.concatenate([a, a[::-1] * 0.7]) for n, a in (new | longer).items() if n != "n"} | {
        "n": longer["n"], "w": np.array([2], np.int32), "c": rng.integers(0, 2, (BATCH, 2, 6)).astype(np.int32)}
    yield case("beams", beams, shared)
    yield case("beams_bias", beams | {"b": numbers(3 * HIDDEN)}, shared,
               dims={"pk": "batch,2,longest,4", "pv": "batch,2,longest,4"})
    # ONNX Runtime's CPU provider takes nothing but shared buffers.
    keys, values = (np.concatenate([past[p], heads_of(new[n], HEADS)], 2) for p, n in (("pk", "k"), ("pv", "v")))
    y = merged(attend(heads_of(q, HEADS), keys, values, np.where(mask > 0, 0, -10000)[:, None, None]))
    k5, v5 = numbers(BATCH, HEADS, 5, SIZE), numbers(BATCH, HEADS, 5, SIZE)
    cross = merged(attend(heads_of(q, HEADS), k5, v5)).astype(np.float32)
    yield case("cross", {"q": q, "k": k5, "v": v5}, outputs="y", expected={"y": cross})
    expected = {"y": y.astype(np.float32), "k2": keys, "v2": values}
    yield case("past", new | past | {"m": mask}, expected=expected)
    yield case("packed", {"q": np.concatenate([q, k, v], 2), "m": mask} | past, expected=expected)
    # ONNX Runtime infers another type for the scores than its kernel makes.
    scores = (heads_of(q, HEADS) @ keys.transpose(0, 1, 3, 2) / np.sqrt(SIZE)).astype(np.float32)
    held = {n: longer[p].copy() for n, p in (("k2", "pk"), ("v2", "pv"))}
    held["k2"][:, :, 3:4], held["v2"][:, :, 3:4] = keys[:, :, 3:], values[:, :, 3:]
    y = merged(attend(heads_of(q, HEADS), keys, values)).astype(np.float32)
    yield case("shared_scores", new | longer, shared + ", output_qk: int = 1", "y, k2, v2, qk",
               expected={"y": y, "qk": scores} | held)


def cases():
    rng = np.random.default_rng(11)

    def numbers(*dims):
        return rng.standard_normal(dims).astype(np.float32)

    yield from multi_head_cases(rng, numbers)
    yield from decoder_cases(rng, numbers)
