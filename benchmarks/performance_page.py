#!/usr/bin/env python3
"""Writes docs/performance.md from what compare_ort.py has measured.

Usage: performance_page.py RESULT.json... (each by `compare_ort.py ZOO --precision P --json RESULT.json`). The results of
one processor make one table, a column for each precision.
"""
import json
import math
import os
import statistics
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HEAD = """# Performance

Written by `benchmarks/performance_page.py` from runs of `benchmarks/compare_ort.py`: Onward and ONNX Runtime by turns
on the models of the zoo, batch 1, one process at a time. A ratio is ONNX Runtime's time over Onward's within a round,
the median of the rounds; above 1 Onward is faster. Times are medians in ms.
"""


def geometric_mean(ratios):
    return math.exp(statistics.mean(math.log(ratio) for ratio in ratios))


def table(results):
    """The lines of one processor's table."""
    given = results[0]["conditions"]
    lines = ["", f"## {given['cpu']}", "",
             f"{given['instruction_sets']}.",
             f"{given['threads']} threads, {given['rounds']} rounds, {given['date']}. Onward {given['onward']},",
             f"ONNX Runtime {given['onnxruntime']} (fp32 in all columns).", ""]
    columns = [(r["conditions"]["precision"], {row["model"]: row for row in r["rows"]}) for r in results]
    lines.append("| model | " + " | ".join(f"{name}: ms | ONNX Runtime ms | ratio" for name, _ in columns) + " |")
    lines.append("|---|" + "---|---|---|" * len(columns))
    for model in sorted(set().union(*(rows for _, rows in columns))):
        cells = []
        for _, rows in columns:
            row = rows.get(model)
            cells += ["", "", ""] if row is None else [f"{row['onward_ms']:.3g}", f"{row['ort_ms']:.3g}", f"{row['ratio']:.2f}"]
        lines.append(f"| {model} | " + " | ".join(cells) + " |")
    means = []
    for _, rows in columns:
        means += ["", "", f"{geometric_mean([row['ratio'] for row in rows.values()]):.2f}"]
    lines.append("| geometric mean | " + " | ".join(means) + " |")
    return lines


def main():
    by_cpu = {}
    for path in sys.argv[1:]:
        with open(path) as file:
            result = json.load(file)
        by_cpu.setdefault((result["conditions"]["cpu"], result["conditions"]["instruction_sets"]), []).append(result)
    lines = HEAD.splitlines()
    for results in by_cpu.values():
        lines += table(results)
    with open(os.path.join(ROOT, "docs", "performance.md"), "w") as page:
        page.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
