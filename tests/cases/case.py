"""What tables of cases are written with: cases, and arrays of every element type."""
import dataclasses
import itertools

import ml_dtypes
import numpy as np

TYPES = {
    "f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
    "b": np.bool_, "c64": np.complex64, "c128": np.complex128, "text": np.object_,
    "i4": ml_dtypes.int4, "u4": ml_dtypes.uint4, "i2": ml_dtypes.int2, "u2": ml_dtypes.uint2,
    "f8e4m3fn": ml_dtypes.float8_e4m3fn, "f8e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "f8e5m2": ml_dtypes.float8_e5m2, "f8e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "f8e8m0": ml_dtypes.float8_e8m0fnu, "f6e2m3": ml_dtypes.float6_e2m3fn,
    "f6e3m2": ml_dtypes.float6_e3m2fn, "f4e2m1": ml_dtypes.float4_e2m1fn,
}  # fmt: skip
NARROW_FLOATS = {name for name in TYPES if name[0] in "fb" and name not in ("f32", "f64", "b")}
FLOATS = "f32 f64 f16 bf16"

INF, NAN = float("inf"), float("nan")


def array(values, type_name, shape=None):
    """An array of the type; floats are rounded once."""
    through = np.float64 if type_name in NARROW_FLOATS else TYPES[type_name]
    if type_name in ("i4", "u4", "i2", "u2"):
        through = np.int8
    result = np.array(values, through).astype(TYPES[type_name])
    return result if shape is None else result.reshape(shape)


def f32(values, shape=None):
    return array(values, "f32", shape)


def f64(values, shape=None):
    return array(values, "f64", shape)


def f16(values, shape=None):
    return array(values, "f16", shape)


def bf16(values, shape=None):
    return array(values, "bf16", shape)


def i32(values, shape=None):
    return array(values, "i32", shape)


def i64(values, shape=None):
    return array(values, "i64", shape)


def i8(values, shape=None):
    return array(values, "i8", shape)


def u8(values, shape=None):
    return array(values, "u8", shape)


def b(values, shape=None):
    return array(values, "b", shape)


def text(values, shape=None):
    return array(values, "text", shape)


def ramp(shape, start=0, step=1):
    """start, start + step, ..., as nested lists."""
    return (start + step * np.arange(np.prod(shape, dtype=int))).reshape(shape).tolist()


def full(shape, value):
    return np.full(shape, value).tolist()


def wave(shape, function=np.sin, scale=1, digits=2):
    """scale times function(0), function(1), ..., rounded, as nested lists."""
    return np.round(function(np.arange(np.prod(shape, dtype=int))) * scale, digits).reshape(shape).tolist()


def spread(shape, seed, lo, hi, scale=1):
    """Integers in [lo, hi) without a visible pattern, times `scale`, as nested lists."""
    h = np.arange(np.prod(shape, dtype=int), dtype=np.uint32) * np.uint32(2654435761)
    h += np.uint32(seed * 40503 + 12345)
    h ^= h >> np.uint32(15)
    h *= np.uint32(0x85EBCA6B)
    h ^= h >> np.uint32(13)
    return ((lo + (h % np.uint32(hi - lo)).astype(np.int64)) * scale).reshape(shape).tolist()


@dataclasses.dataclass
class Case:
    name: str  # unique in its family
    op: str  # "Softmax", "ai.onnx.ml.SVMRegressor"
    inputs: list  # arrays; None for one that is omitted
    attributes: dict
    outputs: str  # "101": the second of three is omitted
    by: str  # where the expected values come from: see make_cases.py
    expected: list | None  # given here
    rtol: float | None  # None: see make_cases.py
    atol: float | None


def case(name, op, inputs, *, types="f32", expected=None, by="double", outputs=1, rtol=None, atol=None, **attributes):
    """Cases of a call, one for each of `types`, the element type of inputs that are plain numbers.

    `expected` has arrays too; without it the values are those of `by`.
    """
    if expected is not None:
        outputs = "".join("0" if value is None else "1" for value in expected)
    elif isinstance(outputs, int):
        outputs = "1" * outputs
    listed = types.split()
    return [
        Case(
            name if len(listed) == 1 else f"{name}_{type_name}",
            op,
            typed(inputs, type_name),
            attributes,
            outputs,
            by,
            None if expected is None else typed(expected, type_name),
            rtol,
            atol,
        )
        for type_name in listed
    ]


def typed(values, type_name):
    return [v if v is None or isinstance(v, np.ndarray | np.generic) else array(v, type_name) for v in values]


def join(*lists):
    """The cases of many calls of case()."""
    return list(itertools.chain.from_iterable(lists))
