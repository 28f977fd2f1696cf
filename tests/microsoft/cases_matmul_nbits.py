"""Cases of graph/microsoft/matmul_nbits.cc and gather_block_quantized.cc."""
import numpy as np
from make_cases import Case
from onnx import helper

MS = "com.microsoft."
RNG = np.random.default_rng(13)


def numbers(*dims, scale=1):
    return (RNG.standard_normal(dims) * scale).astype(np.float32)


def nbytes(*dims):
    return RNG.integers(0, 256, dims).astype(np.uint8)


def unpack(packed, bits):
    parts = [(packed >> s) & ((1 << bits) - 1) for s in range(0, 8, bits)]
    return np.stack(parts, -1).reshape(*packed.shape[:-1], -1)


def product(a, b, s, block, bits, zeros=None, bias=None):
    """In float64; b [N, blocks, bytes], zeros [N, blocks] or packed."""
    n, blocks = s.shape
    w = unpack(b, bits).astype(np.float64)
    if zeros is None:
        zeros = np.full((n, blocks), 1 << (bits - 1))
    elif zeros.dtype == np.uint8:
        zeros = unpack(zeros, bits)[:, :blocks]
    w = (w - zeros.astype(np.float64)[..., None]) * s[..., None]
    y = a.astype(np.float64) @ w.reshape(n, -1)[:, :a.shape[-1]].T
    return (y if bias is None else y + bias).astype(a.dtype)


