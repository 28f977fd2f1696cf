#!/usr/bin/env python3
"""Training steps of Onward against PyTorch, alternating in one run.

Usage: compare_torch.py [--only REGEX] [--modes eager,fused,cl] [--threads 2] [--rounds 3] [--seconds 3] [--bf16] [--json FILE]

Each case (torch_models.py) is exported to ONNX by PyTorch and trained by build/release/benchmarks/train_step, which imports it;
PyTorch trains its own module in each mode: `eager`; `fused`: the optimizer with fused=True; `cl`: channels_last too;
`compile`: torch.compile and fused. A round runs every side once, one at a time, on the same batch. The ratio PyTorch / Onward
of a round's medians is above 1 where Onward is faster; printed is the median of the rounds, against eager and against the
best mode of the round. The first losses must agree. Memory is the peak of the process; for PyTorch less what importing it
takes."""
import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile

from zoo_pairs import machine

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PEERS = os.environ.get("ONWARD_PEERS", os.path.expanduser("~/.cache/onward/peers"))
PYTHON = os.path.join(PEERS, "torch", "bin", "python")

PREPARE = r"""
import sys, os, json, warnings, logging
warnings.filterwarnings("ignore")
import numpy as np, torch
sys.path.insert(0, sys.argv[1])
import torch_models
name, folder, precision = sys.argv[2], sys.argv[3], sys.argv[4]
torch.manual_seed(0)
model, batch, (optimizer, options) = torch_models.CASES[name]()
model.eval()
for module in model.modules():  # the exporter makes one of tensors that are equal
    if isinstance(module, torch.nn.LayerNorm):
        torch.nn.init.normal_(module.weight, 1, 0.01)
        torch.nn.init.normal_(module.bias, 0, 0.01)
given = next(k for k in batch if k != "label")
torch.save(model.state_dict(), folder + "/weights.pt")
np.savez(folder + "/batch.npz", **{k: v.numpy() for k, v in batch.items()})
torch.onnx.export(model, (batch[given],), folder + "/model.onnx", input_names=[given], output_names=["logits"], dynamo=True,
                  external_data=False, verbose=False, optimize=False)
axis = -1 if batch["label"].dim() == 2 else 1
lines = ['model: "model.onnx"', 'loss { cross_entropy { class_axis: %d } }' % axis, 'steps: 1', 'data {}',
         "optimizer { %s { %s } }" % (optimizer.lower(), " ".join("%s: %g" % o for o in options.items()))]
if precision == "bf16":
    lines.append("precision { autocast: BFLOAT16 }")
open(folder + "/config.textproto", "w").write("\n".join(lines) + "\n")
"""

TORCH = r"""
import sys, json, time, resource
import numpy as np, torch, torch.nn.functional as F
baseline = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
sys.path.insert(0, sys.argv[1])
import torch_models
name, folder, mode, precision, threads = sys.argv[2], sys.argv[3], sys.argv[4], sys.argv[5], int(sys.argv[6])
torch.set_num_threads(threads)
torch.manual_seed(0)
model, batch, (optimizer, options) = torch_models.CASES[name]()
model.load_state_dict(torch.load(folder + "/weights.pt"))
model.train()
batch = {k: torch.from_numpy(v) for k, v in np.load(folder + "/batch.npz").items()}
label = batch.pop("label")
(x,) = batch.values()
if mode == "cl":
    model, x = model.to(memory_format=torch.channels_last), x.contiguous(memory_format=torch.channels_last)
opt = getattr(torch.optim, optimizer)(model.parameters(), fused=True if mode != "eager" else None, **options)
run = torch.compile(model) if mode == "compile" else model
def step():
    begin = time.perf_counter()
    opt.zero_grad(set_to_none=True)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "bf16"):
        logits = run(x)
        loss = F.cross_entropy(logits.flatten(0, -2), label.flatten())
    loss.backward()
    opt.step()
    return 1e3 * (time.perf_counter() - begin), loss.item()
for line in sys.stdin:
    made = [step() for _ in range(int(line))]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"ms": [m[0] for m in made], "loss": made[-1][1], "peak_mb": (peak - baseline) * 1024 // 10**6}), flush=True)
"""


