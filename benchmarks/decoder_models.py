#!/usr/bin/env python3
"""Fills a directory with decoders of the zoo whose weights have fewer bits, for compare_ort.py --suite.

Usage: decoder_models.py ZOO_DIR OUT_DIR, with the Python of `scripts/peers onnxruntime`. For each decoder of the filled
zoo the model of float32, which the peer runs, its inputs, and as onward.onnx what Onward runs instead: `<name>_bf16` is
the same model, for --precision fast, `<name>_int8` what ONNX Runtime's quantize_dynamic makes of it, `<name>_int4` what
`onward convert --int4-weights` makes of it.

  compare_ort.py OUT_DIR --suite "Decoders of fewer bits" --only "int4|int8" --json quantized.json
  compare_ort.py OUT_DIR --suite "Decoders of fewer bits" --only bf16 --precision fast --json fast.json
"""
import os
import subprocess
import sys

from onnxruntime.quantization import QuantType, quantize_dynamic

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ONWARD = os.environ.get("ONWARD_PROGRAM", os.path.join(ROOT, "build", "release", "onward"))
DECODERS = ["gpt2_decode", "llama_tiny_decode"]


def int8(model, made):
    # Its quantization of the standard's Attention is not a model that it loads.
    quantize_dynamic(model, made, op_types_to_quantize=["Gather", "Gemm", "MatMul"], weight_type=QuantType.QInt8)


def int4(model, made):
    subprocess.run([ONWARD, "convert", model, "-o", made, "--int4-weights"], check=True)


def fill(zoo, out, name, bits, make):
    source, directory = os.path.join(zoo, name), os.path.join(out, f"{name}_{bits}")
    os.makedirs(directory, exist_ok=True)
    for part in ("model.onnx", "test_data_set_0"):
        link = os.path.join(directory, part)
        if not os.path.exists(link):
            os.symlink(os.path.abspath(os.path.join(source, part)), link)
    make(os.path.join(source, "model.onnx"), os.path.join(directory, "onward.onnx"))


def main():
    zoo, out = sys.argv[1:3]
    for name in DECODERS:
        for bits, make in (("bf16", lambda model, made: None), ("int8", int8), ("int4", int4)):
            fill(zoo, out, name, bits, make)


if __name__ == "__main__":
    main()
