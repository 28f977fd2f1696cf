"""Cases of graph/microsoft/qlinear.cc and of the quantized ops of nhwc.cc."""
import numpy as np
from make_cases import Case, run

MS = "com.microsoft."
RNG = np.random.default_rng(11)
DTYPES = (np.uint8, np.int8)


def codes(dtype, *dims):
    info = np.iinfo(dtype)
    return RNG.integers(info.min, info.max + 1, dims).astype(dtype)


def zero(dtype, value):
    return np.array(value + (128 if dtype == np.uint8 else 0), dtype)


def elementwise():
    for dtype in DTYPES:
        name = np.dtype(dtype).name
        for op, y_scale in (("Add", .06), ("Mul", .15)):
            inputs = {"a": codes(dtype, 3, 4, 9), "as": np.float32(.04), "az": zero(dtype, 5),
                      "b": codes(dtype, 4, 1), "bs": np.float32(.03), "bz": zero(dtype, -7),
                      "cs": np.float32(y_scale), "cz": zero(dtype, 2)}
            constants = ("as", "az", "b", "bs", "bz", "cs", "cz")
            yield Case(f"{op.lower()}_{name}", f"y = {MS}QLinear{op} (a, as, az, b, bs, bz, cs, cz)", inputs, ["y"],
                       constants, units=1)
            few = {k: v for k, v in inputs.items() if k != "cz"}
            yield Case(f"{op.lower()}_{name}_no_zero", f"y = {MS}QLinear{op} (a, as, az, b, bs, bz, cs)", few, ["y"],
                       units=1)
            for case, dims in (("equal", (7, 31)), ("scalar", ()), ("row", (31,)), ("column", (7, 1))):
                wide = {**inputs, "a": codes(dtype, 7, 31), "b": codes(dtype, *dims)}
                yield Case(f"{op.lower()}_{name}_{case}", f"y = {MS}QLinear{op} (a, as, az, b, bs, bz, cs, cz)", wide,
                           ["y"], ("as", "az", "bs", "bz", "cs", "cz"), units=1)
        x = {"x": codes(dtype, 5, 60), "xs": np.float32(.05), "xz": zero(dtype, 9)}
        y = {"ys": np.float32(1 / 256), "yz": np.array(0 if dtype == np.uint8 else -128, dtype)}
        constants = ("xs", "xz", "ys", "yz")
        yield Case(f"sigmoid_{name}", f"y = {MS}QLinearSigmoid (x, xs, xz, ys, yz)", {**x, **y}, ["y"], constants)
        yield Case(f"leaky_relu_{name}", f"y = {MS}QLinearLeakyRelu <alpha = 0.2> (x, xs, xz, ys, yz)",
                   {**x, "ys": np.float32(.04), "yz": zero(dtype, -20)}, ["y"], constants)
        yield Case(f"leaky_relu_{name}_plain", f"y = {MS}QLinearLeakyRelu (x, xs, , ys, yz)",
                   {"x": x["x"], "xs": x["xs"], "ys": np.float32(.04), "yz": zero(dtype, 0)}, ["y"], ("xs", "ys"))
        softmax = {"x": codes(dtype, 2, 3, 10), "xs": np.float32(.02), "xz": zero(dtype, 9), **y}
        for opset, axis in ((13, -1), (13, 1), (12, 1), (9, 2)):
            yield Case(f"softmax_{name}_{opset}_{axis % 3}",
                       f"y = {MS}QLinearSoftmax <opset = {opset}, axis = {axis}> (x, xs, xz, ys, yz)",
                       softmax, ["y"], constants, units=1)
        yield Case(f"where_{name}", f"z = {MS}QLinearWhere (c, x, xs, xz, y, ys, yz, zs, zz)",
                   {"c": RNG.integers(0, 2, (4, 1, 6)).astype(bool), "x": codes(dtype, 3, 6), "xs": np.float32(.02),
                    "xz": zero(dtype, 3), "y": codes(dtype, 3, 1), "ys": np.float32(.05), "yz": zero(dtype, -3),
                    "zs": np.float32(.04), "zz": zero(dtype, 1)}, ["z"], ("xs", "xz", "y", "ys", "yz", "zs", "zz"))
        yield Case(f"concat_{name}", f"y = {MS}QLinearConcat <axis = 1> (ys, yz, a, as, az, b, bs, bz, c, ys, yz)",
                   {"ys": np.float32(.04), "yz": zero(dtype, 1), "a": codes(dtype, 2, 3), "as": np.float32(.05),
                    "az": zero(dtype, 2), "b": codes(dtype, 2, 1), "bs": np.float32(.01), "bz": zero(dtype, -3),
                    "c": codes(dtype, 2, 4)}, ["y"], ("ys", "yz", "as", "az", "bs", "bz"))


