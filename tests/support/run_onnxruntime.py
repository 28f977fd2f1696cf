"""Runs models in ONNX Runtime after a full check by onnx.checker.

Usage: run_onnxruntime.py DIRECTORY...; each has model.onnx and one <number>.npy per input, in the
model's order; gets output_<number>.npy per output, or "error" with the reason. Ends with 1 where a
model fails.
"""

import pathlib
import sys

import numpy
import onnx
import onnxruntime


def run(directory):
    path = str(directory / "model.onnx")
    onnx.checker.check_model(path, full_check=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feeds = {value.name: numpy.load(directory / f"{i}.npy") for i, value in enumerate(session.get_inputs())}
    for i, output in enumerate(session.run(None, feeds)):
        numpy.save(directory / f"output_{i}.npy", output)


failures = []
for name in sys.argv[1:]:
    try:
        run(pathlib.Path(name))
    except Exception as error:  # the test shows it
        failures.append(f"{name}: {type(error).__name__}: {error}")
        (pathlib.Path(name) / "error").write_text(failures[-1])
sys.exit("\n".join(failures))
