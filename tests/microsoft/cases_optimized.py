"""Models of standard ops as ONNX Runtime's own optimizer writes them, with the ops that it fuses."""
import os
import tempfile

import numpy as np
import onnx
import onnxruntime
from make_cases import Case

HEADS, SIZE, WORDS, LENGTH = 2, 4, 11, 5
HIDDEN = HEADS * SIZE


def layer_norm(name, x):
    return f"""
  {name}_m = ReduceMean <axes: ints = [-1]> ({x})
  {name}_d = Sub ({x}, {name}_m)
  {name}_s = Pow ({name}_d, two)
  {name}_v = ReduceMean <axes: ints = [-1]> ({name}_s)
  {name}_e = Add ({name}_v, epsilon)
  {name}_r = Sqrt ({name}_e)
  {name}_n = Div ({name}_d, {name}_r)
  {name}_g = Mul ({name}_n, {name}_gamma)
  {name} = Add ({name}_g, {name}_beta)"""


def dense(name, x):
    return f"""
  {name}_p = MatMul ({x}, {name}_w)
  {name} = Add ({name}_p, {name}_b)"""


def attention(name, x, mask):
    heads = "".join(dense(f"{name}_{i}", x) + f"""
  {name}_{i}_h = Reshape ({name}_{i}, split)
  {name}_{i}_t = Transpose <perm: ints = [{'0, 2, 3, 1' if i == 'k' else '0, 2, 1, 3'}]> ({name}_{i}_h)"""
                    for i in "qkv")
    return heads + f"""
  {name}_a = MatMul ({name}_q_t, {name}_k_t)
  {name}_c = Div ({name}_a, root)
  {name}_e = Add ({name}_c, {mask})
  {name}_f = Softmax <axis: int = 3> ({name}_e)
  {name}_g = MatMul ({name}_f, {name}_v_t)
  {name}_i = Transpose <perm: ints = [0, 2, 1, 3]> ({name}_g)
  {name}_j = Reshape ({name}_i, join)""" + dense(name, f"{name}_j")


def gelu(name, x):
    return f"""
  {name}_a = Div ({x}, root2)
  {name}_b = Erf ({name}_a)
  {name}_c = Add ({name}_b, one)
  {name}_d = Mul ({x}, {name}_c)
  {name} = Mul ({name}_d, half)"""


def tanh_gelu(name, x):
    return f"""
  {name}_a = Pow ({x}, three)
  {name}_b = Mul ({name}_a, cubic)
  {name}_c = Add ({x}, {name}_b)
  {name}_d = Mul ({name}_c, root2pi)
  {name}_e = Tanh ({name}_d)
  {name}_f = Add ({name}_e, one)
  {name}_g = Mul ({x}, half)
  {name} = Mul ({name}_g, {name}_f)"""


CONSTANTS = {"two": np.float32(2), "three": np.float32(3), "one": np.float32(1), "half": np.float32(0.5),
             "epsilon": np.float32(1e-5), "root": np.float32(2), "root2": np.float32(np.sqrt(2)),
             "cubic": np.float32(0.044715), "root2pi": np.float32(np.sqrt(2 / np.pi)),
             "axis1": np.array([1], np.int64), "axis2": np.array([2], np.int64), "far": np.float32(-10000), "split": np.array([0, 0, HEADS, SIZE], np.int64),
             "join": np.array([0, 0, HIDDEN], np.int64)}


def bert(opset):
    """ONNX Runtime knows the mask's pattern in old opsets."""
    axes = ("<axes: ints = [1]> (mask)", "<axes: ints = [2]> (mask_a)")
    if opset > 12:
        axes = "(mask, axis1)", "(mask_a, axis2)"
    body = """
  embedded = Gather (words, ids)
  placed = Gather (places, positions)
  both = Add (embedded, placed)
  of_segment = Gather (kinds, segments)
  all = Add (both, of_segment)""" + layer_norm("x0", "all") + f"""
  mask_a = Unsqueeze {axes[0]}
  mask_b = Unsqueeze {axes[1]}
  mask_c = Cast <to: int = 1> (mask_b)
  mask_d = Sub (one, mask_c)
  mask_e = Mul (mask_d, far)"""
    x = "x0"
    for i in range(2):
        body += attention(f"at{i}", x, "mask_e") + f"\n  sum{i} = Add (at{i}, {x})"
        body += layer_norm(f"mid{i}", f"sum{i}") + dense(f"up{i}", f"mid{i}") + gelu(f"act{i}", f"up{i}")
        body += dense(f"down{i}", f"act{i}") + f"\n  res{i} = Add (down{i}, mid{i})" + layer_norm(f"out{i}", f"res{i}")
        x = f"out{i}"
    return body, x


