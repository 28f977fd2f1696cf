"""ONNX models of one operator several times in a row, written without the package onnx.

The time of one operator on the device is the difference of two such models over the difference of their lengths: what
both have, such as copies of inputs and outputs, goes away.
"""
import dataclasses
import random
import struct

TYPES = {"float32": 1, "int64": 7, "float16": 10, "bfloat16": 16}
WIDTHS = {"float32": 4, "float16": 2, "bfloat16": 2}
OPSET = 24
VIEWS = ("Unsqueeze", "Squeeze")


@dataclasses.dataclass
class Step:
    """An operator whose output has the type of its first input."""
    op: str
    inputs: list = dataclasses.field(default_factory=list)   # dims of further operands that a run is given
    weights: list = dataclasses.field(default_factory=list)  # dims of further operands that the model has
    attributes: dict = dataclasses.field(default_factory=dict)
    apart: bool = False  # views of other ranks between the operators keep them from being fused


def varint(value):
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def value_info(name, dtype, dims):
    shape = b"".join(field(1, field(1, dim)) for dim in dims)
    return field(1, name) + field(2, field(1, field(1, TYPES[dtype]) + field(2, shape)))


def elements(dtype, dims, seed):
    """Values of either sign whose mean square is one to three times 1 / 8192: the products of a long chain stay finite,
    and none is zero, where a GPU takes less power and runs faster."""
    generator, count = random.Random(seed), size_of(dims)
    # The bytes of an element, the lowest first: random ones, but for sign and exponent in the last.
    if dtype == "float16":
        last = bytes(byte & 0x83 | 0x20 for byte in range(256))
    else:
        last = bytes(byte & 0x80 | 0x3C for byte in range(256))
    width = WIDTHS[dtype]
    data = bytearray(count * width)
    for i in range(width - 1):
        data[i::width] = generator.randbytes(count)
    data[width - 1::width] = generator.randbytes(count).translate(last)
    return data


def size_of(dims):
    count = 1
    for dim in dims:
        count *= dim
    return count


def tensor(name, dtype, dims, data):
    return b"".join(field(1, dim) for dim in dims) + field(2, TYPES[dtype]) + field(8, name) + field(9, bytes(data))


def attribute(name, value):
    if isinstance(value, float):
        return field(1, name) + field(2, value) + field(20, 1)
    if isinstance(value, int):
        return field(1, name) + field(3, value) + field(20, 2)
    return field(1, name) + b"".join(field(8, each) for each in value) + field(20, 7)


def model(step, dtype, dims, length):
    """y = op(... op(x, operands) ..., operands), as bytes."""
    operands = [f"i{i}" for i in range(len(step.inputs))] + [f"w{i}" for i in range(len(step.weights))]
    graph = b""
    for i in range(length):
        source = "x" if i == 0 else f"y{i - 1}"
        target = "y" if i == length - 1 else f"y{i}"
        view = step.apart and i < length - 1
        made = f"t{i}" if view else target
        node = b"".join(field(1, name) for name in (source, *operands)) + field(2, made) + field(4, step.op)
        node += b"".join(field(5, attribute(*each)) for each in step.attributes.items())
        graph += field(1, node)
        if view:
            graph += field(1, field(1, made) + field(1, "axes") + field(2, target) +
                           field(4, VIEWS[i % len(VIEWS)]))
    graph += field(2, step.op)
    if step.apart:
        graph += field(5, tensor("axes", "int64", (1,), struct.pack("<q", 0)))
    for i, each in enumerate(step.weights):
        graph += field(5, tensor(f"w{i}", dtype, each, elements(dtype, each, i)))
    graph += field(11, value_info("x", dtype, dims))
    for i, each in enumerate(step.inputs):
        graph += field(11, value_info(f"i{i}", dtype, each))
    graph += field(12, value_info("y", dtype, dims))
    return field(1, 11) + field(7, graph) + field(8, field(2, OPSET))
