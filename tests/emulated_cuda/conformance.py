"""The standard's cases by the CUDA provider on the emulated device: what passes on the CPU passes there.

Usage: conformance.py SCRIPT PROGRAM [ORDER]...   (orders: eager, late or a seed; default: late)
ONWARD_CONFORMANCE: the directory of the cases; without it nothing is run.
gaps.txt beside this file names the cases that do not, with the reason.
"""
import json
import os
import pathlib
import subprocess
import sys


def failures(command):
    """Names of the cases that fail; the process itself must come to its end."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode not in (0, 1) or not done.stdout:  # sanitizers end a program with 1
        sys.exit(f"error: {' '.join(command)} ended with {done.returncode}")
    cases = json.loads(done.stdout)["cases"]
    return {case["name"]: case["reason"] for case in cases if case["status"] != "passed"}, len(cases)


def main(script, program, orders):
    directory = os.environ.get("ONWARD_CONFORMANCE")
    if not directory:
        print("skipped: ONWARD_CONFORMANCE names no directory")
        return bool(os.environ.get("ONWARD_REQUIRE_DATA"))
    lines = (pathlib.Path(__file__).parent / "gaps.txt").read_text().splitlines()
    gaps = {line.split(":")[0] for line in lines if line and not line.startswith("#")}
    run = [program, "conformance", directory, "--json"]
    on_cpu, count = failures(run)
    wrong = 0
    for order in orders or ["late"]:
        on_device, ran = failures([script, "--order", order, *run, "--provider", "cuda"])
        print(f"order {order}: {ran} cases, {len(on_device)} do not pass, {len(on_cpu)} of the CPU's")
        if ran != count:
            sys.exit(f"error: {ran} cases ran, {count} on the CPU")
        for name in sorted(set(on_device) - set(on_cpu) - gaps):
            wrong += 1
            print(f"  {name}: {on_device[name]}")
        for name in sorted(gaps - set(on_device)):
            wrong += 1
            print(f"  {name} passes: it is not a gap any more")
    return wrong > 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:3], sys.argv[3:]))
