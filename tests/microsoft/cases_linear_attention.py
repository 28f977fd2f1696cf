"""Cases of graph/microsoft/linear_attention.cc."""
import numpy as np
from make_cases import Case

BATCH, LENGTH, HEADS, KV_HEADS, SIZE, VALUE = 2, 5, 4, 2, 3, 4


def cases():
    rng = np.random.default_rng(17)

    def numbers(*dims):
        return rng.standard_normal(dims).astype(np.float32)

    def case(name, rule, heads, kv_heads, *extra, **options):
        values = {"q": numbers(BATCH, LENGTH, heads * SIZE), "k": numbers(BATCH, LENGTH, kv_heads * SIZE) * 0.4,
                  "v": numbers(BATCH, LENGTH, kv_heads * VALUE)}
        more = {"s": numbers(BATCH, kv_heads, SIZE, VALUE), "d": -np.abs(numbers(BATCH, LENGTH, kv_heads)),
                "dk": -np.abs(numbers(BATCH, LENGTH, kv_heads * SIZE)),
                "b": 1 / (1 + np.exp(-numbers(BATCH, LENGTH, kv_heads)))}
        values |= {n: more[n] for n in extra}
        call = ", ".join(next((n for n in names if n in values), "")
                         for names in (("q",), ("k",), ("v",), ("s",), ("d", "dk"), ("b",))).rstrip(", ")
        return Case(name, f"y, t = com.microsoft.LinearAttention <q_num_heads: int = {heads},"
                    f' kv_num_heads: int = {kv_heads}, update_rule: string = "{rule}"> ({call})', values,
                    ["y", "t"], **options)

    yield case("linear", "linear", HEADS, HEADS)
    yield case("linear_state_groups", "linear", HEADS, KV_HEADS, "s")
    yield case("gated", "gated", HEADS, HEADS, "s", "d")
    yield case("gated_keys", "gated", HEADS, KV_HEADS, "s", "dk")
    yield case("delta", "delta", HEADS, HEADS, "s", "b")
    yield case("gated_delta", "gated_delta", HEADS, HEADS, "s", "d", "b",
               dims={n: "batch,length," + str(HEADS * w) for n, w in (("q", SIZE), ("k", SIZE), ("v", VALUE))})
    x, w, b, s = numbers(2, 3, 6), numbers(3, 1, 4), numbers(3), numbers(2, 3, 3)
    for activation in ("none", "silu", "swish"):
        yield Case(f"causal_conv_{activation}",
                   f'y, t = com.microsoft.CausalConvWithState <activation: string = "{activation}"> (x, w, b, s)',
                   {"x": x, "w": w, "b": b, "s": s}, ["y", "t"])
    yield Case("causal_conv_plain", "y, t = com.microsoft.CausalConvWithState (x, w)", {"x": x, "w": w},
               ["y", "t"], dims={"x": "batch,3,length"})
    yield Case("causal_conv_channels_last",
               "y, t = com.microsoft.CausalConvWithState <channels_last: int = 1> (x, w, b, s)",
               {"x": x.transpose(0, 2, 1).copy(), "w": w, "b": b, "s": s.transpose(0, 2, 1).copy()}, ["y", "t"])
