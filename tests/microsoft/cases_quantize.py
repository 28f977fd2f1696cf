"""Cases of graph/microsoft/quantize.cc."""
import numpy as np
from make_cases import Case

MS = "com.microsoft."
RNG = np.random.default_rng(7)


def numbers(*dims, scale=3):
    return (RNG.standard_normal(dims) * scale).astype(np.float32)


def codes(dtype, *dims):
    info = np.iinfo(dtype)
    return RNG.integers(info.min, info.max + 1, dims).astype(dtype)


def quantize():
    for dtype in (np.uint8, np.int8, np.uint16, np.int16):
        name = np.dtype(dtype).name
        zero = np.array(3, dtype)
        x = np.concatenate([numbers(3, 5).ravel(), [1e9, -1e9, 0, -0.0, 0.125, 0.375]]).astype(np.float32)
        yield Case(f"quantize_{name}", f"y = {MS}QuantizeLinear (x, s, z)",
                   {"x": x, "s": np.float32(0.25), "z": zero}, ["y"], ("s", "z"))
        yield Case(f"dequantize_{name}", f"y = {MS}DequantizeLinear (x, s, z)",
                   {"x": codes(dtype, 4, 5), "s": np.float32(0.07), "z": zero}, ["y"], ("s", "z"))
    yield Case("quantize_no_zero", f"y = {MS}QuantizeLinear (x, s)", {"x": numbers(9), "s": np.float32(0.1)}, ["y"])
    yield Case("quantize_axis", f"y = {MS}QuantizeLinear <axis = 0> (x, s, z)",
               {"x": numbers(3, 4), "s": np.array([0.1, 0.2, 0.05], np.float32),
                "z": np.array([0, 5, 200], np.uint8)}, ["y"], ("s", "z"))
    yield Case("quantize_axis_default", f"y = {MS}QuantizeLinear (x, s, z)",
               {"x": numbers(2, 3, 2), "s": np.array([0.1, 0.2, 0.05], np.float32),
                "z": np.array([0, 5, -9], np.int8)}, ["y"], ("s", "z"))
    yield Case("dequantize_axis", f"y = {MS}DequantizeLinear <axis = -1> (x, s, z)",
               {"x": codes(np.int8, 2, 3), "s": np.array([0.1, 0.2, 0.05], np.float32),
                "z": np.array([0, 5, -9], np.int8)}, ["y"], ("x", "s", "z"))
    yield Case("dequantize_int32", f"y = {MS}DequantizeLinear (x, s)",
               {"x": codes(np.int32, 6), "s": np.float32(0.001)}, ["y"])
    yield Case("dequantize_no_zero", f"y = {MS}DequantizeLinear (x, s)",
               {"x": codes(np.int8, 6), "s": np.array([0.5], np.float32)}, ["y"])
    for to, low, high in (("INT4", -8, 7), ("UINT4", 0, 15)):
        kind = {"INT4": 22, "UINT4": 21}[to]
        yield Case(f"quantize_{to.lower()}",
                   f"""z4 = Cast <to = {kind}> (z)
                   q = {MS}QuantizeLinear (x, s, z4)
                   y = Cast <to = 3> (q)""",
                   {"x": numbers(7), "s": np.float32(0.5), "z": np.array(2, np.int8)}, ["y"], ("s", "z"))
        yield Case(f"dequantize_{to.lower()}",
                   f"""x4 = Cast <to = {kind}> (x)
                   z4 = Cast <to = {kind}> (z)
                   y = {MS}DequantizeLinear (x4, s, z4)""",
                   {"x": np.arange(low, high, dtype=np.int8), "s": np.float32(0.5), "z": np.array(2, np.int8)},
                   ["y"], ("s", "z"))