def products():
    for bits in (4, 8, 2):
        for k, n, block, zeros, bias in ((64, 24, 32, None, False), (70, 17, 16, "packed", True),
                                         (300, 33, 128, "float", False), (32, 5, 64, "packed", False),
                                         (96, 40, 16, "float", True)):
            for m in (1, 3):
                if m == 3 and block == 64:
                    continue
                blocks = -(-k // block)
                inputs = {"a": numbers(m, k), "b": nbytes(n, blocks, block * bits // 8),
                          "s": np.abs(numbers(n, blocks, scale=.1))}
                names = ["a", "b", "s", "", "", ""]
                if zeros == "packed":
                    inputs["z"], names[3] = nbytes(n, -(-blocks * bits // 8)), "z"
                elif zeros == "float":
                    inputs["z"], names[3] = numbers(n, blocks, scale=5), "z"
                if bias:
                    inputs["c"], names[5] = numbers(n), "c"
                while not names[-1]:
                    names.pop()
                yield Case(f"bits{bits}_k{k}_m{m}_{zeros or 'plain'}_{block}",
                           f"y = {MS}MatMulNBits <K = {k}, N = {n}, bits = {bits}, block_size = {block}> "
                           f"({', '.join(names)})", inputs, ["y"], tuple(name for name in names[1:] if name),
                           expected={"y": product(inputs["a"], inputs["b"], inputs["s"], block, bits, inputs.get("z"),
                                                  inputs.get("c"))} if bits == 8 and zeros == "float" else None)
    k, n, block, blocks = 64, 20, 16, 4
    b, s = nbytes(n, blocks, 8), np.abs(numbers(n, blocks, scale=.1))
    line = f"y = {MS}MatMulNBits <K = {k}, N = {n}, block_size = {block}> "
    constants = ("b", "s")
    yield Case("rank3", line + "(a, b, s)", {"a": numbers(2, 5, k), "b": b, "s": s}, ["y"], constants)
    yield Case("rank1", line + "(a, b, s)", {"a": numbers(k), "b": b, "s": s}, ["y"], constants)
    yield Case("flat_scales", line + "(a, b, s, z)",
               {"a": numbers(2, k), "b": b, "s": s.ravel(), "z": nbytes(n * 2)}, ["y"], constants + ("z",))
    yield Case("accuracy", f"y = {MS}MatMulNBits <K = {k}, N = {n}, block_size = {block}, accuracy_level = 1> (a, b, s)",
               {"a": numbers(2, k), "b": b, "s": s}, ["y"], constants)
    yield Case("default_bits_many_rows", line + "(a, b, s)", {"a": numbers(70, k), "b": b, "s": s}, ["y"], constants)
    yield Case("groups", line + "(a, b, s, , g)",
               {"a": numbers(3, k), "b": b, "s": s, "g": RNG.integers(0, blocks, k).astype(np.int32)}, ["y"],
               constants + ("g",))
    # ONNX Runtime's CPU kernel leaves out zero points where there is g_idx.
    a, z, g = numbers(3, k), nbytes(n, 2), RNG.integers(0, blocks, k).astype(np.int32)
    w = (unpack(b, 4).reshape(n, k).astype(np.float64) - unpack(z, 4)[:, g]) * s[:, g]
    yield Case("groups_zeros", line + "(a, b, s, z, g)", {"a": a, "b": b, "s": s, "z": z, "g": g}, ["y"],
               constants + ("z", "g"), expected={"y": (a @ w.T).astype(np.float32)})
    half = {"a": numbers(3, k).astype(np.float16), "b": b, "s": s.astype(np.float16)}
    yield Case("half", line + "(a, b, s)", half, ["y"], constants)
    yield Case("half_zeros", line + "(a, b, s, z, , c)",
               {**half, "z": numbers(n, blocks, scale=4).astype(np.float16), "c": numbers(n).astype(np.float16)},
               ["y"], constants + ("z", "c"))


def bnb4():
    for kind in (0, 1):
        for k, n, block in ((64, 12, 16), (33, 7, 64), (128, 16, 128)):
            size = k * n
            yield Case(f"bnb4_{kind}_{block}", f"y = {MS}MatMulBnb4 <K = {k}, N = {n}, block_size = {block}, "
                       f"quant_type = {kind}> (a, b, s)",
                       {"a": numbers(2, 3, k), "b": nbytes((size + 1) // 2), "s": np.abs(numbers(-(-size // block)))},
                       ["y"], ("b", "s"))


def gathers():
    indices = np.array([[3, 0, -1], [2, 2, 1]], np.int64)
    for bits in (4, 8):
        row = 64 * bits // 8
        line = f"y = {MS}GatherBlockQuantized <bits = {bits}, block_size = 16, quantize_axis = 1"
        inputs = {"x": nbytes(5, row), "i": indices, "s": numbers(5, 4)}
        yield Case(f"gather{bits}", line + "> (x, i, s)", inputs, ["y"], ("x", "s"))
        yield Case(f"gather{bits}_int32", line + "> (x, i, s, z)",
                   {**inputs, "i": indices.astype(np.int32), "z": nbytes(5, 4 * bits // 8)}, ["y"], ("x", "s", "z"))
        yield Case(f"gather{bits}_half", line + ", gather_axis = 0> (x, i, s)",
                   {**inputs, "s": numbers(5, 4).astype(np.float16)}, ["y"], ("x", "s"))
        wide = {"x": nbytes(5, 2, 40 * bits // 8), "i": indices[0], "s": numbers(5, 2, 3)}
        yield Case(f"gather{bits}_rank3", f"y = {MS}GatherBlockQuantized <bits = {bits}, block_size = 16, "
                   "quantize_axis = -1> (x, i, s)", wide, ["y"], ("x", "s"))
    for kind, number in (("int4", 22), ("uint4", 21)):
        low = -8 if kind == "int4" else 0
        x = (RNG.integers(0, 16, (6, 48)) + low).astype(np.int8)
        z = (RNG.integers(0, 16, (6, 3)) + low).astype(np.int8)
        cast = f"x4 = Cast <to = {number}> (x)\n"
        yield Case(f"gather_{kind}", cast + f"y = {MS}GatherBlockQuantized <block_size = 16> (x4, i, s)",
                   {"x": x, "i": indices, "s": numbers(6, 3)}, ["y"], ("x", "s"))
        yield Case(f"gather_{kind}_zeros", cast + f"z4 = Cast <to = {number}> (z)\n"
                   f"y = {MS}GatherBlockQuantized <block_size = 16> (x4, i, s, z4)",
                   {"x": x, "i": indices, "s": numbers(6, 3), "z": z}, ["y"], ("x", "s", "z"))
        yield Case(f"gather_{kind}_axes", cast + f"y = {MS}GatherBlockQuantized <block_size = 16, gather_axis = 1, "
                   "quantize_axis = 0> (x4, i, s)", {"x": x, "i": indices, "s": numbers(1, 48)}, ["y"], ("x", "s"))


    x, scales = numbers(6, 48), numbers(6, 3)
    for kind, number in (("float8e4m3fn", 17), ("float8e4m3fnuz", 18), ("float8e5m2", 19), ("float8e5m2fnuz", 20),
                         ("float4e2m1", 23)):
        narrow = helper.tensor_dtype_to_np_dtype(number)
        cast = f"x8 = Cast <to = {number}> (x)\n"
        yield Case(f"gather_{kind}", cast + f"y = {MS}GatherBlockQuantized <block_size = 16> (x8, i, s)",
                   {"x": x, "i": indices, "s": scales}, ["y"], ("x", "s"),
                   # ONNX Runtime has no Cast to float4e2m1.
                   expected={"y": (x.astype(narrow).astype(np.float32) * scales.repeat(16, 1))[indices]}
                   if number == 23 else None)
        if number == 23:
            continue
        yield Case(f"gather_{kind}_whole", cast + f"y = {MS}GatherBlockQuantized <block_size = 0> (x8, i, s)",
                   {"x": x, "i": indices, "s": numbers(1, 1)}, ["y"], ("x", "s"))


def cases():
    yield from products()
    yield from bnb4()
    yield from gathers()
