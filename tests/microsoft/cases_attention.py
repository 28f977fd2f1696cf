"""Cases of graph/microsoft/attention.cc."""
import numpy as np
from make_cases import Case

BATCH, LENGTH, WIDTH, HEADS, SIZE = 2, 4, 6, 2, 4
HIDDEN = HEADS * SIZE


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def heads_of(x, heads):
    return x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3)


def merged(x):
    return x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1)


def attend(q, k, v, bias=0, scale=None):
    """Of [batch, heads, length, size], in float64."""
    q, k, v = (a.astype(np.float64) for a in (q, k, v))
    scores = q @ k.transpose(0, 1, 3, 2) * (scale or 1 / np.sqrt(q.shape[-1])) + bias
    return softmax(scores) @ v


def turned(x, positions, size):
    """Halves of [batch, heads, length, size] turned by the base 10000."""
    x = x.astype(np.float64)
    angles = positions[:, None] * 10000.0 ** (-2 * np.arange(size // 2) / size)
    a, b, rest = x[..., :size // 2], x[..., size // 2:size], x[..., size:]
    cos, sin = np.cos(angles), np.sin(angles)
    return np.concatenate([a * cos - b * sin, b * cos + a * sin, rest], -1)


def cases():
    rng = np.random.default_rng(10)

    def numbers(*dims, dtype=np.float32):
        return rng.standard_normal(dims).astype(dtype)

    x, w, b = numbers(BATCH, LENGTH, WIDTH), numbers(WIDTH, 3 * HIDDEN), numbers(3 * HIDDEN)
    values = {"x": x, "w": w, "b": b}

    def case(name, more="", attributes="", outputs="y", extra=None, values=values, **options):
        call = f"{outputs} = com.microsoft.Attention <num_heads: int = {HEADS}{attributes}> (x, w, b{more})"
        return Case(name, call, values | (extra or {}), [o for o in outputs.split(", ") if o], **options)

    causal = ", unidirectional: int = 1"
    yield case("plain")
    yield case("scale", attributes=", scale: float = 0.3")
    yield case("causal", attributes=causal)
    yield case("present", outputs="y, p")
    yield case("dynamic", attributes=causal, outputs="y, p", dims={"x": "batch,length,6"})
    yield Case("value_size", f"y = com.microsoft.Attention <num_heads: int = {HEADS},"
               " qkv_hidden_sizes: ints = [8, 8, 4]> (x, w, b)",
               {"x": x, "w": numbers(WIDTH, 20), "b": numbers(20)}, ["y"])
    masks = {
        "keys": np.array([[1, 1, 1, 0], [1, 0, 1, 1]], np.int32),
        "rows": rng.integers(0, 2, (BATCH, LENGTH, LENGTH)).astype(np.int32) | np.eye(LENGTH, dtype=np.int32),
        "ends": np.array([3, 2], np.int32),
        "ends_starts": np.array([3, 4, 1, 2], np.int32),
        "none_counts": np.array([[0, 0, 0, 0], [1, 1, 0, 0]], np.int32),
    }
    for name, mask in masks.items():
        yield case(f"mask_{name}", ", m", extra={"m": mask})
        yield case(f"mask_{name}_causal", ", m", causal, extra={"m": mask},
                   dims={"x": "batch,length,6", "m": ",".join("abc"[:mask.ndim])})
    yield case("mask_filter", ", m", ", mask_filter_value: float = -2.0", extra={"m": masks["keys"]})
    for heads in (1, HEADS):
        for batch in (1, BATCH):
            yield case(f"bias_{batch}_{heads}", ", , , a", extra={"a": numbers(batch, heads, LENGTH, LENGTH)})
    yield case("bias_and_mask", ", m, , a", causal,
               extra={"m": masks["keys"], "a": numbers(1, HEADS, LENGTH, LENGTH)})
    past = numbers(2, BATCH, HEADS, 3, SIZE)
    yield case("past", ", , p", outputs="y, q", extra={"p": past})
    yield case("past_causal", ", , p", causal, "y, q", {"p": past},
               dims={"x": "batch,length,6", "p": "2,batch,2,past,4"})
    total = 3 + LENGTH
    mask = np.ones((BATCH, total), np.int32)
    mask[1, :2] = 0
    yield case("past_mask", ", m, p", causal, "y, q", {"p": past, "m": mask})
    yield case("past_mask_rows", ", m, p", causal, "y, q",
               {"p": past, "m": np.repeat(mask[:, None], LENGTH, axis=1)})
    yield case("past_empty", ", , p", causal, "y, q", {"p": past[:, :, :, :0]},
               dims={"p": "2,batch,2,past,4"})
    one = values | {"x": x[:, :1]}
    yield case("step", ", m, p", causal, "y, q",
               {"p": past, "m": np.array([[1, 1, 1, 1], [0, 1, 1, 1]], np.int32)}, one,
               dims={"x": "batch,length,6", "p": "2,batch,2,past,4", "m": "batch,total"})
    # What ONNX Runtime's CPU provider refuses: a mask of four axes, rotation, float16, no bias.
    y = merged(attend(*(heads_of(part, HEADS) for part in np.split(x @ w, 3, -1))))
    yield Case("no_bias", f"y = com.microsoft.Attention <num_heads: int = {HEADS}> (x, w)",
               {"x": x, "w": w}, ["y"], expected={"y": y.astype(np.float32)})
    qkv = (x @ w + b).astype(np.float64)
    q, k, v = (heads_of(part, HEADS) for part in np.split(qkv, 3, -1))
    added = numbers(1, HEADS, LENGTH, total)
    keys, kept = np.concatenate([past[0], k], 2), np.concatenate([past[1], v], 2)
    hidden = np.where(np.arange(total) > np.arange(3, total)[:, None], -np.inf, 0)
    y = merged(attend(q, keys, kept, added + hidden)).astype(np.float32)
    yield case("past_bias", ", , p, a", causal, "y, q", {"p": past, "a": added},
               expected={"y": y, "q": np.stack([keys, kept]).astype(np.float32)})
    square = rng.integers(0, 2, (BATCH, 1, 8, 8)).astype(np.int32) | np.eye(8, dtype=np.int32)
    added = np.where(square[:, :, :LENGTH, :LENGTH] > 0, 0, -10000)
    y = merged(attend(q, k, v, added)).astype(np.float32)
    yield case("mask_square", ", m", extra={"m": square}, expected={"y": y})
    for name, more, size in (("rotary", "", SIZE), ("rotary_part", ", rotary_embedding_dim: int = 2", 2)):
        positions = np.arange(LENGTH)
        y = merged(attend(turned(q, positions, size), turned(k, positions, size), v))
        yield case(name, attributes=", do_rotary: int = 1" + more, expected={"y": y.astype(np.float32)})
    y = merged(attend(*(heads_of(part, HEADS) for part in np.split(
        (x.astype(np.float16) @ w.astype(np.float16) + b.astype(np.float16)), 3, -1))))
    yield case("half", values={name: a.astype(np.float16) for name, a in values.items()},
               expected={"y": y.astype(np.float16)})
    # A past at the beginning of a buffer.
    buffer = np.concatenate([past, np.zeros((2, BATCH, HEADS, 5, SIZE), np.float32)], 3)
    y = merged(attend(q, keys, kept, hidden)).astype(np.float32)
    present = buffer.copy()
    present[:, :, :, 3:total] = np.stack([k, v])
    yield case("past_shared", ", , p, , n", causal + ", past_present_share_buffer: int = 1", "y, q",
               {"p": buffer, "n": np.array([3], np.int32)}, expected={"y": y, "q": present},
               dims={"x": "batch,length,6", "p": "2,batch,2,longest,4"})
