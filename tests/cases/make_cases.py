#!/usr/bin/env python3
"""Makes tests/cases/<family>.txt from the tables tests/cases/cases_<family>.py.

Usage: make_cases.py [FAMILY...] with the Python of `scripts/peers onnxruntime`. A table's cases()
returns what case() made. Expected values are given in the table or come from

  double      the reference evaluator of onnx, with float inputs in float64, rounded once
  reference   the reference evaluator of onnx, with inputs as they are
  onnxruntime ONNX Runtime, unoptimised, with float inputs in float32, rounded once

Written are graphs of one node in ONNX's text syntax: inputs with their values, and the expected
values as initializers that have the outputs' names; before a graph stands "# tolerance: RTOL ATOL"
where it is not the default.
"""
import dataclasses
import importlib
import pathlib
import sys

import ml_dtypes
import numpy as np
import onnx
import onnx.reference
import onnxruntime

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
from case_files import array_type, families  # noqa: E402

OPSETS = {"": 28, "ai.onnx.ml": 5, "ai.onnx.preview.training": 1}
RUNTIME_OPSETS = 24, 21  # those of kernels that ONNX Runtime 1.31 has
WIDENED = np.float32, np.float16, ml_dtypes.bfloat16
NARROWED = np.float64, np.float16, ml_dtypes.bfloat16
TOLERANCES = {np.dtype(np.float16): (1e-3, 1e-6), np.dtype(ml_dtypes.bfloat16): (8e-3, 1e-6)}
DEFAULT_TOLERANCE = 1e-5, 1e-6
PACKED = [getattr(onnx.TensorProto, name) for name in ("INT4", "UINT4", "INT2", "UINT2", "FLOAT4E2M1")]


def model_of(case, opset=OPSETS[""]):
    domain, _, op = case.op.rpartition(".")
    feeds = feeds_of(case)
    names = [f"x{i}" if f"x{i}" in feeds else "" for i in range(len(case.inputs))]
    node = onnx.helper.make_node(op, names, output_names(case), domain=domain)
    node.attribute.extend(attribute_of(op, domain, name, value) for name, value in case.attributes.items())
    graph = onnx.helper.make_graph(
        [node],
        "case",
        [onnx.helper.make_tensor_value_info(name, data_type(value), value.shape) for name, value in feeds.items()],
        [onnx.helper.make_empty_tensor_value_info(name) for name in filter(None, node.output)],
    )
    opsets = OPSETS | {"": opset}
    return onnx.helper.make_model(
        graph,
        ir_version=10,
        opset_imports=[onnx.helper.make_opsetid(d, opsets.get(d, 1)) for d in sorted({"", domain})],
    )


def data_type(array):
    return onnx.helper.np_dtype_to_tensor_dtype(array.dtype)


def feeds_of(case):
    return {f"x{i}": value for i, value in enumerate(case.inputs) if value is not None}


def output_names(case):
    """The names of all outputs, "" of those that are omitted."""
    return [f"y{i}" if present == "1" else "" for i, present in enumerate(case.outputs)]


def attribute_of(op, domain, name, value):
    if isinstance(value, np.ndarray):
        return onnx.helper.make_attribute(name, onnx.numpy_helper.from_array(value))
    kind = None
    if isinstance(value, list) and not value:
        kind = onnx.defs.get_schema(op, domain).attributes[name].type.value
    return onnx.helper.make_attribute(name, value, attr_type=kind)


def by_reference(case):
    return onnx.reference.ReferenceEvaluator(model_of(case)).run(None, feeds_of(case))


def by_double(case):
    return rounded(case, by_reference(converted(case, WIDENED, np.float64)))


def by_onnxruntime(case):
    return rounded(case, run(converted(case, NARROWED, np.float32)))


def run(case):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    for opset in RUNTIME_OPSETS:
        model = model_of(case, opset).SerializeToString()
        try:
            session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented:
            if opset == RUNTIME_OPSETS[-1]:
                raise
        else:
            return session.run(None, feeds_of(case))


def converted(case, types, to):
    inputs = [value.astype(to) if value is not None and value.dtype in types else value for value in case.inputs]
    return dataclasses.replace(case, inputs=inputs)


def rounded(case, results):
    """The results in the types that inference finds, if any."""
    inferred = onnx.shape_inference.infer_shapes(model_of(case))
    types = [output.type.tensor_type.elem_type for output in inferred.graph.output]
    results = [np.asarray(result) for result in results]
    return [
        result if kind in (0, data_type(result)) else result.astype(onnx.helper.tensor_dtype_to_np_dtype(kind))
        for result, kind in zip(results, types, strict=True)
    ]


