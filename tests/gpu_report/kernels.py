"""The kernels that take most of the device's time, as Nsight Compute (ncu) measures them."""
import collections
import csv

from machine import start
from speed import inputs

MODELS = ("resnet50", "bert_base", "gpt2_decode")
SHOWN = 6
UNITS = {"ns": 1e-9, "nsecond": 1e-9, "us": 1e-6, "usecond": 1e-6, "ms": 1e-3, "msecond": 1e-3, "s": 1, "second": 1}


def read_ncu(text):
    """(launches, seconds) by the name of the kernel, of what ncu --csv prints among other lines."""
    lines = text.splitlines()
    begin = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), len(lines))
    found = collections.defaultdict(lambda: [0, 0.0])
    for row in csv.DictReader(line for line in lines[begin:] if line.startswith('"')):
        if row.get("Metric Name") == "gpu__time_duration.sum":
            kernel = found[row["Kernel Name"].split("(")[0][:80]]
            kernel[0] += 1
            kernel[1] += float(row["Metric Value"].replace(",", "")) * UNITS[row["Metric Unit"]]
    return dict(found)


def slowest(machine, section, clock):
    program = machine.tool("ncu")
    if program is None:
        section.say("Nsight Compute (ncu) is not installed." if not machine.emulated else "ncu needs a GPU.")
        return "not run: ncu is not there"
    section.say("Time on the device in the first run of the model, by ncu; the clocks are left alone.")
    section.row("model", "kernel", "launches", "microseconds", "share")
    read = 0
    for name in MODELS:
        directory, why = machine.filled(clock, name)
        if directory is None or clock.left() < 3:
            section.row(name, why or "no time was left", "", "", "")
            continue
        model = [directory / "model.onnx", *inputs(machine, clock, directory)]
        done = start([program, "--csv", "--clock-control", "none", "--metrics", "gpu__time_duration.sum",
                      machine.program, "run", *model, "--provider", "cuda"],
                     min(40, clock.left()), machine.environment())
        kernels = read_ncu(done.out)
        whole = sum(seconds for _, seconds in kernels.values())
        read += whole > 0
        if not kernels:
            section.row(name, done.why(), "", "", "")
        for kernel, (launches, seconds) in sorted(kernels.items(), key=lambda item: -item[1][1])[:SHOWN]:
            section.row(name, f"`{kernel}`", launches, f"{1e6 * seconds:.1f}", f"{100 * seconds / whole:.0f} %")
    return f"{read} of {len(MODELS)} models"