def products():
    b_scales = {"": np.array([0.03], np.float32), "_columns": np.array([.01, .2, .03, .04, .5], np.float32)}
    for kind, b_scale in b_scales.items():
        for dtype in (np.uint8, np.int8):
            name = np.dtype(dtype).name + kind
            b = codes(dtype, 7, 5)
            zero = codes(dtype, *b_scale.shape)
            yield Case(f"dynamic_matmul_{name}", f"y = {MS}DynamicQuantizeMatMul (a, b, s, z, c)",
                       {"a": numbers(4, 7), "b": b, "s": b_scale, "z": zero, "c": numbers(5)}, ["y"],
                       ("b", "s", "z", "c"))
            yield Case(f"to_float_{name}", f"y = {MS}MatMulIntegerToFloat (a, b, t, s, az, z, c)",
                       {"a": codes(np.uint8, 2, 3, 7), "b": b, "t": np.array([.5], np.float32), "s": b_scale,
                        "az": np.array([131], np.uint8), "z": zero, "c": numbers(5)}, ["y"], ("b", "s", "z", "c"))
    b = codes(np.int8, 7, 5)
    yield Case("dynamic_matmul_plain", f"y = {MS}DynamicQuantizeMatMul (a, b, s)",
               {"a": numbers(2, 3, 7), "b": b, "s": np.float32(0.02)}, ["y"], ("b", "s"))
    yield Case("dynamic_matmul_bias", f"y = {MS}DynamicQuantizeMatMul (a, b, s, , c)",
               {"a": numbers(3, 7), "b": b, "s": np.float32(0.02), "c": numbers(5)}, ["y"], ("b", "s"))
    yield Case("dynamic_matmul_batches", f"y = {MS}DynamicQuantizeMatMul (a, b, s)",
               {"a": numbers(2, 3, 7), "b": codes(np.int8, 2, 7, 5), "s": np.float32(0.02)}, ["y"], ("b", "s"))
    yield Case("to_float_plain", f"y = {MS}MatMulIntegerToFloat (a, b, t, s)",
               {"a": codes(np.uint8, 6, 7), "b": b, "t": np.float32(.25), "s": np.float32(.125)}, ["y"], ("b", "s"))
    yield Case("to_float_signed", f"y = {MS}MatMulIntegerToFloat (a, b, t, s, az)",
               {"a": codes(np.int8, 6, 7), "b": b, "t": np.float32(.25), "s": np.float32(.125),
                "az": np.int8(-7)}, ["y"], ("b", "s"))
    for left, right, kind in ((np.uint8, np.int8, ""), (np.int8, np.int8, ""), (np.uint8, np.uint8, "_columns")):
        zeros = codes(right, 75) if kind else np.array([-5], right) if right == np.int8 else np.array([130], right)
        name = f"{np.dtype(left).name}_{np.dtype(right).name}"
        yield Case(f"tiles_{name}", f"y = {MS}MatMulIntegerToFloat (a, b, t, s, az, z, c)",
                   {"a": codes(left, 2, 25, 301), "b": codes(right, 301, 75), "t": np.float32(.002),
                    "s": np.abs(numbers(75, scale=.01)), "az": np.array(99, left), "z": zeros, "c": numbers(75)}, ["y"],
                   ("b", "s", "z", "c"))
        yield Case(f"integer_tiles_{name}", "y = MatMulInteger (a, b, az, z)",
                   {"a": codes(left, 25, 301), "b": codes(right, 301, 75), "az": np.array(99, left), "z": zeros}, ["y"],
                   ("b", "z"))
        yield Case(f"qlinear_tiles_{name}", "y = QLinearMatMul (a, t, az, b, s, z, ys, yz)",
                   {"a": codes(left, 3, 25, 301), "t": np.float32(.02), "az": np.array(99, left), "b": codes(right, 301, 75),
                    "s": np.float32(.01) if not kind else np.abs(numbers(75, scale=.01)),
                    "z": zeros if kind else zeros[0], "ys": np.float32(2.5), "yz": np.array(7, left)}, ["y"],
                   ("b", "s", "z"), units=1)
    half = np.float16
    a, bias = codes(np.int8, 6, 7), numbers(5).astype(half)
    y = (a.astype(np.float32) @ b.astype(np.float32)) * np.float32(.25 * .125) + bias.astype(np.float32)
    yield Case("to_float_half", f"y = {MS}MatMulIntegerToFloat (a, b, t, s, , , c)",
               {"a": a, "b": b, "t": half(.25), "s": half(.125), "c": bias}, ["y"], ("b", "s"),
               expected={"y": y.astype(half)})
    yield Case("integer16", f"y = {MS}MatMulInteger16 (a, b)",
               {"a": codes(np.int16, 3, 4), "b": codes(np.int16, 4, 2)}, ["y"], ("b",))
    a, b = codes(np.uint16, 3, 4), codes(np.uint16, 4, 2)
    yield Case("integer16_unsigned", f"y = {MS}MatMulInteger16 (a, b)", {"a": a, "b": b}, ["y"], ("b",),
               expected={"y": a.astype(np.uint32) @ b.astype(np.uint32)})