def pools():
    for dtype in DTYPES:
        name = np.dtype(dtype).name
        x = {"x": codes(dtype, 2, 5, 7, 8), "xs": np.float32(.05), "xz": zero(dtype, 9)}
        y = {"ys": np.float32(.03), "yz": zero(dtype, -4)}
        constants = ("xs", "xz", "ys", "yz")
        line = f"y = {MS}QLinearAveragePool "
        for n, attributes in enumerate((
                "kernel_shape = [2, 3]", "kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]",
                "kernel_shape = [3, 3], pads = [1, 0, 1, 2], count_include_pad = 1",
                "kernel_shape = [2, 2], strides = [2, 3], ceil_mode = 1",
                'kernel_shape = [3, 2], auto_pad = "SAME_UPPER", strides = [2, 2]',
                "kernel_shape = [2, 3], channels_last = 1")):
            yield Case(f"average_pool_{name}_{n}", line + f"<{attributes}> (x, xs, xz, ys, yz)", {**x, **y}, ["y"],
                       constants, units=1)
        for last in (0, 1):
            yield Case(f"global_average_{name}_{last}",
                       f"y = {MS}QLinearGlobalAveragePool <channels_last = {last}> (x, xs, xz, ys, yz)", {**x, **y},
                       ["y"], constants, units=1)
        mean = (x["x"].astype(np.float64) - int(x["xz"])).mean(axis=(1, 3), keepdims=True) * .05 / .03
        info = np.iinfo(dtype)
        mean = np.clip(np.rint(mean) + int(y["yz"]), info.min, info.max).astype(dtype)
        yield Case(f"reduce_mean_{name}", f"y = {MS}QLinearReduceMean <axes = [1, -1], keepdims = 1> (x, xs, xz, ys, yz)",
                   {**x, **y}, ["y"], constants, expected={"y": mean}, units=1)
        yield Case(f"reduce_mean_{name}_dropped",
                   f"y = {MS}QLinearReduceMean <axes = [1, -1], keepdims = 0> (x, xs, xz, ys, yz)",
                   {**x, **y}, ["y"], constants, expected={"y": mean[:, 0, :, 0]}, units=1)
        for n, attributes in enumerate(("kernel_shape = [2, 3]", "kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 1]",
                                        "kernel_shape = [2, 2], dilations = [2, 2], ceil_mode = 1, strides = [2, 3]",
                                        'kernel_shape = [2, 2], auto_pad = "SAME_LOWER"')):
            yield Case(f"nhwc_max_pool_{name}_{n}", f"y = {MS}NhwcMaxPool <{attributes}> (x)",
                       {"x": codes(dtype, 2, 7, 8, 5)}, ["y"])


