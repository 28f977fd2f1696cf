"""Runs the parts of the report one after the other and keeps the page up to date."""
import dataclasses
import time
import typing

import correctness
import device
import kernels
import speed
import training
from bundle import MODELS
from machine import Clock, Machine
from page import Page


@dataclasses.dataclass
class Part:
    name: str
    title: str
    do: typing.Callable  # of the machine, the section and the clock; returns the result in a few words
    seconds: float       # at most


PARTS = [
    Part("machine", "Machine", device.describe, 60),
    Part("tests", "Tests labelled gpu", correctness.tests, 90),
    Part("cases", "The standard's cases", correctness.cases, 120),
    Part("sanitizer", "compute-sanitizer", correctness.sanitizer, 100),
    Part("products", "Matrix products", speed.products, 120),
    Part("models", "Models", speed.models, 150),
    Part("training", "Training", training.measured, 200),
    Part("operators", "Operators", speed.operators, 120),
    Part("kernels", "Kernels", kernels.slowest, 60),
]


def run(arguments):
    machine = Machine(arguments.directory, arguments.emulated)
    page = Page(arguments.output or machine.directory / "performance_gpu.md", arguments.emulated)
    whole = Clock(arguments.seconds)
    parts = [part for part in PARTS if not arguments.only or part.name in arguments.only]
    needs_models = "models" in (part.name for part in parts) and not arguments.emulated
    with machine.filling(MODELS if needs_models else (), whole):
        return run_parts(parts, machine, page, whole)


def run_parts(parts, machine, page, whole):
    failed, runs = 0, True
    for part in parts:
        section, begin = page.section(part.title), time.monotonic()
        if not runs:
            section.result = "not run: the provider does not run"
        elif whole.left() < 5:
            section.result = "not run: no time was left"
        else:
            try:
                section.result = part.do(machine, section, Clock(part.seconds, whole))
            except Exception as error:  # a part that breaks must not take the others with it
                section.result = f"broken: {type(error).__name__}: {str(error)[:200]}"
        section.seconds = time.monotonic() - begin
        failed += section.result.startswith(("FAILED", "broken"))
        runs = runs and not (part.name == "machine" and failed)
        page.write()
        print(f"{part.title}: {section.result} ({section.seconds:.0f} s)", flush=True)
    print(f"{page.file} is written")
    return 1 if failed else 0