def gemms():
    a, b = codes(np.uint8, 6, 8), codes(np.int8, 8, 5)
    c = codes(np.int16, 5).astype(np.int32)
    common = {"a": a, "as": np.float32(.02), "az": np.uint8(120), "b": b, "bs": np.float32(.03), "bz": np.int8(4)}
    constants = ("b", "bs", "bz")
    quantized = {"ys": np.float32(.4), "yz": np.uint8(100)}
    line = f"y = {MS}QGemm "
    yield Case("qgemm", line + "(a, as, az, b, bs, bz, c, ys, yz)", {**common, "c": c, **quantized}, ["y"],
               constants + ("c", "ys", "yz"))
    yield Case("qgemm_no_c", line + "(a, as, az, b, bs, bz, , ys, yz)", {**common, **quantized}, ["y"], constants)
    yield Case("qgemm_float", line + "(a, as, az, b, bs, bz, c)", {**common, "c": c}, ["y"], constants)
    yield Case("qgemm_alpha", line + "<alpha = 0.25> (a, as, az, b, bs, bz, c)", {**common, "c": c}, ["y"], constants)
    columns = {"bs": np.array([.01, .2, .03, .04, .5], np.float32), "bz": codes(np.int8, 5)}
    yield Case("qgemm_columns", line + "<transB = 1> (a, as, az, b, bs, bz, c, ys, yz)",
               {**common, "b": np.ascontiguousarray(b.T), **columns, "c": c, **quantized}, ["y"], constants)
    yield Case("qgemm_trans_a", line + "<transA = 1> (a, as, az, b, bs, bz, c)",
               {**common, "a": np.ascontiguousarray(a.T), "c": c}, ["y"], constants)
    yield Case("qgemm_int8", line + "<alpha = 2.0> (a, as, az, b, bs, bz, c, ys, yz)",
               {**common, "a": codes(np.int8, 6, 8), "az": np.int8(-3), "c": np.tile(c, (6, 1)),
                "ys": np.float32(.9), "yz": np.int8(-10)}, ["y"], constants)


def attention():
    heads, width, hidden = 2, 6, 8
    x, w = codes(np.uint8, 2, 4, width), codes(np.int8, width, 3 * hidden)
    common = {"x": x, "w": w, "b": numbers(3 * hidden), "xs": np.float32(.02), "ws": np.float32(.015),
              "xz": np.uint8(128), "wz": np.int8(0)}
    constants = ("w", "b", "xs", "ws", "xz", "wz")

    def case(name, inputs, attributes="", outputs="y", extra={}):
        call = f"{outputs} = {MS}QAttention <num_heads: int = {heads}{attributes}> ({inputs})"
        return Case("qattention" + name, call, {**common, **extra}, outputs.split(", "), constants)

    plain = "x, w, b, xs, ws, , xz, wz"
    yield case("", plain)
    yield case("_causal_present", plain, ", unidirectional: int = 1", "y, p")
    yield case("_mask", "x, w, b, xs, ws, m, xz, wz", extra={"m": np.array([[1, 1, 1, 0], [1, 0, 1, 1]], np.int32)})
    yield case("_past", "x, w, b, xs, ws, , xz, wz, past", ", unidirectional: int = 1", "y, p",
               {"past": numbers(2, 2, heads, 3, hidden // heads)})
    columns = {"ws": np.linspace(.005, .03, 3 * hidden, dtype=np.float32), "wz": np.zeros(3 * hidden, np.int8)}
    yield case("_columns", plain, extra=columns)


def cases():
    yield from attention()
    yield from quantize()
    yield from products()
    yield from gemms()