class Side:
    """A process that runs steps on demand."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        text=True)

    def run(self, steps):
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"exit {self.process.wait()}: {' '.join(self.process.args[-4:])}")
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def prepare(case, folder, precision):
    os.makedirs(folder, exist_ok=True)
    if not os.path.exists(os.path.join(folder, "config.textproto")):
        subprocess.run([PYTHON, "-c", PREPARE, os.path.join(ROOT, "benchmarks"), case, folder, precision], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def measure(case, args):
    precision = "bf16" if args.bf16 else "fp32"
    folder = os.path.join(args.folder, f"{case}_{precision}")
    prepare(case, folder, precision)
    sides = {"onward": Side([os.path.join(ROOT, "build/release/benchmarks/train_step"), f"{folder}/config.textproto",
                             f"{folder}/batch.npz", str(args.threads)])}
    for mode in args.modes:
        if mode == "cl" and not re.search("resnet|mobilenet|cnn", case):
            continue
        sides[mode] = Side([PYTHON, "-c", TORCH, os.path.join(ROOT, "benchmarks"), case, folder, mode, precision,
                            str(args.threads)])
    first = {side: process.run(1)["loss"] for side, process in sides.items()}
    warm = {side: statistics.median(process.run(3)["ms"]) for side, process in sides.items()}
    rounds = []
    for _ in range(args.rounds):
        made = {side: process.run(max(2, math.ceil(1e3 * args.seconds / warm[side]))) for side, process in sides.items()}
        rounds.append({side: (statistics.median(each["ms"]), each["peak_mb"]) for side, each in made.items()})
    for process in sides.values():
        process.close()
    row = {"case": case, "first_loss": first, "modes": {}}
    for side in sides:
        row["modes"][side] = {"ms": statistics.median(r[side][0] for r in rounds), "peak_mb": rounds[-1][side][1]}
    best = [min(r[m][0] for m in sides if m != "onward") / r["onward"][0] for r in rounds]
    row["best"] = statistics.median(best)
    row["eager"] = statistics.median(r["eager"][0] / r["onward"][0] for r in rounds) if "eager" in sides else float("nan")
    return row


def conditions(args):
    version = subprocess.run([PYTHON, "-c", "import torch; print(torch.__version__.split('+')[0])"], check=True,
                             capture_output=True, text=True).stdout.strip()
    return {**machine(os.path.join(ROOT, "build/release/onward")), "peer": "PyTorch", "peer_version": version,
            "modes": args.modes, "precision": "bf16" if args.bf16 else "fp32", "threads": args.threads, "rounds": args.rounds}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=".")
    parser.add_argument("--modes", default="eager,fused,cl", type=lambda text: text.split(","))
    parser.add_argument("--threads", default=2, type=int)
    parser.add_argument("--rounds", default=3, type=int)
    parser.add_argument("--seconds", default=3.0, type=float)
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--folder", default=os.path.join(tempfile.gettempdir(), "onward_compare_torch"))
    parser.add_argument("--json")
    args = parser.parse_args()
    names = subprocess.run([PYTHON, "-c", "import sys; sys.path.insert(0, sys.argv[1]); import torch_models; "
                            "print(*torch_models.CASES)", os.path.join(ROOT, "benchmarks")], check=True, capture_output=True,
                           text=True).stdout.split()
    rows = []
    print(f"{'case':18} {'onward ms':>10} {'eager':>9} {'fused':>9} {'cl':>9} {'compile':>9}  x eager  x best   MB onward/best")
    for case in names:
        if not re.search(args.only, case):
            continue
        try:
            row = measure(case, args)
        except (RuntimeError, subprocess.CalledProcessError) as error:
            print(f"{case:18} failed: {error}")
            continue
        modes = row["modes"]
        times = [f"{modes[m]['ms']:9.2f}" if m in modes else f"{'-':>9}" for m in ("eager", "fused", "cl", "compile")]
        best = min((m for m in modes if m != "onward"), key=lambda m: modes[m]["ms"])
        note = "" if max(row["first_loss"].values()) - min(row["first_loss"].values()) < 0.02 else f"  LOSSES {row['first_loss']}"
        print(f"{case:18} {modes['onward']['ms']:10.2f} {' '.join(times)} {row['eager']:8.2f} {row['best']:7.2f}   "
              f"{modes['onward']['peak_mb']}/{modes[best]['peak_mb']}{note}", flush=True)
        rows.append(row)
    if rows:
        for key in ("eager", "best"):
            print(f"geometric mean against {key}: {math.exp(statistics.mean(math.log(row[key]) for row in rows)):.2f}")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump({"conditions": conditions(args), "rows": rows}, file, indent=1)
    return 0 if rows else 1


if __name__ == "__main__":
    sys.exit(main())
