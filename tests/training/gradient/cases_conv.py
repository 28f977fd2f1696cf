"""Cases of training/gradient/conv.cc."""
import numpy as np
import torch
import torch.nn.functional as F
from make_cases import Case

CONV = [F.conv1d, F.conv2d, F.conv3d]
TRANSPOSED = [F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d]


def attributes(**given):
    texts = []
    for name, value in given.items():
        text = f'"{value}"' if isinstance(value, str) else str(value)
        texts.append(f"{name} = {text}")
    return f"<{', '.join(texts)}>" if texts else ""


def cases():
    rng = np.random.default_rng(0)

    def numbers(*dims):
        return rng.standard_normal(dims)

    convs = {  # name -> (x, w, attributes)
        "plain": ((2, 3, 5, 6), (4, 3, 3, 2), {}),
        "strides": ((2, 3, 7, 6), (4, 3, 3, 2), dict(strides=[2, 3])),
        "unread": ((1, 2, 6, 8), (3, 2, 3, 3), dict(strides=[2, 3])),
        "dilations": ((1, 2, 7, 7), (3, 2, 3, 2), dict(dilations=[2, 3])),
        "pads": ((1, 2, 4, 5), (3, 2, 3, 3), dict(pads=[1, 0, 2, 1])),
        "all": ((2, 3, 5, 6), (4, 3, 3, 2), dict(pads=[1, 0, 0, 1], strides=[2, 1], dilations=[1, 2])),
        "groups": ((2, 4, 5, 4), (6, 2, 3, 3), dict(group=2)),
        "groups_strides": ((2, 4, 6, 5), (6, 2, 3, 2), dict(group=2, strides=[2, 2], pads=[1, 1, 1, 1])),
        "depthwise": ((2, 3, 5, 5), (3, 1, 3, 3), dict(group=3, pads=[1, 1, 1, 1])),
        "depthwise_multiplier": ((1, 2, 4, 5), (4, 1, 2, 3), dict(group=2, dilations=[2, 1])),
        "pointwise": ((2, 3, 2, 2), (4, 3, 1, 1), {}),
        "pointwise_strides": ((2, 3, 5, 4), (4, 3, 1, 1), dict(strides=[2, 2])),
        "one": ((2, 3, 7), (4, 3, 3), dict(strides=[2], pads=[1, 1])),
        "one_groups": ((2, 4, 7), (2, 2, 3), dict(group=2, dilations=[2])),
        "three": ((1, 2, 3, 4, 3), (3, 2, 2, 2, 2), dict(strides=[1, 2, 1], pads=[0, 1, 1, 0, 1, 0])),
    }
    for name, (x, w, given) in convs.items():
        def conv(x, w, b=None, given=given):
            spatial = x.ndim - 2
            pads = given.get("pads", [0] * 2 * spatial)
            x = F.pad(x, [p for i in reversed(range(spatial)) for p in (pads[i], pads[spatial + i])])
            return CONV[spatial - 1](x, w, b, given.get("strides", 1), 0, given.get("dilations", 1), given.get("group", 1))
        bias = name not in ("pads", "groups")
        inputs = {"x": numbers(*x), "w": numbers(*w)} | ({"b": numbers(w[0])} if bias else {})
        yield Case(f"conv_{name}", f"y = Conv {attributes(**given)} ({', '.join(inputs)})", inputs, conv, sizes=("w",))
    for mode in ("SAME_UPPER", "SAME_LOWER", "VALID"):
        for strides in ([1, 1], [2, 3]):
            def same(x, w, mode=mode, strides=strides):
                pads = []
                for size, kernel, stride in reversed(list(zip(x.shape[2:], w.shape[2:], strides))):
                    total = max(0, (-(-size // stride) - 1) * stride + kernel - size) if mode != "VALID" else 0
                    begin = total // 2 if mode == "SAME_UPPER" else total - total // 2
                    pads += [begin, total - begin]
                return F.conv2d(F.pad(x, pads), w, stride=strides)
            given = attributes(auto_pad=mode, strides=strides)
            yield Case(f"conv_{mode.lower()}_{strides[0]}", f"y = Conv {given} (x, w)",
                       {"x": numbers(1, 2, 5, 6), "w": numbers(3, 2, 4, 3)}, same, sizes=("w",))

    transposed = {  # name -> (x, w, attributes, torch's padding)
        "plain": ((2, 3, 3, 4), (3, 2, 3, 2), {}, 0),
        "strides": ((1, 3, 3, 4), (3, 2, 3, 2), dict(strides=[2, 3]), 0),
        "gaps": ((1, 2, 3, 3), (2, 2, 2, 1), dict(strides=[3, 2]), 0),
        "pads": ((1, 3, 3, 4), (3, 2, 3, 3), dict(strides=[2, 2], pads=[1, 1, 1, 1]), 1),
        "output_padding": ((1, 3, 3, 4), (3, 2, 3, 3), dict(strides=[2, 3], pads=[1, 1, 1, 1], output_padding=[1, 2]), 1),
        "dilations": ((1, 2, 3, 3), (2, 3, 2, 2), dict(dilations=[2, 3]), 0),
        "groups": ((2, 4, 3, 3), (4, 3, 2, 2), dict(group=2, strides=[2, 1]), 0),
        "depthwise": ((2, 3, 3, 3), (3, 1, 3, 3), dict(group=3), 0),
        "one": ((2, 3, 5), (3, 2, 3), dict(strides=[2]), 0),
        "three": ((1, 2, 2, 3, 2), (2, 2, 2, 2, 2), dict(strides=[1, 2, 1]), 0),
    }
    for name, (x, w, given, padding) in transposed.items():
        def conv(x, w, b, given=given, padding=padding):
            spatial = x.ndim - 2
            return TRANSPOSED[spatial - 1](x, w, b, given.get("strides", 1), padding, given.get("output_padding", 0),
                                           given.get("group", 1), given.get("dilations", 1))
        yield Case(f"conv_transpose_{name}", f"y = ConvTranspose {attributes(**given)} (x, w, b)",
                   {"x": numbers(*x), "w": numbers(*w), "b": numbers(w[1] * given.get("group", 1))}, conv, sizes=("w",))
    x, w = numbers(1, 2, 3, 4), numbers(2, 3, 3, 4)

    def cut(x, w, top, left, height, width):
        return F.conv_transpose2d(x, w, stride=2)[:, :, top:top + height, left:left + width]
    yield Case("conv_transpose_uneven_pads", "y = ConvTranspose <strides = [2, 2], pads = [0, 1, 1, 0]> (x, w)", {"x": x, "w": w},
               lambda x, w: cut(x, w, 0, 1, 6, 9), sizes=("w",))
    for mode, (top, left) in (("SAME_UPPER", (0, 1)), ("SAME_LOWER", (1, 1))):
        yield Case(f"conv_transpose_{mode.lower()}", f'y = ConvTranspose <strides = [2, 2], auto_pad = "{mode}"> (x, w)',
                   {"x": x, "w": w}, lambda x, w, top=top, left=left: cut(x, w, top, left, 6, 8), sizes=("w",))
    yield Case("conv_transpose_output_shape", "y = ConvTranspose <strides = [2, 2], output_shape = [6, 7]> (x, w)", {"x": x, "w": w},
               lambda x, w: cut(x, w, 1, 2, 6, 7), static=True)

    pointwise = {  # name -> (x, filters, attributes); kernels of one element
        "image": ((1, 3, 2, 4), 4, {}),
        "image_strides": ((1, 3, 4, 5), 2, dict(strides=[2, 3])),
        "pads": ((1, 3, 3, 2), 4, dict(pads=[1, 0, 0, 1])),
        "same": ((2, 3, 5, 4), 2, dict(auto_pad="SAME_LOWER", strides=[2, 3])),
        "one": ((2, 3, 5), 4, dict(strides=[2])),
        "one_image": ((1, 3, 5), 4, {}),
        "three": ((2, 2, 2, 3, 2), 3, dict(strides=[1, 2, 1])),
        "groups": ((2, 4, 2, 3), 6, dict(group=2)),
    }
    for name, (x, filters, given) in pointwise.items():
        def conv(x, w, b, given=given):
            top, left, bottom, right = given.get("pads", (0, 0, 0, 0))
            x = F.pad(x, (left, right, top, bottom)) if "pads" in given else x
            return CONV[x.ndim - 3](x, w, b, given.get("strides", 1), groups=given.get("group", 1))
        w = numbers(filters, x[1] // given.get("group", 1), *[1] * (len(x) - 2))
        yield Case(f"conv_pointwise_{name}", f"y = Conv {attributes(**given)} (x, w, b)",
                   {"x": numbers(*x), "w": w, "b": numbers(filters)}, conv, sizes=("w",))
    transposed_pointwise = {
        "image": ((1, 3, 2, 4), {}, 0),
        "strides": ((2, 3, 2, 3), dict(strides=[2, 3]), 0),
        "output_padding": ((2, 3, 2, 3), dict(strides=[2, 3], output_padding=[1, 2]), (1, 2)),
    }
    for name, (x, given, extra) in transposed_pointwise.items():
        yield Case(f"conv_transpose_pointwise_{name}", f"y = ConvTranspose {attributes(**given)} (x, w)",
                   {"x": numbers(*x), "w": numbers(3, 2, 1, 1)},
                   lambda x, w, given=given, extra=extra: F.conv_transpose2d(x, w, None, given.get("strides", 1), 0, extra), sizes=("w",))
