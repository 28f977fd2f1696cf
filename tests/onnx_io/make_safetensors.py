#!/usr/bin/env python3
"""Files by the reference implementation, for safetensors_test: make_safetensors.py [DIR]. Needs `pip install safetensors`
(0.8.0 wrote those in the tree). Byte i of the n-th tensor by name is (7 * i + n) % 256."""
import ctypes
import os
import sys

import safetensors

TYPES = {"int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8, "uint64": 8, "float16": 2,
         "float32": 4, "float64": 8, "bfloat16": 2, "float8_e4m3fn": 1, "float8_e4m3fnuz": 1, "float8_e5m2": 1,
         "float8_e5m2fnuz": 1, "float8_e8m0fnu": 1, "float4_e2m1fn_x2": 1, "complex64": 8}


def tensors(shapes):
    specs, kept = {}, []
    for n, (name, (dtype, shape, size)) in enumerate(sorted(shapes.items())):
        data = (ctypes.c_uint8 * max(1, size))(*[(7 * i + n) % 256 for i in range(size)])
        kept.append(data)
        specs[name] = safetensors.TensorSpec(dtype=dtype, shape=shape, data_ptr=ctypes.addressof(data), data_len=size)
    return specs, kept


def main(folder):
    every, kept = tensors({f"t.{name}": (name, [3, 2], 6 * width) for name, width in TYPES.items()})
    odd, kept_too = tensors({"scalar": ("float32", [], 4), "empty": ("float64", [0, 5], 0), "a \"quoted\"\n\u00e9": ("uint8", [1], 1),
                             "large": ("float32", [40], 160)})
    for name, specs, metadata in [("every_type", every, None), ("odd", odd, {"format": "pt \u00e9"})]:
        with open(os.path.join(folder, name + ".safetensors"), "wb") as file:
            file.write(safetensors.serialize(specs, metadata))
    del kept, kept_too


main(sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "data"))
