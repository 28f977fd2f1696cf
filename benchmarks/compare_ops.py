#!/usr/bin/env python3
"""Onward against ONNX Runtime on single operators (operator_cases.py), alternating in one run.

Usage: compare_ops.py [--only REGEX] [--threads 2] [--rounds 3] [--seconds 0.3] [--onward PATH] [--json FILE]

Both write into outputs that they keep. The ratio ONNX Runtime / Onward of a round's medians is above 1 where Onward is
faster; the table shows the median ratio of the rounds, slowest first. Runs itself with the Python of scripts/peers.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PEERS = os.environ.get("ONWARD_PEERS", os.path.expanduser("~/.cache/onward/peers"))
PYTHON = os.path.join(PEERS, "onnxruntime", "bin", "python")
if os.path.realpath(sys.prefix) != os.path.realpath(os.path.join(PEERS, "onnxruntime")):
    os.execv(PYTHON, [PYTHON, *sys.argv])

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime as ort  # noqa: E402
from operator_cases import CASES, make_input, model_of  # noqa: E402
from timing import geometric_mean, median_ms  # noqa: E402
from zoo_pairs import machine  # noqa: E402


class OnnxRuntime:
    def __init__(self, path, feeds, threads):
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 4
        self.session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.binding = self.session.io_binding()
        for name, value in feeds.items():
            self.binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(value))
        for output, value in zip(self.session.get_outputs(), self.session.run(None, feeds)):
            self.binding.bind_ortvalue_output(output.name, ort.OrtValue.ortvalue_from_numpy(np.array(value, order="C")))

    def measure(self, seconds):
        return median_ms(lambda: self.session.run_with_iobinding(self.binding), seconds)


def onward_ms(args, path, files):
    command = [args.onward, "bench", path, "--json", "--threads", str(args.threads), "--duration", str(args.seconds)]
    for name, file in files.items():
        command += ["--input", f"{name}={file}"]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        raise RuntimeError(result.stderr.strip())
    return json.loads(result.stdout)["latency_ms"]["median"]


def measure(args, a_case, directory):
    path = os.path.join(directory, "model.onnx")
    generator = np.random.default_rng(1)
    feeds = {f"x{i}": make_input(x, generator) for i, x in enumerate(a_case[2]) if isinstance(x, tuple)}
    files = {name: os.path.join(directory, name + ".npy") for name in feeds}
    for name, value in feeds.items():
        np.save(files[name], value)
    for opset in (21, 23, 22):
        try:
            onnx.save(model_of(a_case, opset), path)
            peer = OnnxRuntime(path, feeds, args.threads)
            break
        except Exception as error:  # the peer has no kernel for this opset or dtype
            peer, why = None, str(error)
    if peer is None:
        return {"name": a_case[0], "skipped": why.splitlines()[0][:120]}
    pairs = [(onward_ms(args, path, files), peer.measure(args.seconds)) for _ in range(args.rounds)]
    return {"name": a_case[0], "onward_ms": statistics.median(p[0] for p in pairs),
            "ort_ms": statistics.median(p[1] for p in pairs), "ratio": statistics.median(p[1] / p[0] for p in pairs)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--onward", default=os.path.join(ROOT, "build", "release", "onward"))
    parser.add_argument("--json")
    args = parser.parse_args()
    results = []
    for a_case in CASES:
        if not re.search(args.only, a_case[0]):
            continue
        with tempfile.TemporaryDirectory() as directory:
            results.append(measure(args, a_case, directory))
        print(results[-1], file=sys.stderr)
    measured = sorted((r for r in results if "ratio" in r), key=lambda r: r["ratio"])
    print(f"{'operator':24} {'Onward ms':>10} {'ORT ms':>10} {'ORT / Onward':>13}")
    for r in measured:
        print(f"{r['name']:24} {r['onward_ms']:10.3f} {r['ort_ms']:10.3f} {r['ratio']:13.2f}")
    for r in results:
        if "skipped" in r:
            print(f"{r['name']:24} skipped: {r['skipped']}")
    if measured:
        mean = geometric_mean([r["ratio"] for r in measured])
        slow = sum(r["ratio"] < 0.5 for r in measured)
        print(f"geometric mean {mean:.2f}, {len(measured)} cases, {slow} slower than 2x; ONNX Runtime {ort.__version__}, "
              f"{args.threads} threads, float32 unless the name says otherwise")
    if args.json:
        conditions = {**machine(args.onward), "peer": "ONNX Runtime", "peer_version": ort.__version__, "suite": "operators",
                      "threads": args.threads, "rounds": args.rounds}
        with open(args.json, "w") as file:
            json.dump({"conditions": conditions, "rows": measured}, file, indent=1)


if __name__ == "__main__":
    main()
