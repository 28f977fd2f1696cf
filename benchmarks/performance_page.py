#!/usr/bin/env python3
"""Writes docs/performance.md from what compare_ort.py and compare_openvino.py have measured.

Usage: performance_page.py RESULT.json... (each by `compare_ort.py ZOO --precision P --json RESULT.json`, or of
compare_openvino.py). The results of one processor make one table, with columns for each precision and peer. Tables of
processors that have no result among the arguments stay on the page.
"""
import json
import os
import re
import sys

from timing import geometric_mean

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HEAD = """# Performance

Written by `benchmarks/performance_page.py` from runs of `benchmarks/compare_ort.py` and `compare_openvino.py`: Onward
and a peer by turns on the models of the zoo, batch 1, one process at a time. A ratio is the peer's time over Onward's
within a round, the median of the rounds; above 1 Onward is faster. Times are medians in ms.
"""
PAGE = os.path.join(ROOT, "docs", "performance.md")


def name_of(given):
    """The processor of a result and its instruction sets."""
    return f"{given['cpu']}, {given['instruction_sets'].split()[-1]}"


def table(results):
    """The lines of one processor's table."""
    given = results[0]["conditions"]
    peers = sorted({"{peer} {peer_version} ({rounds} rounds)".format(**r["conditions"]) for r in results})
    lines = ["", f"## {name_of(given)}", "",
             f"{given['instruction_sets']}.",
             f"{given['threads']} threads, {given['date']}. Onward {given['onward']}, {', '.join(peers)}.", ""]
    columns = []
    for result in results:
        given = result["conditions"]
        peer = " ".join([given["peer"], *given["peer_settings"]])
        columns.append((given["precision"], peer, {row["model"]: row for row in result["rows"]}))
    lines.append("| model | " + " | ".join(f"{name}: ms | {peer} ms | ratio" for name, peer, _ in columns) + " |")
    lines.append("|---|" + "---|---|---|" * len(columns))
    for model in sorted(set().union(*(rows for _, _, rows in columns))):
        cells = []
        for _, _, rows in columns:
            row = rows.get(model)
            cells += ["", "", ""] if row is None else [f"{row['onward_ms']:.3g}", f"{row['peer_ms']:.3g}", f"{row['ratio']:.2f}"]
        lines.append(f"| {model} | " + " | ".join(cells) + " |")
    means = []
    for _, _, rows in columns:
        means += ["", "", f"{geometric_mean([row['ratio'] for row in rows.values()]):.2f}"]
    lines.append("| geometric mean | " + " | ".join(means) + " |")
    return lines


def tables_of_page():
    """The tables that the page has, by processor."""
    with open(PAGE) as page:
        parts = re.split(r"(?m)^## (.*)$", page.read())
    return {name: ["", f"## {name}", "", *body.strip("\n").split("\n")] for name, body in zip(parts[1::2], parts[2::2])}


def main():
    by_cpu = {}
    for path in sys.argv[1:]:
        with open(path) as file:
            result = json.load(file)
        by_cpu.setdefault(name_of(result["conditions"]), []).append(result)
    tables = tables_of_page()
    tables.update({name: table(results) for name, results in by_cpu.items()})
    with open(PAGE, "w") as page:
        page.write("\n".join([*HEAD.splitlines(), *(line for lines in tables.values() for line in lines)]) + "\n")


if __name__ == "__main__":
    main()