SOURCES = {"double": by_double, "reference": by_reference, "onnxruntime": by_onnxruntime}


def expected_of(case):
    """Arrays by the outputs' names."""
    values = SOURCES[case.by](case) if case.expected is None else [v for v in case.expected if v is not None]
    arrays = [np.asarray(value) for value in values]
    return {
        name: array.astype(object) if array.dtype.kind == "U" else array
        for name, array in zip(filter(None, output_names(case)), arrays, strict=True)
    }


def tolerance_of(case, expected):
    """Stated, or about a unit in the last place of the first output; of float32: a few."""
    rtol, atol = TOLERANCES.get(next(iter(expected.values())).dtype, DEFAULT_TOLERANCE)
    return rtol if case.rtol is None else case.rtol, atol if case.atol is None else case.atol


def elements_text(array):
    if array.dtype == object:
        return ", ".join(quoted(value) for value in array.flat)
    kind = data_type(array)
    if kind in (onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE):
        return ", ".join(shortest(value) for value in array.flat)
    if kind in (onnx.TensorProto.COMPLEX64, onnx.TensorProto.COMPLEX128):
        return ", ".join(f"{shortest(value.real)}, {shortest(value.imag)}" for value in array.flat)
    if array.dtype.kind in "iub":
        return ", ".join(str(int(value)) for value in array.flat)
    # As TensorProto.int32_data holds them: the bits of floats that have no decimals there, and
    # elements of 4 and 2 bits packed.
    if kind in PACKED:
        array = np.frombuffer(onnx.numpy_helper.from_array(array).raw_data, np.uint8)
    bits = array.view(np.uint16 if array.dtype.itemsize == 2 else np.uint8)
    return ", ".join(str(value) for value in bits.flat)


def shortest(value):
    """The shortest decimal that is read as `value` of its type; whole numbers without a point."""
    result = str(value)
    return result[:-2] if result.endswith(".0") else result


def quoted(value):
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def attribute_text(attribute):
    kind = onnx.AttributeProto
    value = onnx.helper.get_attribute_value(attribute)
    if attribute.type == kind.TENSOR:
        value = onnx.numpy_helper.to_array(value)
        return f"{attribute.name} = {array_type(value)} {{{elements_text(value)}}}"
    if attribute.type in (kind.FLOAT, kind.FLOATS):
        as_text = lambda v: str(np.float32(v))
    elif attribute.type in (kind.STRING, kind.STRINGS):
        as_text = lambda v: quoted(v.decode())
    else:
        as_text = str
    if attribute.type not in (kind.FLOATS, kind.INTS, kind.STRINGS):
        return f"{attribute.name} = {as_text(value)}"
    if not value:
        return f"{attribute.name} : {kind.AttributeType.Name(attribute.type).lower()} = []"
    return f"{attribute.name} = [{', '.join(map(as_text, value))}]"


def graph_text(case, expected):
    node = model_of(case).graph.node[0]
    inputs = ", ".join(
        f"{array_type(value)} {name} = {{{elements_text(value)}}}" for name, value in feeds_of(case).items()
    )
    outputs = ", ".join(f"{array_type(value)} {name}" for name, value in expected.items())
    values = ",\n ".join(f"{array_type(value)} {name} = {{{elements_text(value)}}}" for name, value in expected.items())
    attributes = ", ".join(map(attribute_text, node.attribute))
    results, arguments = (", ".join(name or '""' for name in names) for names in (node.output, node.input))
    call = f"{results} = {case.op}" + (f" <{attributes}>" if attributes else "") + f" ({arguments})"
    rtol, atol = tolerance_of(case, expected)
    note = "" if (rtol, atol) == DEFAULT_TOLERANCE else f"# tolerance: {rtol} {atol}\n"
    return f"{note}{case.name} ({inputs}) => ({outputs})\n<{values}> {{\n  {call}\n}}\n"


def make_family(family):
    cases = importlib.import_module(f"cases_{family}").cases()
    assert len({case.name for case in cases}) == len(cases), f"{family}: a name is there twice"
    texts = []
    for case in cases:
        try:
            texts.append(graph_text(case, expected_of(case)))
        except Exception as error:
            raise RuntimeError(f"{family}/{case.name}") from error
    (HERE / f"{family}.txt").write_text("\n".join(texts))
    print(f"{family}: {len(texts)} cases")


def main():
    np.seterr(all="ignore")  # infinities and NaN are what some cases show
    for family in families(HERE, sys.argv[1:]):
        make_family(family)


if __name__ == "__main__":
    main()
