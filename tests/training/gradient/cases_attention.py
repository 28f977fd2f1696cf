"""Cases of ops that are differentiated through their function bodies, and of Attention."""
import numpy as np
import torch
import torch.nn.functional as F
from make_cases import Case


def attention(q, k, v, mask=None, causal=0, scale=None, softcap=0.0, past_k=None, past_v=None):
    past = 0 if past_k is None else past_k.shape[2]
    if past_k is not None:
        k, v = torch.cat([past_k, k], 2), torch.cat([past_v, v], 2)
    groups = q.shape[1] // k.shape[1]
    keys, values = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scores = q @ keys.transpose(-1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    if mask is not None:
        scores = scores.masked_fill(~mask, -np.inf) if mask.dtype == torch.bool else scores + mask
    if causal:
        rows, columns = torch.arange(q.shape[2])[:, None] + past, torch.arange(k.shape[2])
        scores = scores.masked_fill(columns > rows, -np.inf)
    dead = (scores == -np.inf).all(-1, keepdim=True)
    weights = F.softmax(scores.masked_fill(dead, 0), -1).masked_fill(dead, 0)
    return weights @ values, k, v


def cases():
    rng = np.random.default_rng(0)

    def numbers(*dims):
        return rng.standard_normal(dims)

    qkv = {"q": numbers(2, 2, 3, 4), "k": numbers(2, 2, 5, 4), "v": numbers(2, 2, 5, 3)}
    yield Case("attention", "y = Attention (q, k, v)", qkv, lambda q, k, v: attention(q, k, v)[0], rtol=1e-6)
    yield Case("attention_scale", "y = Attention <scale = 0.25, softcap = 2.0> (q, k, v)", qkv,
               lambda q, k, v: attention(q, k, v, scale=0.25, softcap=2.0)[0], rtol=1e-6)
    square = {"q": numbers(2, 2, 4, 4), "k": numbers(2, 2, 4, 4), "v": numbers(2, 2, 4, 4)}
    yield Case("attention_causal", "y = Attention <is_causal = 1> (q, k, v)", square,
               lambda q, k, v: attention(q, k, v, causal=1)[0], rtol=1e-6)
    grouped = {"q": numbers(1, 4, 3, 4), "k": numbers(1, 2, 3, 4), "v": numbers(1, 2, 3, 4)}
    yield Case("attention_grouped", "y = Attention <is_causal = 1> (q, k, v)", grouped,
               lambda q, k, v: attention(q, k, v, causal=1)[0], rtol=1e-6)
    yield Case("attention_float_mask", "y = Attention (q, k, v, m)", qkv | {"m": numbers(3, 5)},
               lambda q, k, v, m: attention(q, k, v, m)[0], rtol=1e-6)
    mask = np.array([[1, 0, 1, 1, 0], [1, 1, 1, 1, 1], [0, 1, 0, 0, 0]], bool)
    yield Case("attention_mask", "y = Attention (q, k, v, m)", qkv | {"m": mask}, lambda q, k, v, m: attention(q, k, v, m)[0],
               data=("m",), rtol=1e-6)
    mask = mask.copy()
    mask[1] = False
    yield Case("attention_masked_row", "y = Attention (q, k, v, m)", qkv | {"m": mask}, lambda q, k, v, m: attention(q, k, v, m)[0],
               data=("m",), rtol=1e-6)
    yield Case("attention_past", "y, pk, pv = Attention <is_causal = 1> (q, k, v, , k0, v0)",
               {"q": numbers(1, 2, 3, 4), "k": numbers(1, 2, 3, 4), "v": numbers(1, 2, 3, 4), "k0": numbers(1, 2, 2, 4), "v0": numbers(1, 2, 2, 4)},
               lambda q, k, v, k0, v0: attention(q, k, v, causal=1, past_k=k0, past_v=v0), outputs=("y", "pk", "pv"), rtol=1e-6)

    window = dict(square)
    band = torch.from_numpy(np.abs(np.arange(4)[:, None] - np.arange(4) + 0.5) < 1.6)
    yield Case("attention_window", "y = Attention <left_window_size = 1, right_window_size = 2> (q, k, v)", window,
               lambda q, k, v: attention(q, k, v, band)[0], rtol=1e-6)
    valid = torch.tensor([[[[True, True, True, False, False]]], [[[True] * 5]]])
    yield Case("attention_valid", "y = Attention (q, k, v, , , , n)", qkv | {"n": np.array([3, 5])},
               lambda q, k, v, n: attention(q, k, v, valid)[0], data=("n",), rtol=1e-6)
    for mode in range(4):
        def scores(q, k, v, m, mode=mode):
            raw = q @ k.transpose(-1, -2) * 0.5
            capped = 2 * torch.tanh(raw / 2)
            steps = [raw, capped, capped + m, F.softmax(capped + m, -1)]
            return steps[3] @ v, steps[mode]
        yield Case(f"attention_scores_{mode}", f"y, , , s = Attention <softcap = 2.0, qk_matmul_output_mode = {mode}> (q, k, v, m)"
                   .replace(", , ,", ", pk, pv,"), qkv | {"m": numbers(3, 5)}, scores, outputs=("y", "s"), rtol=1e-6)

    def packed(q, k, v):
        split = lambda x, heads: x.unflatten(-1, (heads, -1)).transpose(1, 2)
        return attention(split(q, 4), split(k, 2), split(v, 2))[0].transpose(1, 2).flatten(2)
    yield Case("attention_packed", "y = Attention <q_num_heads = 4, kv_num_heads = 2> (q, k, v)",
               {"q": numbers(2, 3, 8), "k": numbers(2, 5, 4), "v": numbers(2, 5, 6)}, packed, rtol=1e-6)

    def rotary(x, cos, sin, positions=None, interleaved=False, size=None):
        if positions is not None:
            cos, sin = cos[positions], sin[positions]
        cos, sin = cos[:, None], sin[:, None]
        size = size or x.shape[-1]
        rest, x = x[..., size:], x[..., :size]
        a, b = (x[..., ::2], x[..., 1::2]) if interleaved else x.chunk(2, -1)
        real, imaginary = cos * a - sin * b, sin * a + cos * b
        turned = torch.stack([real, imaginary], -1).flatten(-2) if interleaved else torch.cat([real, imaginary], -1)
        return torch.cat([turned, rest], -1)
    caches = {"cos": numbers(7, 2), "sin": numbers(7, 2), "p": np.array([[0, 3, 6], [2, 2, 1]])}
    yield Case("rotary", "y = RotaryEmbedding (x, cos, sin, p)", {"x": numbers(2, 2, 3, 4)} | caches, rotary, data=("p",), sizes=("x",), single=True)
    yield Case("rotary_interleaved", "y = RotaryEmbedding <interleaved = 1> (x, cos, sin, p)", {"x": numbers(2, 2, 3, 4)} | caches,
               lambda *x: rotary(*x, interleaved=True), data=("p",), sizes=("x",), single=True)
    yield Case("rotary_partial", "y = RotaryEmbedding <rotary_embedding_dim = 4> (x, cos, sin, p)", {"x": numbers(2, 2, 3, 6)} | caches,
               lambda *x: rotary(*x, size=4), data=("p",), sizes=("x",), single=True)
    yield Case("rotary_no_positions", "y = RotaryEmbedding (x, cos, sin)",
               {"x": numbers(2, 2, 3, 4), "cos": numbers(2, 3, 2), "sin": numbers(2, 3, 2)}, rotary, sizes=("x",), single=True)
    yield Case("swiglu", "y = SwiGLU (a, b)", {"a": numbers(2, 3), "b": numbers(2, 3)}, lambda a, b: F.silu(a) * b)
    yield Case("swiglu_alpha", "y = SwiGLU <alpha = 0.5> (a, b)", {"a": numbers(2, 3), "b": numbers(2, 3)},
               lambda a, b: a * torch.sigmoid(0.5 * a) * b)

    def causal_conv(x, w, b=None, past=None, activation=None):
        past = x.new_zeros(*x.shape[:2], w.shape[2] - 1) if past is None else past
        whole = torch.cat([past, x], 2)
        y = F.conv1d(whole, w, b, groups=x.shape[1])
        return F.silu(y) if activation else y, whole[:, :, x.shape[2]:]
    conv = {"x": numbers(2, 3, 5), "w": numbers(3, 1, 4)}
    yield Case("causal_conv", "y, = CausalConvWithState (x, w)".replace("y, =", "y, s ="), conv, causal_conv, outputs=("y", "s"), sizes=("x", "w"), single=True)
    yield Case("causal_conv_state", 'y, s = CausalConvWithState <activation = "silu"> (x, w, b, p)',
               conv | {"b": numbers(3), "p": numbers(2, 3, 3)}, lambda *x: causal_conv(*x, activation=True), outputs=("y", "s"),
               sizes=("x", "w"), single=True)

    def linear_attention(rule):
        def f(q, k, v, state, *gates):
            decay = gates[0] if "gated" in rule else None
            beta = gates[-1] if "delta" in rule else None
            split = lambda x, heads: x.unflatten(-1, (heads, -1))
            q, k, v = split(q, 4), split(k, 2), split(v, 2)
            outputs = []
            for t in range(q.shape[1]):
                if decay is not None:
                    state = state * torch.exp(split(decay[:, t], 2))[..., None]
                added = v[:, t]
                if beta is not None:
                    added = (added - torch.einsum("bhkv,bhk->bhv", state, k[:, t])) * beta[:, t, :, None]
                state = state + k[:, t, :, :, None] * added[:, :, None]
                outputs.append(torch.einsum("bhk,bhkv->bhv", q[:, t], state.repeat_interleave(2, 1)) * q.shape[-1] ** -0.5)
            return torch.stack(outputs, 1).flatten(2), state
        return f
    packed_inputs = {"q": numbers(2, 3, 8), "k": numbers(2, 3, 4), "v": numbers(2, 3, 6), "s": numbers(2, 2, 2, 3)}
    for rule in ("linear", "gated", "delta", "gated_delta"):
        inputs = dict(packed_inputs)
        names = "q, k, v, s"
        if "gated" in rule:
            inputs["g"] = -rng.uniform(0, 1, (2, 3, 2))
            names += ", g"
        elif "delta" in rule:
            names += ", "
        if "delta" in rule:
            inputs["b"] = rng.uniform(0, 1, (2, 3, 2))
            names += ", b"
        yield Case(f"linear_attention_{rule}",
                   f'y, z = LinearAttention <q_num_heads = 4, kv_num_heads = 2, update_rule = "{rule}"> ({names})', inputs,
                   linear_attention(rule), outputs=("y", "z"), static=True, single=True)

    # More rows and columns than a tile has, in numbers of their own.
    rng = np.random.default_rng(1)
    whole = rng.uniform(size=(37, 53)) < 0.8
    whole[5] = False
    fold = lambda x, heads: x.unflatten(-1, (heads, -1)).transpose(1, 2)
    yield Case("attention_tiles", "y = Attention <q_num_heads = 4, kv_num_heads = 2, is_causal = 1> (q, k, v, m)",
               {"q": numbers(1, 37, 32), "k": numbers(1, 53, 16), "v": numbers(1, 53, 10), "m": whole},
               lambda q, k, v, m: attention(fold(q, 4), fold(k, 2), fold(v, 2), m, causal=1)[0].transpose(1, 2).flatten(2), data=("m",),
               rtol=1e-6)
    offsets = np.arange(53) - np.arange(37)[:, None]
    windowed = torch.from_numpy(np.where((offsets >= -20) & (offsets <= 5), 0, -np.inf))
    yield Case("attention_tiles_window", "y = Attention <left_window_size = 20, right_window_size = 5, scale = 0.7> (q, k, v, m)",
               {"q": numbers(1, 2, 37, 6), "k": numbers(1, 1, 53, 6), "v": numbers(1, 1, 53, 9), "m": numbers(2, 1, 53)},
               lambda q, k, v, m: attention(q, k, v, m + windowed, scale=0.7)[0], wrt=("q", "k", "v"), data=("m",), rtol=1e-6)
    yield Case("attention_huge_scores", "y = Attention <scale = 40.0> (q, k, v)",
               {"q": numbers(1, 1, 9, 6), "k": numbers(1, 1, 13, 6), "v": numbers(1, 1, 13, 4)},
               lambda q, k, v: attention(q, k, v, scale=40.0)[0], rtol=1e-6, smooth=False)
    yield Case("attention_one_of_each", "y = Attention (q, k, v)", {"q": numbers(1, 1, 1, 1), "k": numbers(1, 1, 1, 1), "v": numbers(1, 1, 1, 1)},
               lambda q, k, v: attention(q, k, v)[0], rtol=1e-6)
