"""Onward and a peer by turns on filled zoo models: what compare_ort.py and compare_openvino.py share.

A peer is a name, its module, a script that runs a model and prints {"median": ms}, and the settings that the script takes
after the directory of the model, the threads and the seconds. The peer comes from the environment of scripts/peers.
"""
import argparse
import datetime
import glob
import json
import os
import re
import statistics
import subprocess
import sys

from timing import geometric_mean

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PEERS = os.environ.get("ONWARD_PEERS", os.path.expanduser("~/.cache/onward/peers"))

# What the scripts of peers begin and end with.
READ_INPUTS = r"""
import json, sys
import onnx
from onnx import numpy_helper
from timing import median_ms
directory, threads, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
def feeds_of(names):
    feeds = {}
    for index, name in enumerate(names):
        proto = onnx.TensorProto()
        proto.ParseFromString(open(f"{directory}/test_data_set_0/input_{index}.pb", "rb").read())
        feeds[name] = numpy_helper.to_array(proto)
    return feeds
"""
TIME_RUNS = r"""
print(json.dumps({"median": median_ms(run, seconds)}))
"""


class Peer:
    def __init__(self, name, module, script, settings=()):
        self.name, self.module, self.settings = name, module, list(settings)
        self.script = READ_INPUTS + script + TIME_RUNS
        self.python = os.path.join(PEERS, module, "bin", "python")

    def run(self, args, directory):
        """Returns the median in ms, or None and the reason."""
        result = subprocess.run([self.python, "-c", self.script, directory, str(args.threads), str(args.seconds), *self.settings],
                                capture_output=True, text=True, env={**os.environ, "PYTHONPATH": os.path.join(ROOT, "benchmarks")})
        if result.returncode != 0:
            return None, (result.stderr.strip().splitlines() or ["failed"])[-1][:200]
        return json.loads(result.stdout.splitlines()[-1])["median"], ""

    def version(self):
        result = subprocess.run([self.python, "-c", f"import {self.module}; print({self.module}.__version__)"],
                                capture_output=True, text=True)
        return result.stdout.strip().split("-")[0]  # without the build's name


def parser_of(description):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("zoo")
    parser.add_argument("--only", default="")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--precision", default="default")
    parser.add_argument("--onward", default=os.path.join(ROOT, "build", "release", "onward"))
    parser.add_argument("--suite", default="", help="what the page calls the models: none of the zoo's")
    parser.add_argument("--json")
    return parser


def input_names(onward, model):
    text = subprocess.run([onward, "inspect", model, "--json"], capture_output=True, text=True, check=True).stdout
    return [value["name"] for value in json.loads(text)["inputs"] if not value["optional"]]


def run_onward(args, directory):
    model = os.path.join(directory, "onward.onnx")  # what Onward runs in place of the peer's
    if not os.path.exists(model):
        model = os.path.join(directory, "model.onnx")
    command = [args.onward, "bench", model, "--json", "--threads", str(args.threads), "--duration", str(args.seconds),
               "--precision", args.precision]
    for index, name in enumerate(input_names(args.onward, model)):
        command += ["--input", f"{name}={directory}/test_data_set_0/input_{index}.pb"]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        return None, result.stderr.strip()[:200]
    return json.loads(result.stdout)["latency_ms"]["median"], ""


def machine(onward):
    """What made a figure: the day, the processor and the program."""
    with open("/proc/cpuinfo") as file:
        names = [line.split(":")[1].strip() for line in file if line.startswith("model name")]
    version = json.loads(subprocess.run([onward, "version", "--json"], capture_output=True, text=True, check=True).stdout)
    return {"date": datetime.date.today().isoformat(), "cpu": names[0] if names else "unknown",
            "instruction_sets": version["cpu"], "onward": version["version"]}


def conditions(args, peer):
    """What a figure must be read with."""
    return {**machine(args.onward), "peer": peer.name, "peer_version": peer.version(), "peer_settings": peer.settings,
            "suite": args.suite, "precision": args.precision, "threads": args.threads, "rounds": args.rounds}


def pairs_of(args, peer, directory):
    """Medians of Onward and the peer, a pair a round, and why there is none."""
    pairs = []
    for _ in range(args.rounds):
        ours, why = run_onward(args, directory)
        theirs, why_theirs = peer.run(args, directory)
        if ours is None or theirs is None:
            return pairs, why or why_theirs
        pairs.append((ours, theirs))
    return pairs, ""


def compare(args, peer):
    rows = []
    print(f"{'model':28} {'onward ms':>10} {'peer ms':>10} {'peer/onward':>11}")
    for directory in sorted(glob.glob(os.path.join(args.zoo, "*"))):
        name = os.path.basename(directory)
        if not os.path.exists(os.path.join(directory, "model.onnx")) or not re.search(args.only, name):
            continue
        pairs, reason = pairs_of(args, peer, directory)
        if not pairs:
            print(f"{name:28} {reason}")
            continue
        ratio = statistics.median(theirs / ours for ours, theirs in pairs)
        rows.append({"model": name, "onward_ms": statistics.median(p[0] for p in pairs),
                     "peer_ms": statistics.median(p[1] for p in pairs), "ratio": ratio})
        print(f"{name:28} {rows[-1]['onward_ms']:10.3f} {rows[-1]['peer_ms']:10.3f} {ratio:11.2f}", flush=True)
    if rows:
        print(f"{'geometric mean':28} {'':10} {'':10} {geometric_mean([r['ratio'] for r in rows]):11.2f}")
        print(f"precision {args.precision}, {args.threads} threads, {args.rounds} rounds", file=sys.stderr)
    if args.json:
        with open(args.json, "w") as file:
            json.dump({"conditions": conditions(args, peer), "rows": rows}, file, indent=2)
