#!/usr/bin/env python3
"""Makes tests/microsoft/cases: calls of com.microsoft ops with what ONNX Runtime returns.

Usage: make_cases.py [FAMILY...] with the Python of `scripts/peers onnxruntime`. Each family is a
module beside this file, cases_<family>.py, whose cases() yields Case objects. Written are
cases/<family>.txt (graphs in ONNX's text syntax, the case's name as the graph's, after lines
"# constants: names" and "# units: n") and cases/<family>.npz (arrays named <case>/<value>).
"""
import dataclasses
import importlib
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
from case_files import array_type, families  # noqa: E402


@dataclasses.dataclass
class Case:
    name: str
    call: str  # one or more lines: "y = com.microsoft.BiasGelu (x, b)"
    inputs: dict  # name -> array
    outputs: list  # names
    constants: tuple = ()  # inputs that are initializers here, and in one run of the test
    units: int = 0  # by how many units integer results may differ from ONNX Runtime's
    expected: dict = None  # name -> array, where ONNX Runtime's CPU provider has no kernel
    dims: dict = dataclasses.field(default_factory=dict)  # input -> "batch,4", where not all known
    types: dict = dataclasses.field(default_factory=dict)  # outputs of types that nothing tells


def graph_text(case, outputs):
    inputs = ", ".join(f"{array_type(v, case.dims.get(k))} {k}" for k, v in case.inputs.items())
    open_dims = "" if case.dims else None  # any rank
    results = ", ".join(f"{array_type(v, open_dims)} {k}" for k, v in outputs.items())
    body = "\n".join("  " + line.strip() for line in case.call.strip().splitlines())
    return f"{case.name} ({inputs}) => ({results}) {{\n{body}\n}}\n"


def run(case):
    """What ONNX Runtime's CPU provider returns, unoptimised."""
    untyped = {name: np.zeros((), np.float32) for name in case.outputs}
    model = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["": 21, "com.microsoft": 1]>\n' + graph_text(case, untyped))
    for output in model.graph.output:
        output.ClearField("type")
        if output.name in case.types:
            output.type.tensor_type.elem_type = onnx.TensorProto.DataType.Value(
                case.types[output.name].upper())
    for name in case.constants:
        model.graph.initializer.append(onnx.numpy_helper.from_array(case.inputs[name], name))
        model.graph.input.remove(next(i for i in model.graph.input if i.name == name))
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    # DynamicQuantizeLSTM's ranges are those of a thread's rows.
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    feeds = {k: v for k, v in case.inputs.items() if k not in case.constants}
    return dict(zip(case.outputs, session.run(case.outputs, feeds)))


def make_family(family):
    texts, arrays = [], {}
    for case in importlib.import_module(f"cases_{family}").cases():
        case.inputs = {name: np.asarray(value) for name, value in case.inputs.items()}
        try:
            outputs = case.expected or run(case)
        except Exception as error:
            sys.exit(f"{family}/{case.name}: {error}")
        header = f"# constants: {' '.join(case.constants)}\n" if case.constants else ""
        header += f"# units: {case.units}\n" if case.units else ""
        texts.append(header + graph_text(case, outputs))
        for name, array in (case.inputs | outputs).items():
            # Text of a fixed width needs no pickling.
            arrays[f"{case.name}/{name}"] = array.astype("U") if array.dtype == object else array
    (HERE / "cases").mkdir(exist_ok=True)
    (HERE / "cases" / f"{family}.txt").write_text("\n".join(texts))
    np.savez_compressed(HERE / "cases" / f"{family}.npz", **arrays)
    print(f"{family}: {len(texts)} cases")


def main():
    for family in families(HERE, sys.argv[1:]):
        make_family(family)


if __name__ == "__main__":
    main()
