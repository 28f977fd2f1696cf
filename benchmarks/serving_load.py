#!/usr/bin/env python3
"""What `onward serve` adds to a run, and what it keeps under ten times its load: one core for it, one for its clients.

Usage: serving_load.py [--onward PATH] [--seconds 5] [--rounds 5] [--json FILE]

Needs wrk and taskset. Added: runs within a process (`onward bench`) and over HTTP with one client take turns by the
second; the ratio is of each pair's medians. Overload: each round measures the capacity by 32 clients that ask again at
once (wrk), then an open loop of ten times that rate (`onward client load`), which compares each reply with the first.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile

import serving

# Convolutions of 64 channels on 16 x 16 points. Its rows do not mix.
MODEL = r"""
import sys, numpy as np, onnx
from onnx import TensorProto, helper, numpy_helper
random = np.random.default_rng(1)
value = lambda name, *shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", *shape])
weight = lambda name, *shape: numpy_helper.from_array(
    (random.standard_normal(shape) / np.prod(shape[1:]) ** 0.5).astype(np.float32), name)
weights = [weight("w", 256, 16384), numpy_helper.from_array(np.array([-1, 64, 16, 16], np.int64), "shape")]
nodes = [helper.make_node("MatMul", ["x", "w"], ["wide"]), helper.make_node("Reshape", ["wide", "shape"], ["h0"])]
layers = int(sys.argv[2])
for i in range(layers):
    weights.append(weight(f"w{i}", 64, 64, 3, 3))
    nodes.append(helper.make_node("Conv", [f"h{i}", f"w{i}"], [f"c{i}"], pads=[1, 1, 1, 1]))
    nodes.append(helper.make_node("Tanh", [f"c{i}"], [f"h{i + 1}"]))
nodes.append(helper.make_node("GlobalAveragePool", [f"h{layers}"], ["pooled"]))
nodes.append(helper.make_node("Flatten", ["pooled"], ["y"]))
graph = helper.make_graph(nodes, "g", [value("x", 256)], [value("y", 64)], weights)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), sys.argv[1])
"""

RUN_MS = 5
LAYERS = (20, 50)  # of the models that are timed first


def run_ms(args, model):
    command = ["taskset", "-c", "0", args.onward, "bench", model, "--shape", "x=1x256", "--threads", "1", "--duration", "1",
               "--json"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["latency_ms"]["median"]


def save_model(layers, path):
    subprocess.run([serving.PYTHON, "-c", MODEL, path, str(layers)], check=True)


def layers_of(args, path):
    """How many layers take RUN_MS here, from the times of two models: one layer is for all sizes alike."""
    times = []
    for layers in LAYERS:
        save_model(layers, path)
        times.append(run_ms(args, path))
    each = (times[1] - times[0]) / (LAYERS[1] - LAYERS[0])
    return max(1, round(LAYERS[1] + (RUN_MS - times[1]) / each))


def open_loop(args, port, rate):
    command = ["taskset", "-c", "1", args.onward, "client", "load", f"http://127.0.0.1:{port}", "slow", "--rate", str(rate),
               "--duration", str(args.seconds), "--connections", "1000", "--compare", "--shape", "x=1x256", "--json"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def one_round(args, model, directory):
    port = serving.free_port()
    process = serving.start([args.onward, "serve", model, "--http", f"127.0.0.1:{port}", "--threads", "1", *args.flag], port,
                            "/v2/models/slow/ready")
    try:
        pairs = [(serving.load(port, "slow", serving.binary_body(256), 1, 1, directory)["p50_us"] / 1e3,
                  run_ms(args, model)) for _ in range(args.seconds)]
        capacity = serving.load(port, "slow", serving.binary_body(256), 32, args.seconds, directory)["per_s"]
        loaded = open_loop(args, port, round(10 * capacity))
    finally:
        serving.stop(process)
    return {"run_ms": statistics.median(run for _, run in pairs), "served_ms": statistics.median(http for http, _ in pairs),
            "added": statistics.median(http / run for http, run in pairs) - 1, "capacity": capacity,
            "right_over_capacity": loaded["right_per_s"] / capacity, "wrong": loaded["wrong"],
            "lost": sum(loaded["lost"].values()), "refusal_p99_ms": loaded["refusal_ms"].get("p99", 0),
            "right_p99_ms": loaded["latency_ms"].get("p99", 0)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--onward", default=os.path.join(serving.ROOT, "build/release/onward"))
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--layers", type=int, help=f"of the model; by default as many as take {RUN_MS} ms")
    parser.add_argument("--flag", action="append", default=[], help="passed on to onward serve")
    parser.add_argument("--json")
    args = parser.parse_args()
    version = subprocess.run([args.onward, "version"], capture_output=True, text=True, check=True).stdout
    print(version.strip())
    with tempfile.TemporaryDirectory() as directory:
        model = f"{directory}/slow.onnx"
        save_model(args.layers or layers_of(args, model), model)
        rounds = [one_round(args, model, directory) for _ in range(args.rounds)]
    for key in rounds[0]:
        values = [each[key] for each in rounds]
        print(f"{key:22} median {statistics.median(values):9.4g}   " + " ".join(f"{value:.4g}" for value in values))
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump({"version": version, "rounds": rounds}, file, indent=1)


if __name__ == "__main__":
    main()
