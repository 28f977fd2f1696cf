#!/usr/bin/env python3
"""Onward against ONNX Runtime on filled zoo models, alternating in one run.

Usage: compare_ort.py ZOO_DIR [--only REGEX] [--threads 2] [--rounds 3] [--seconds 1] [--onward PATH] [--json FILE]

Each round runs Onward (`onward bench`) and ONNX Runtime once each, one process at a time, on the inputs of
test_data_set_0; the ratio ONNX Runtime / Onward of a round's medians is above 1 where Onward is faster. The table shows
the median ratio of the rounds. ONNX Runtime comes from the environment of scripts/peers. --json writes what
performance_page.py reads.
"""
import argparse
import datetime
import glob
import json
import math
import os
import re
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PEERS = os.environ.get("ONWARD_PEERS", os.path.expanduser("~/.cache/onward/peers"))

ORT_SCRIPT = r"""
import glob, json, sys, time
import numpy as np, onnx, onnxruntime as ort
from onnx import numpy_helper
directory, threads, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
options = ort.SessionOptions()
options.intra_op_num_threads = threads
options.log_severity_level = 3
session = ort.InferenceSession(directory + "/model.onnx", options, providers=["CPUExecutionProvider"])
feeds = {}
for index, info in enumerate(session.get_inputs()):
    proto = onnx.TensorProto()
    proto.ParseFromString(open(f"{directory}/test_data_set_0/input_{index}.pb", "rb").read())
    feeds[info.name] = numpy_helper.to_array(proto)
for _ in range(3):
    session.run(None, feeds)
times, end = [], time.perf_counter() + seconds
while len(times) < 5 or time.perf_counter() < end:
    begin = time.perf_counter()
    session.run(None, feeds)
    times.append(time.perf_counter() - begin)
print(json.dumps({"version": ort.__version__, "median": 1e3 * float(np.median(times))}))
"""


def input_names(onward, model):
    text = subprocess.run([onward, "inspect", model, "--json"], capture_output=True, text=True, check=True).stdout
    return [value["name"] for value in json.loads(text)["inputs"] if not value["optional"]]


def run_onward(args, directory):
    model = os.path.join(directory, "model.onnx")
    command = [args.onward, "bench", model, "--json", "--threads", str(args.threads), "--duration", str(args.seconds),
               "--precision", args.precision]
    for index, name in enumerate(input_names(args.onward, model)):
        command += ["--input", f"{name}={directory}/test_data_set_0/input_{index}.pb"]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        return None, result.stderr.strip()[:200]
    return json.loads(result.stdout)["latency_ms"]["median"], ""


def run_ort(args, directory):
    python = os.path.join(PEERS, "onnxruntime", "bin", "python")
    result = subprocess.run([python, "-c", ORT_SCRIPT, directory, str(args.threads), str(args.seconds)],
                            capture_output=True, text=True)
    if result.returncode != 0:
        return None, (result.stderr.strip().splitlines() or ["failed"])[-1][:200]
    return json.loads(result.stdout)["median"], ""


def conditions(args):
    """What a figure must be read with."""
    with open("/proc/cpuinfo") as file:
        names = [line.split(":")[1].strip() for line in file if line.startswith("model name")]
    version = json.loads(subprocess.run([args.onward, "version", "--json"], capture_output=True, text=True, check=True).stdout)
    python = os.path.join(PEERS, "onnxruntime", "bin", "python")
    peer = subprocess.run([python, "-c", "import onnxruntime; print(onnxruntime.__version__)"], capture_output=True, text=True)
    return {"date": datetime.date.today().isoformat(), "cpu": names[0] if names else "unknown",
            "instruction_sets": version["cpu"], "onward": version["version"], "onnxruntime": peer.stdout.strip(),
            "precision": args.precision, "threads": args.threads, "rounds": args.rounds}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("zoo")
    parser.add_argument("--only", default="")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--precision", default="default")
    parser.add_argument("--onward", default=os.path.join(ROOT, "build", "release", "onward"))
    parser.add_argument("--json")
    args = parser.parse_args()
    rows = []
    print(f"{'model':28} {'onward ms':>10} {'ort ms':>10} {'ort/onward':>10}")
    for directory in sorted(glob.glob(os.path.join(args.zoo, "*"))):
        name = os.path.basename(directory)
        if not os.path.exists(os.path.join(directory, "model.onnx")) or not re.search(args.only, name):
            continue
        pairs, reason = [], ""
        for _ in range(args.rounds):
            ours, why = run_onward(args, directory)
            theirs, why_ort = run_ort(args, directory)
            reason = why or why_ort
            if ours is None or theirs is None:
                break
            pairs.append((ours, theirs))
        if not pairs:
            print(f"{name:28} {reason}")
            continue
        ratio = statistics.median(theirs / ours for ours, theirs in pairs)
        rows.append({"model": name, "onward_ms": statistics.median(p[0] for p in pairs),
                     "ort_ms": statistics.median(p[1] for p in pairs), "ratio": ratio})
        print(f"{name:28} {rows[-1]['onward_ms']:10.3f} {rows[-1]['ort_ms']:10.3f} {ratio:10.2f}", flush=True)
    if rows:
        print(f"{'geometric mean':28} {'':10} {'':10} {math.exp(statistics.mean(math.log(r['ratio']) for r in rows)):10.2f}")
        print(f"precision {args.precision}, {args.threads} threads, {args.rounds} rounds", file=sys.stderr)
    if args.json:
        with open(args.json, "w") as file:
            json.dump({"conditions": conditions(args), "rows": rows}, file, indent=2)


if __name__ == "__main__":
    main()