def gpt():
    body = """
  embedded = Gather (words, ids)
  placed = Gather (places, positions)
  x0 = Add (embedded, placed)"""
    x = "x0"
    for i in range(2):
        body += layer_norm(f"first{i}", x) + attention(f"at{i}", f"first{i}", "causal") + f"\n  sum{i} = Add (at{i}, {x})"
        body += layer_norm(f"mid{i}", f"sum{i}") + dense(f"up{i}", f"mid{i}") + tanh_gelu(f"act{i}", f"up{i}")
        body += dense(f"down{i}", f"act{i}") + f"\n  res{i} = Add (down{i}, sum{i})"
        x = f"res{i}"
    return body + layer_norm("last", x), "last"


def weights(rng, body):
    """Initializers for the names that the body reads and nothing computes."""
    shapes = {"words": (WORDS, HIDDEN), "places": (LENGTH, HIDDEN), "kinds": (2, HIDDEN)}
    found = dict(CONSTANTS)
    for line in body.strip().splitlines():
        for name in line[line.rindex("(") + 1:line.rindex(")")].split(", "):
            if name in shapes:
                found[name] = rng.standard_normal(shapes[name]).astype(np.float32)
            elif name.endswith(("_gamma", "_beta", "_b", "_w")) and f" {name} =" not in body:
                wide = name.startswith("up"), name.startswith("down")
                dims = (2 * HIDDEN if wide[1] else HIDDEN, 2 * HIDDEN if wide[0] else HIDDEN)
                found[name] = (rng.standard_normal(dims if name.endswith("_w") else dims[1:]) * 0.4).astype(np.float32)
    found["positions"] = np.arange(LENGTH, dtype=np.int64)[None]
    found["causal"] = np.where(np.tri(LENGTH) > 0, 0, -10000).astype(np.float32)[None, None]
    return found


def optimized(name, model, feeds, wanted, batch="batch", opset=14):
    body, result = model
    rng = np.random.default_rng(15)
    own = weights(rng, body)
    types = {np.dtype(np.float32): "float", np.dtype(np.int64): "int64", np.dtype(np.int32): "int32"}
    inputs = ", ".join(f"{types[a.dtype]}[{batch},{LENGTH}] {n}" for n, a in feeds.items())
    text = f'<ir_version: 8, opset_import: ["": {opset}]>\n{name} ({inputs}) => (float[{batch},{LENGTH},{HIDDEN}] {result}) {{{body}\n}}\n'
    proto = onnx.parser.parse_model(text)
    used = {n for node in proto.graph.node for n in node.input}
    proto.graph.initializer.extend(onnx.numpy_helper.from_array(np.asarray(a), n) for n, a in own.items() if n in used)

    def session(level, path=None):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = level
        options.log_severity_level = 3
        if path:
            options.optimized_model_filepath = path
        return onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])

    levels = onnxruntime.GraphOptimizationLevel
    expected = session(levels.ORT_DISABLE_ALL).run(None, feeds)[0]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        session(levels.ORT_ENABLE_EXTENDED, path)
        graph = onnx.load(path).graph
    fused = {node.op_type for node in graph.node}
    if not wanted <= fused:
        raise ValueError(f"{name} has no {sorted(wanted - fused)} but {sorted(fused)}")
    # Names that the text syntax takes.
    names = {value: value for value in [*feeds, result]}
    for node in graph.node:
        node.ClearField("name")
        for values in (node.input, node.output):
            for i, value in enumerate(values):
                if value:
                    values[i] = names.setdefault(value, f"v{len(names)}")
    constants = {names[t.name]: onnx.numpy_helper.to_array(t) for t in graph.initializer if t.name in names}
    lines = "\n".join(onnx.printer.to_text(node).strip() for node in graph.node)
    return Case(name, lines, feeds | constants, [result], constants=tuple(constants),
                expected={result: expected}, dims={n: f"{batch},{LENGTH}" for n in feeds})


def cases():
    rng = np.random.default_rng(16)
    ids = rng.integers(0, WORDS, (2, LENGTH)).astype(np.int64)
    mask = np.ones((2, LENGTH), np.int64)
    mask[1, 3:] = 0
    segments = rng.integers(0, 2, (2, LENGTH)).astype(np.int64)
    feeds = {"ids": ids, "segments": segments, "mask": mask}
    fused = {"Attention", "SkipLayerNormalization", "BiasGelu"}
    yield optimized("bert", bert(12), feeds, fused, opset=12)
    yield optimized("bert_known_batch", bert(14), feeds, {"FusedMatMul", "Gemm", "SkipLayerNormalization"}, 2)
    yield optimized("gpt", gpt(), {"ids": ids}, {"LayerNormalization", "FastGelu"})
