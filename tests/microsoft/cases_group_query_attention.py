"""Cases of graph/microsoft/group_query_attention.cc."""
import numpy as np
from cases_attention import heads_of, merged, softmax
from make_cases import Case

BATCH, LENGTH, HEADS, KV_HEADS, SIZE, PAST, MOST = 2, 3, 4, 2, 32, 5, 16
NAMES = ("q", "k", "v", "pk", "pv", "n", "t", "cos", "sin", "at", "a", "sink", "ks", "vs", "qw", "kw")


def normalized(x, heads, weight):
    x = x.reshape(*x.shape[:2], heads, -1).astype(np.float64)
    y = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * weight
    return y.reshape(*y.shape[:2], -1)


def cases():
    rng = np.random.default_rng(12)

    def numbers(*dims, dtype=np.float32):
        return rng.standard_normal(dims).astype(dtype)

    def case(name, values, attributes="", outputs="y, k2, v2", **options):
        call = ", ".join(n if n in values else "" for n in NAMES).rstrip(", ")
        return Case(name, f"{outputs} = com.microsoft.GroupQueryAttention"
                    f" <num_heads: int = {HEADS}, kv_num_heads: int = {KV_HEADS}{attributes}> ({call})",
                    values, [o for o in outputs.split(", ") if o], **options)

    def tokens(batch, length, past=0, dtype=np.float32):
        """Inputs of one call; all rows have the same past."""
        values = {"q": numbers(batch, length, HEADS * SIZE, dtype=dtype),
                  "k": numbers(batch, length, KV_HEADS * SIZE, dtype=dtype),
                  "v": numbers(batch, length, KV_HEADS * SIZE, dtype=dtype),
                  "n": np.full(batch, past + length - 1, np.int32),
                  "t": np.array(past + length, np.int32)}
        if past:
            values |= {"pk": numbers(batch, KV_HEADS, past, SIZE, dtype=dtype),
                       "pv": numbers(batch, KV_HEADS, past, SIZE, dtype=dtype)}
        return values

    def packed(values):
        rest = {n: a for n, a in values.items() if n not in ("q", "k", "v")}
        return {"q": np.concatenate([values[n] for n in "qkv"], -1)} | rest

    angles = np.arange(MOST)[:, None] * 100.0 ** (-np.arange(SIZE // 2) / SIZE)
    rotary = {"cos": np.cos(angles).astype(np.float32), "sin": np.sin(angles).astype(np.float32)}
    part = {n: a[:, :8] for n, a in rotary.items()}
    turn = ", do_rotary: int = 1"
    open_past = {"pk": "batch,2,past,32", "pv": "batch,2,past,32"}
    open_tokens = {"q": "batch,length,128", "k": "batch,length,64", "v": "batch,length,64"}

    yield case("prompt", tokens(BATCH, LENGTH), dims=open_tokens)
    yield case("prompt_packed", packed(tokens(BATCH, LENGTH)))
    yield case("prompt_rotary", tokens(BATCH, LENGTH) | rotary, turn)
    yield case("prompt_rotary_packed", packed(tokens(BATCH, LENGTH)) | rotary,
               turn + ", rotary_interleaved: int = 1")
    yield case("prompt_rotary_part", tokens(BATCH, LENGTH) | part, turn)
    yield case("prompt_scale_softcap", tokens(BATCH, LENGTH), ", scale: float = 0.2, softcap: float = 1.5")
    yield case("prompt_window", tokens(1, 6), ", local_window_size: int = 2")
    yield case("prompt_bidirectional", tokens(BATCH, LENGTH), ", causal: int = 0")
    yield case("prompt_smooth", tokens(BATCH, LENGTH), ", smooth_softmax: int = 1")
    yield case("prompt_sink", tokens(BATCH, LENGTH) | {"sink": numbers(HEADS)}, dims=open_tokens)
    yield case("prompt_sink_window", tokens(1, 6) | {"sink": numbers(HEADS)}, ", local_window_size: int = 2")
    yield case("prompt_bias", tokens(BATCH, LENGTH) | {"a": numbers(1, HEADS, LENGTH, LENGTH)})
    yield case("prompt_positions", tokens(1, LENGTH) | rotary |
               {"at": np.array([[2, 3, 4]], np.int64)}, turn)
    empty = {n: np.zeros((BATCH, KV_HEADS, 0, SIZE), np.float32) for n in ("pk", "pv")}
    yield case("prompt_past_empty", tokens(BATCH, LENGTH) | empty | rotary, turn, dims=open_past)

    yield case("step", tokens(BATCH, 1, PAST), dims=open_past | open_tokens)
    yield case("step_rotary", tokens(BATCH, 1, PAST) | rotary, turn, dims=open_past)
    yield case("step_packed", packed(tokens(BATCH, 1, PAST)) | rotary, turn)
    yield case("step_window", tokens(BATCH, 1, PAST), ", local_window_size: int = 3")
    yield case("step_sink", tokens(BATCH, 1, PAST) | {"sink": numbers(HEADS)}, dims=open_past)
    yield case("step_sink_window", tokens(BATCH, 1, PAST) | {"sink": numbers(HEADS)},
               ", local_window_size: int = 3")
    yield case("step_sink_bias", tokens(BATCH, 1, PAST) | {
        "sink": numbers(HEADS), "a": numbers(BATCH, 1, 1, PAST + 1)})
    yield case("step_bias", tokens(BATCH, 1, PAST) | {"a": numbers(1, HEADS, 1, PAST + 1)})
    yield case("step_positions", tokens(BATCH, 1, PAST) | rotary |
               {"at": np.array([[5], [3]], np.int64)}, turn)
    yield case("chunk", tokens(1, LENGTH, PAST) | rotary, turn, dims=open_past)
    yield case("chunk_window", tokens(1, LENGTH, PAST), ", local_window_size: int = 4")
    yield case("chunk_sink_window", tokens(1, LENGTH, PAST) | {"sink": numbers(HEADS)},
               ", local_window_size: int = 4")
    # Rows of their own lengths; what a row's past has beyond its length does not count. ONNX
    # Runtime leaves zeros there.
    ragged = tokens(BATCH, 1, PAST)
    ragged["n"] = np.array([PAST, 2], np.int32)
    for n in ("pk", "pv"):
        ragged[n][1, :, 2:] = 0
    yield case("step_ragged", ragged | rotary, turn, dims=open_past)
    # A buffer longer than what it holds.
    longer = tokens(BATCH, 1, PAST)
    for n in ("pk", "pv"):
        longer[n] = np.concatenate([longer[n], np.zeros((BATCH, KV_HEADS, 4, SIZE), np.float32)], 2)
    yield case("step_buffer", longer | rotary, turn, dims=open_past)
    prompt = tokens(BATCH, LENGTH) | {n: np.zeros((BATCH, KV_HEADS, 8, SIZE), np.float32) for n in ("pk", "pv")}
    yield case("prompt_buffer", prompt | rotary, turn, dims=open_past)
    for mode in (1, 2):
        yield case(f"scores_{mode}", tokens(BATCH, LENGTH), f", qk_output: int = {mode}, softcap: float = 2.0",
                   "y, k2, v2, qk")
        yield case(f"scores_{mode}_step", tokens(BATCH, 1, PAST), f", qk_output: int = {mode}", "y, k2, v2, qk")
    yield case("half", tokens(BATCH, LENGTH, dtype=np.float16))
    yield case("half_step", tokens(BATCH, 1, PAST, dtype=np.float16) | {
        n: a.astype(np.float16) for n, a in rotary.items()}, turn)
    # ONNX Runtime's CPU provider does not normalize queries and keys.
    values = tokens(BATCH, LENGTH)
    weights = {"qw": numbers(SIZE), "kw": numbers(SIZE)}
    q = heads_of(normalized(values["q"], HEADS, weights["qw"]), HEADS)
    k = heads_of(normalized(values["k"], KV_HEADS, weights["kw"]), KV_HEADS)
    v = heads_of(values["v"], KV_HEADS)
    scores = q @ np.repeat(k, 2, 1).transpose(0, 1, 3, 2) / np.sqrt(SIZE)
    scores = np.where(np.tri(LENGTH, dtype=bool), scores, -np.inf)
    y = merged(softmax(scores) @ np.repeat(v, 2, 1))
    yield case("normalized", values | weights,
               expected={"y": y.astype(np.float32), "k2": k.astype(np.float32), "v2": v})
    capped, sink = ", softcap: float = 1.5", {"sink": numbers(HEADS)}
    yield case("prompt_sink_softcap", tokens(BATCH, LENGTH) | sink, capped, dims=open_tokens)
    yield case("prompt_sink_softcap_bias",
               tokens(BATCH, LENGTH) | sink | {"a": numbers(1, HEADS, LENGTH, LENGTH)}, capped)
    yield case("step_sink_softcap", tokens(BATCH, 1, PAST) | sink, capped, dims=open_past)
    yield case("chunk_sink_softcap_window", tokens(1, LENGTH, PAST) | sink,
               capped + ", local_window_size: int = 4")
    yield case("prompt_smooth_softcap", tokens(BATCH, LENGTH), capped + ", smooth_softmax: int = 1")
    buffer = tokens(BATCH, 1, PAST)
    for n in ("pk", "pv"):
        buffer[n] = np.concatenate([buffer[n], np.zeros((BATCH, KV_HEADS, 4, SIZE), np.float32)], 2)
    for mode in (1, 2):
        yield case(f"scores_{mode}_buffer", buffer, f", qk_output: int = {mode}", "y, k2, v2, qk", dims=open_past)
        yield case(f"scores_{mode}_sink", tokens(BATCH, 1, PAST) | sink, f", qk_output: int = {mode}{capped}",
                   "y, k2, v2, qk")

    # Caches of 8 and 4 bits, with a scale or one for each channel.
    def quantized(values, bits, channels, past):
        size = SIZE if bits == 8 else SIZE // 2
        dims = (values["q"].shape[0], KV_HEADS, past, size)
        low, high, dtype = (-128, 128, np.int8) if bits == 8 else (0, 256, np.uint8)
        shape = (1, KV_HEADS, 1, SIZE) if channels else (1,)
        unit = 0.02 if bits == 8 else 0.3
        return values | {n: rng.integers(low, high, dims).astype(dtype) for n in ("pk", "pv")} | {
            n: rng.uniform(unit, 2 * unit, shape).astype(np.float32) for n in ("ks", "vs")}

    for bits in (8, 4):
        for channels in (False, True):
            kind = "PER_CHANNEL" if channels else "PER_TENSOR"
            attributes = f', k_quant_type: string = "{kind}", v_quant_type: string = "{kind}", kv_cache_bit_width: int = {bits}'
            label = f"cache_{bits}{'_channels' if channels else ''}"
            types = {n: "int8" if bits == 8 else "uint8" for n in ("k2", "v2")}
            open_cache = {n: f"batch,2,past,{SIZE if bits == 8 else SIZE // 2}" for n in ("pk", "pv")}
            step = tokens(BATCH, 1, PAST)
            yield case(f"{label}_step", quantized(step, bits, channels, PAST) | rotary, turn + attributes,
                       types=types, dims=open_cache)
            yield case(f"{label}_chunk", quantized(tokens(1, LENGTH, PAST), bits, channels, PAST),
                       attributes + ", local_window_size: int = 4", types=types)
            prompt = quantized(tokens(BATCH, LENGTH), bits, channels, 0)
            yield case(f"{label}_prompt", prompt, attributes, types=types)
            if bits == 8 and channels:
                values = quantized(tokens(BATCH, 1, PAST), bits, channels, PAST)
                flat = {n: values[n].reshape(-1) for n in ("ks", "vs")}
                yield case(f"{label}_flat", values | flat, attributes, types=types)
                yield case(f"{label}_sink", values | sink, attributes, types=types)
                half = quantized(tokens(BATCH, 1, PAST, dtype=np.float16), bits, channels, PAST)
                yield case(f"{label}_half", half, attributes, types=types)
    # A cache of the window alone; what holds nothing is not looked at.
    capacity, window = 4, 2
    only = f", sliding_window_cache: int = 1, local_window_size: int = {window}"
    for length, total in ((1, 3), (1, 4), (1, 5), (1, 6), (1, 9), (2, 6), (2, 3), (6, 6), (4, 4), (3, 3), (5, 9)):
        batch = BATCH if length in (1, total) else 1
        values = tokens(batch, length, total - length) | rotary
        values |= {n: numbers(batch, KV_HEADS, capacity, SIZE) for n in ("pk", "pv")}
        held = total if total <= capacity else window + (total - capacity - 1) % (capacity - window + 1)
        only_held = case(f"window_cache_{length}_{total}", values, turn + only, "y, k4, v4", dims=open_past)
        only_held.call += "".join(f"\n{n}2 = Slice ({n}4, first, held, rows)" for n in "kv")
        only_held.inputs |= {"first": np.array([0]), "held": np.array([held]), "rows": np.array([2])}
        only_held.constants, only_held.outputs = ("first", "held", "rows"), ["y", "k2", "v2"]
        yield only_held
    full = f", sliding_window_cache: int = 1, local_window_size: int = {PAST}"
    yield case("window_cache_full", tokens(BATCH, 1, PAST) | {"n": np.full(BATCH, 11, np.int32), "t": np.array(12, np.int32)},
               full, dims=open_past)
    yield case("window_cache_sink", tokens(BATCH, 1, PAST) | sink | {
        "n": np.full(BATCH, 11, np.int32), "t": np.array(12, np.int32)}, full)
    ragged = tokens(BATCH, 1, PAST) | {"n": np.array([11, 7], np.int32), "t": np.array(12, np.int32)}
    yield case("window_cache_ragged", ragged | rotary, full + turn)
    values = tokens(BATCH, 1, PAST) | {"n": np.full(BATCH, 11, np.int32), "t": np.array(12, np.int32)}
    yield case("window_cache_8", quantized(values, 8, True, PAST),
               full + ', k_quant_type: string = "PER_CHANNEL", v_quant_type: string = "PER_CHANNEL", kv_cache_bit_width: int = 8',
               types={n: "int8" for n in ("k2", "v2")})
    values = tokens(BATCH, 1, 11) | {n: numbers(BATCH, KV_HEADS, PAST, SIZE) for n in ("pk", "pv")}
    yield case("window_cache_bias", values | {"a": numbers(1, HEADS, 1, 12)}, full)
    values = tokens(1, LENGTH, 4) | {n: numbers(1, KV_HEADS, PAST, SIZE) for n in ("pk", "pv")}
    yield case("window_cache_chunk_bias", values | {"a": numbers(1, 1, LENGTH, 7)}, full, dims=open_past)
