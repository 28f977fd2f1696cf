#!/usr/bin/env python3
"""Writes docs/precision.md: how far outputs in `--precision fast` are from float32 references, on the models of the zoo.

Usage: precision_page.py ZOO [--only REGEX] [--onward PROGRAM] [--precision P]. Needs numpy and onnx. ZOO has directories with
model.onnx and test_data_set_*/input_K.pb, output_K.pb. Exit 1 where an output is farther than the bar that the page names.
Tables of other processors stay on the page.
"""
import argparse
import datetime
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = os.path.join(ROOT, "docs", "precision.md")
LEAST_COSINE = 0.99
HEAD = f"""# Precision

Written by `benchmarks/precision_page.py`: outputs of the zoo's models in `--precision fast`, which rounds the operands
of products to bfloat16 and computes activations of them to 12 bits, beside references in float32 that another runtime
computed (of models in 16 bits or 8, in the model's own arithmetic). The weights are random, so nothing of what a
trained network has learned hides an error.

Of all outputs of floats and data sets of a model: the least cosine, the largest error as a share of the largest
element, top-1, the share of rows whose greatest element is the same one, and of language models the perplexity of the
next token, drawn as the reference says, for ours and for the reference itself. The script fails where a cosine is below
{LEAST_COSINE}. Of detectors scores alone are compared, which come sorted: boxes of random weights have scores so close
that rounding changes their order.
"""


def read(path):
    proto = onnx.TensorProto()
    with open(path, "rb") as file:
        proto.ParseFromString(file.read())
    return numpy_helper.to_array(proto)


def floats(array):
    """Of bfloat16, which NumPy's files do not name."""
    if array.dtype != np.dtype("V2"):
        return array
    return (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32)


def names_of(onward, model):
    text = subprocess.run([onward, "inspect", model, "--json"], capture_output=True, text=True, check=True).stdout
    facts = json.loads(text)
    return [v["name"] for v in facts["inputs"] if not v["optional"]], [v["name"] for v in facts["outputs"]]


def outputs_of(args, directory, data, names, results):
    """Runs the model on one data set and returns its outputs."""
    command = [args.onward, "run", os.path.join(directory, "model.onnx"), "--precision", args.precision, "--output-dir", results]
    for index, name in enumerate(names[0]):
        command += ["--input", f"{name}={data}/input_{index}.pb"]
    subprocess.run(command, capture_output=True, text=True, check=True)
    safe = [re.sub(r"[^A-Za-z0-9._-]", "_", name) for name in names[1]]
    return [floats(np.load(os.path.join(results, f"{name}.npy"))) for name in safe]


def perplexity(ours, reference):
    """Of tokens that are drawn as the reference's logits say, by ours and by the reference."""
    def logs(logits):
        rows = logits.astype(np.float64) - logits.max(axis=-1, keepdims=True)
        return rows - np.log(np.exp(rows).sum(axis=-1, keepdims=True))
    p = np.exp(logs(reference))
    return tuple(float(np.exp(-(p * logs(logits)).sum(axis=-1).mean())) for logits in (ours, reference))


def is_float(array):
    return array.dtype.kind == "f" or array.dtype.name == "bfloat16"


def classes_axis(shape):
    """The axis of scores: the last one, or that of channels of images."""
    return 1 if len(shape) == 4 else len(shape) - 1


class Row:
    def __init__(self):
        self.cosine, self.error, self.same, self.rows = 1.0, 0.0, 0, 0
        self.perplexities = None
        self.skipped = 0

    def add(self, ours, reference):
        if not is_float(reference) or reference.size == 0:
            return
        if ours.shape != reference.shape:
            self.skipped += 1
            return
        a, b = ours.astype(np.float64).ravel(), reference.astype(np.float64).ravel()
        norms = np.linalg.norm(a) * np.linalg.norm(b)
        self.cosine = min(self.cosine, float(a @ b / norms) if norms > 0 else float(np.array_equal(a, b)))
        self.error = max(self.error, float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-30)))
        axis = classes_axis(ours.shape)
        if ours.ndim > 1 and ours.shape[axis] > 1:
            equal = ours.argmax(axis=axis) == reference.argmax(axis=axis)
            self.same, self.rows = self.same + int(equal.sum()), self.rows + equal.size

    def line(self, name):
        top = f"{self.same / self.rows:.4f}" if self.rows else ""
        texts = "{:.6g} / {:.6g}".format(*self.perplexities) if self.perplexities else ""
        return f"| {name} | {self.cosine:.6f} | {self.error:.2g} | {top} | {texts} |"


def compare(args, directory):
    row = Row()
    names = names_of(args.onward, os.path.join(directory, "model.onnx"))
    for data in sorted(glob.glob(os.path.join(directory, "test_data_set_*"))):
        references = [read(os.path.join(data, f"output_{i}.pb")) for i in range(len(names[1]))]
        with tempfile.TemporaryDirectory() as results:
            outputs = outputs_of(args, directory, data, names, results)
        for name, ours, reference in zip(names[1], outputs, references):
            if "boxes" not in names[1] or name == "scores":
                row.add(ours, reference)
            if name == "logits" and "input_ids" in names[0]:
                row.perplexities = perplexity(ours, reference)
    return row


def tables_of_page():
    if not os.path.exists(PAGE):
        return {}
    with open(PAGE) as page:
        parts = re.split(r"(?m)^## (.*)$", page.read())
    return {name: ["", f"## {name}", "", *body.strip("\n").split("\n")] for name, body in zip(parts[1::2], parts[2::2])}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("zoo")
    parser.add_argument("--only", default="")
    parser.add_argument("--precision", default="fast")
    parser.add_argument("--onward", default=os.path.join(ROOT, "build", "release", "onward"))
    args = parser.parse_args()
    lines, worst = [], 1.0
    for directory in sorted(glob.glob(os.path.join(args.zoo, "*"))):
        name = os.path.basename(directory)
        if not os.path.exists(os.path.join(directory, "model.onnx")) or not re.search(args.only, name):
            continue
        row = compare(args, directory)
        lines.append(row.line(name))
        print(lines[-1], f"{row.skipped} outputs of other sizes" if row.skipped else "", flush=True)
        worst = min(worst, row.cosine)
    version = json.loads(subprocess.run([args.onward, "version", "--json"], capture_output=True, text=True, check=True).stdout)
    with open("/proc/cpuinfo") as file:
        cpu = next((line.split(":")[1].strip() for line in file if line.startswith("model name")), "unknown")
    name = f"{cpu}, {version['cpu'].split()[-1]}"
    tables = tables_of_page()
    tables[name] = ["", f"## {name}", "", f"{version['cpu']}.",
                    f"{datetime.date.today().isoformat()}, Onward {version['version']}, `--precision {args.precision}`.", "",
                    "| model | cosine | largest error | top-1 | perplexity, ours / reference |", "|---|---|---|---|---|", *lines]
    if not args.only:
        with open(PAGE, "w") as page:
            page.write("\n".join([*HEAD.splitlines(), *(line for table in tables.values() for line in table)]) + "\n")
    return 0 if worst >= LEAST_COSINE else 1


if __name__ == "__main__":
    sys.exit(main())