def convolutions():
    for a, b in ((np.uint8, np.uint8), (np.uint8, np.int8), (np.int8, np.int8)):
        name = f"{np.dtype(a).name}_{np.dtype(b).name}"
        wz = zero(b, 3)
        x = {"x": codes(a, 2, 6, 9, 8), "xs": np.float32(.05), "xz": zero(a, 9)}
        y = {"ys": np.float32(3), "yz": zero(a, -4)}
        constants = ("w", "ws", "wz", "ys", "yz", "xs", "xz")
        line = f"y = {MS}QLinearConv "
        bias = {"b": codes(np.int16, 4).astype(np.int32)}
        w = {"w": codes(b, 4, 6, 3, 3), "ws": np.float32(.03), "wz": wz}
        yield Case(f"conv_{name}", line + "<pads = [1, 1, 1, 1]> (x, xs, xz, w, ws, wz, ys, yz, b)",
                   {**x, **w, **y, **bias}, ["y"], constants + ("b",), units=1)
        yield Case(f"conv_{name}_strides", line + "<strides = [2, 1], dilations = [1, 2], kernel_shape = [3, 3]> "
                   "(x, xs, xz, w, ws, wz, ys, yz)", {**x, **w, **y}, ["y"], constants, units=1)
        yield Case(f"conv_{name}_filters", line + '<auto_pad = "SAME_LOWER"> (x, xs, xz, w, ws, wz, ys, yz, b)',
                   {**x, **w, "ws": np.array([.01, .02, .03, .08], np.float32),
                    "wz": np.full(4, wz, b), **y, **bias}, ["y"], constants, units=1)
        yield Case(f"conv_{name}_groups", line + "<group = 2> (x, xs, xz, w, ws, wz, ys, yz, b)",
                   {**x, **w, "w": codes(b, 4, 3, 3, 3), **y, **bias}, ["y"], constants, units=1)
        for n, attributes in enumerate(("pads = [1, 2, 0, 1]", "strides = [2, 3], pads = [1, 1, 2, 1]",
                                        "dilations = [2, 1], group = 2", "strides = [2, 2], kernel_shape = [1, 1]",
                                        "kernel_shape = [1, 1]")):
            taps = 1 if "[1, 1]" in attributes[-22:] and "kernel" in attributes else 3
            channels = 20 if "group" in attributes else 40
            yield Case(f"conv_{name}_tiles_{n}", line + f"<{attributes}> (x, xs, xz, w, ws, wz, ys, yz, b)",
                       {**x, "x": codes(a, 2, 40, 13, 17), "w": codes(b, 30, channels, taps, taps),
                        "ws": np.abs(RNG.standard_normal(30).astype(np.float32)) * .02, "wz": np.full(30, wz, b),
                        **y, "ys": np.float32(9), "b": codes(np.int16, 30).astype(np.int32)}, ["y"],
                       constants + ("b",), units=1)
        last = np.ascontiguousarray(np.moveaxis(x["x"], 1, -1))
        yield Case(f"conv_{name}_last", line + "<channels_last = 1, pads = [1, 0, 1, 0]> "
                   "(x, xs, xz, w, ws, wz, ys, yz, b)", {**x, "x": last, **w, **y, **bias}, ["y"],
                   constants + ("b",), units=1)
        yield Case(f"conv_{name}_depthwise", line + "<channels_last = 1, group = 6, pads = [1, 1, 1, 1]> "
                   "(x, xs, xz, w, ws, wz, ys, yz)", {**x, "x": last, **w, "w": codes(b, 6, 1, 3, 3), **y}, ["y"],
                   constants, units=1)


def channels_last():
    """NhwcConv has no kernel of ONNX Runtime's CPU provider: Conv between transposes."""
    for dtype in (np.float32, np.float16):
        for n, attributes in enumerate(("", "<strides = [2, 1], pads = [1, 0, 1, 2]>", "<group = 2, dilations = [1, 2]>",
                                        '<auto_pad = "SAME_UPPER", kernel_shape = [3, 3]>')):
            inputs = {"x": RNG.standard_normal((2, 7, 8, 6)).astype(dtype),
                      "w": RNG.standard_normal((4, 3 if "group" in attributes else 6, 3, 3)).astype(dtype),
                      "b": RNG.standard_normal(4).astype(dtype)}
            standard = Case("standard", f"""t = Transpose <perm = [0, 3, 1, 2]> (x)
                            u = Conv {attributes} (t, w, b)
                            y = Transpose <perm = [0, 2, 3, 1]> (u)""", inputs, ["y"])
            yield Case(f"nhwc_conv_{np.dtype(dtype).name}_{n}", f"y = {MS}NhwcConv {attributes} (x, w, b)", inputs,
                       ["y"], ("w", "b"), expected=run(standard))


def integer_convolutions():
    for a in DTYPES:
        yield Case(f"conv_integer_{np.dtype(a).name}", "y = ConvInteger <pads = [1, 1, 1, 1]> (x, w, xz, wz)",
                   {"x": codes(a, 2, 5, 13, 17), "w": codes(np.uint8, 14, 5, 3, 3), "xz": zero(a, 3),
                    "wz": np.uint8(120)}, ["y"], ("w", "wz"))


def cases():
    yield from channels_last()
    yield from integer_convolutions()
    yield from elementwise()
    yield from pools()
    yield from convolutions()
