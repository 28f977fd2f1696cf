"""What ONNX Runtime's own tools lose, beside models that Onward converted.

    python onnxruntime_tools.py DIR MODEL SAMPLES

DIR has int8.onnx and float16.onnx, which Onward made of MODEL. SAMPLES has a directory per sample, of NAME.npy or
input_K.pb, on which the tools calibrate. Prints for each kind the square error by the square of the expected outputs,
over all samples: "int8 OURS THEIRS".
"""
import logging
import pathlib
import sys

import numpy as np
import onnx
import onnx.numpy_helper
import onnxruntime as ort
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process
from onnxruntime.transformers.float16 import convert_float_to_float16


def run(path, samples):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return [session.run(None, sample) for sample in samples]


def read(sample, names):
    if not (sample / "input_0.pb").exists():
        return {name: np.load(sample / f"{name}.npy") for name in names}
    values = {}
    for i, name in enumerate(names):
        proto = onnx.TensorProto.FromString((sample / f"input_{i}.pb").read_bytes())
        values[name] = onnx.numpy_helper.to_array(proto)
    return values


def loss(expected, actual):
    difference = square = 0.0
    for e_run, a_run in zip(expected, actual):
        for e, a in zip(e_run, a_run):
            e, a = e.astype(np.float64), a.astype(np.float64)
            difference += ((e - a) ** 2).sum()
            square += (e**2).sum()
    return difference / square


class Reader(CalibrationDataReader):
    def __init__(self, samples):
        self.samples = iter(samples)

    def get_next(self):
        return next(self.samples, None)


def main():
    directory, path = sys.argv[1], sys.argv[2]
    logging.disable(logging.WARNING)
    names = [value.name for value in ort.InferenceSession(path, providers=["CPUExecutionProvider"]).get_inputs()]
    folders = sorted(entry for entry in pathlib.Path(sys.argv[3]).iterdir() if entry.is_dir())
    samples = [read(folder, names) for folder in folders]
    expected = run(path, samples)
    prepared, theirs = directory + "/prepared.onnx", directory + "/theirs.onnx"
    quant_pre_process(path, prepared, skip_symbolic_shape=True)
    quantize_static(prepared, theirs, Reader(samples), quant_format=QuantFormat.QDQ, per_channel=True,
                    activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
    print("int8", loss(expected, run(directory + "/int8.onnx", samples)), loss(expected, run(theirs, samples)))
    onnx.save(convert_float_to_float16(onnx.load(path), keep_io_types=True), theirs)
    print("float16", loss(expected, run(directory + "/float16.onnx", samples)), loss(expected, run(theirs, samples)))


main()
