"""Single operators at usual shapes: what compare_ops.py measures. Run by the Python of the ONNX Runtime peer."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

F, D, H, I64, I32, U8, S8, B = np.float32, np.float64, np.float16, np.int64, np.int32, np.uint8, np.int8, np.bool_


def const(*values, dtype=I64):
    return np.array(values, dtype)


def fill(shape, dtype=F, limit=None):
    """An input of this shape: floats in [-2, 2), integers in [0, limit)."""
    return ("fill", tuple(shape), dtype, limit)


def weight(*shape, dtype=F):
    """A constant of random values, as a model's weight is."""
    generator = np.random.default_rng(7)
    if np.issubdtype(dtype, np.integer):
        return generator.integers(0, 100, shape).astype(dtype)
    return (generator.random(shape) - 0.5).astype(dtype)


def make_input(spec, generator):
    _, shape, dtype, limit = spec
    if dtype == B:
        return generator.random(shape) < 0.5
    if np.issubdtype(dtype, np.integer):
        return generator.integers(0, limit or 100, shape).astype(dtype)
    return ((generator.random(shape) - 0.5) * 4).astype(dtype)


def case(op, *operands, name=None, outputs=1, domain="", **attributes):
    """One node; operands are fill(...) for inputs, arrays for constants, None for omitted ones."""
    return (name or op, op, operands, outputs, domain, attributes)


def forest(trees, depth, features):
    """Attributes of a TreeEnsembleRegressor: full trees that test random features."""
    generator = np.random.default_rng(3)
    inner, nodes = 2**depth - 1, 2 ** (depth + 1) - 1
    each = np.arange(nodes)
    branch = np.where(each < inner, 1, 0)
    leaves = np.arange(inner, nodes)
    return {
        "n_targets": 1,
        "nodes_treeids": np.repeat(np.arange(trees), nodes).tolist(),
        "nodes_nodeids": np.tile(each, trees).tolist(),
        "nodes_featureids": (generator.integers(0, features, (trees, nodes)) * branch).ravel().tolist(),
        "nodes_values": (generator.uniform(-2, 2, (trees, nodes)) * branch).ravel().tolist(),
        "nodes_modes": ["BRANCH_LEQ" if i < inner else "LEAF" for i in each] * trees,
        "nodes_truenodeids": np.tile(np.where(each < inner, 2 * each + 1, 0), trees).tolist(),
        "nodes_falsenodeids": np.tile(np.where(each < inner, 2 * each + 2, 0), trees).tolist(),
        "target_treeids": np.repeat(np.arange(trees), len(leaves)).tolist(),
        "target_nodeids": np.tile(leaves, trees).tolist(),
        "target_ids": [0] * (trees * len(leaves)),
        "target_weights": generator.uniform(-1, 1, trees * len(leaves)).tolist(),
    }


M = (1024, 1024)
IMAGE = (1, 64, 56, 56)

CASES = [
    # Element by element.
    *[case(op, fill(M)) for op in (
        "Abs Neg Relu LeakyRelu Elu Selu Celu Sigmoid HardSigmoid HardSwish Tanh Softplus Softsign Mish Erf Exp Log Sqrt Sin Cos Tan Atan Sinh "
        "Asinh Ceil Floor Round Sign IsNaN ThresholdedRelu Gelu").split()],
    case("Abs", fill(M, I64), name="Abs int64"),
    *[case(op, fill(M), fill(M)) for op in "Add Sub Mul Div Max Min Greater Equal".split()],
    case("Add", fill(M), weight(1024), name="Add row"),
    case("Mul", fill(IMAGE), weight(64, 1, 1), name="Mul channel"),
    case("Add", fill(M, I64), fill(M, I64), name="Add int64"),
    case("Mod", fill(M, I64), const(7), name="Mod int64"),
    case("Pow", fill(M), const(2.5, dtype=F), name="Pow 2.5"),
    case("Pow", fill(M), const(2, dtype=F), name="Pow 2"),
    case("PRelu", fill(IMAGE), weight(64, 1, 1)),
    case("Clip", fill(M), np.float32(-1), np.float32(1)),
    case("And", fill(M, B), fill(M, B)),
    case("Not", fill(M, B)),
    case("Where", fill(M, B), fill(M), fill(M)),
    case("Cast", fill(M), name="Cast to float16", to=TensorProto.FLOAT16),
    case("Cast", fill(M, H), name="Cast from float16", to=TensorProto.FLOAT),
    case("Cast", fill(M), name="Cast to int64", to=TensorProto.INT64),
    case("QuantizeLinear", fill(M), np.float32(0.02), np.uint8(128)),
    case("DequantizeLinear", fill(M, U8), np.float32(0.02), np.uint8(128)),
    case("DynamicQuantizeLinear", fill(M), outputs=3),
    # Along an axis.
    case("Softmax", fill(M)),
    case("Softmax", fill((1, 256, 64, 64)), name="Softmax axis 1", axis=1),
    case("LogSoftmax", fill(M)),
    case("Hardmax", fill(M)),
    case("LayerNormalization", fill((1024, 768)), weight(768), weight(768)),
    case("RMSNormalization", fill((1024, 768)), weight(768)),
    case("InstanceNormalization", fill(IMAGE), weight(64), weight(64)),
    case("GroupNormalization", fill(IMAGE), weight(64), weight(64), num_groups=8),
    case("BatchNormalization", fill(IMAGE), weight(64), weight(64), weight(64), abs(weight(64)) + 1),
    case("LpNormalization", fill(M)),
    case("LRN", fill(IMAGE), size=5),
    case("MeanVarianceNormalization", fill(IMAGE)),
    *[case(op, fill(M), const(1)) for op in
      "ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceSumSquare ReduceLogSumExp".split()],
    case("ReduceSum", fill(M), const(0), name="ReduceSum axis 0"),
    case("ReduceMean", fill(IMAGE), const(2, 3), name="ReduceMean 2,3"),
    case("ReduceMax", fill((64, 64, 256)), const(1), name="ReduceMax middle"),
    case("ArgMax", fill((64, 50257)), axis=1),
    case("TopK", fill((64, 50257)), const(50), outputs=2),
    case("CumSum", fill(M), const(1)),
    case("CumSum", fill(M), const(0), name="CumSum axis 0"),
    # Moving elements.
    case("Transpose", fill(M), perm=[1, 0]),
    case("Transpose", fill((1, 64, 128, 128)), name="Transpose NHWC", perm=[0, 2, 3, 1]),
    case("Transpose", fill((16, 8, 16, 32, 16)), name="Transpose 5-D", perm=[3, 1, 4, 0, 2]),
    case("Transpose", fill((12, 128, 8, 64)), name="Transpose heads", perm=[0, 2, 1, 3]),
    case("Concat", fill((512, 1024)), fill((512, 1024)), axis=0),
    case("Concat", fill((1024, 512)), fill((1024, 512)), name="Concat last", axis=1),
    case("Split", fill((1024, 2304)), name="Split last", outputs=3, axis=1, num_outputs=3),
    case("Slice", fill(M), const(0, 0), const(1024, 1024), const(0, 1), const(2, 2), name="Slice steps"),
    case("Slice", fill(M), const(128, 128), const(896, 896), const(0, 1)),
    case("Pad", fill(IMAGE), const(0, 0, 1, 1, 0, 0, 1, 1)),
    case("Pad", fill(IMAGE), const(0, 0, 1, 1, 0, 0, 1, 1), name="Pad reflect", mode="reflect"),
    case("Tile", fill((256, 256)), const(4, 4)),
    case("Expand", fill((1024, 1)), const(1024, 1024)),
    case("Gather", weight(30000, 256), fill((8, 128), I64, 30000), name="Gather rows"),
    case("Gather", fill(M), fill((512,), I64, 1024), name="Gather columns", axis=1),
    case("GatherElements", fill(M), fill(M, I64, 1024), axis=1),
    case("GatherND", fill((256, 256, 16)), fill((16384, 2), I64, 256)),
    case("ScatterElements", fill(M), fill(M, I64, 1024), fill(M), axis=1),
    case("ScatterND", fill((4096, 256)), np.arange(1024, dtype=I64)[:, None] * 3, fill((1024, 256))),
    case("DepthToSpace", fill((1, 256, 64, 64)), blocksize=2),
    case("SpaceToDepth", fill((1, 64, 128, 128)), blocksize=2),
    case("OneHot", fill((4096,), I64, 256), const(256), const(0, 1, dtype=F)),
    case("NonZero", fill(M, B)),
    case("Compress", fill(M), np.arange(1024) % 2 == 0, axis=0),
    case("Unique", fill((262144,), I64, 1000), outputs=4),
    case("Trilu", fill((16, 256, 256))),
    case("ReverseSequence", fill((128, 16, 512)), np.full(16, 100, I64)),
    # Products.
    case("MatMul", fill((128, 768)), weight(768, 768), name="MatMul 128x768x768"),
    case("MatMul", fill((1, 768)), weight(768, 50257), name="MatMul 1x768x50257"),
    case("MatMul", fill((512, 512)), fill((512, 512)), name="MatMul 512"),
    case("MatMul", fill((12, 128, 64)), fill((12, 64, 128)), name="MatMul batched"),
    case("MatMul", fill((256, 256), D), fill((256, 256), D), name="MatMul double"),
    case("Gemm", fill((128, 768)), weight(3072, 768), weight(3072), transB=1),
    case("Einsum", fill((1, 256, 12, 64)), fill((1, 256, 12, 64)), name="Einsum bqhd,bkhd", equation="bqhd,bkhd->bhqk"),
    case("MatMulInteger", fill((128, 768), U8), weight(768, 768, dtype=S8)),
    case("Attention", fill((1, 12, 512, 64)), fill((1, 12, 512, 64)), fill((1, 12, 512, 64))),
    case("LSTM", fill((50, 1, 256)), weight(1, 1024, 256), weight(1, 1024, 256), hidden_size=256),
    case("GRU", fill((50, 1, 256)), weight(1, 768, 256), weight(1, 768, 256), hidden_size=256),
    case("RNN", fill((50, 1, 256)), weight(1, 256, 256), weight(1, 256, 256), hidden_size=256),
    case("DFT", fill((128, 512, 1)), None, const(1).reshape(()), name="DFT 128x512"),
    case("STFT", fill((1, 16000, 1)), const(160).reshape(()), abs(weight(400)), const(400).reshape(())),
    # Windows.
    case("Conv", fill(IMAGE), weight(64, 64, 3, 3), name="Conv 3x3", pads=[1] * 4),
    case("Conv", fill(IMAGE), weight(256, 64, 1, 1), name="Conv 1x1"),
    case("Conv", fill((1, 3, 224, 224)), weight(64, 3, 7, 7), name="Conv 7x7s2", pads=[3] * 4, strides=[2, 2]),
    case("Conv", fill(IMAGE), weight(64, 64, 3, 3), name="Conv dilated", pads=[2] * 4, dilations=[2, 2]),
    case("Conv", fill((1, 256, 28, 28)), weight(256, 8, 3, 3), name="Conv 32 groups", pads=[1] * 4, group=32),
    case("Conv", fill((1, 128, 28, 28)), weight(128, 32, 3, 3), name="Conv 4 groups", pads=[1] * 4, group=4),
    case("Conv", fill((1, 144, 56, 56)), weight(144, 1, 5, 5), name="Conv depthwise 5x5", pads=[2] * 4, group=144),
    case("Conv", fill((1, 144, 56, 56)), weight(144, 1, 7, 7), name="Conv depthwise 7x7", pads=[3] * 4, group=144),
    case("Conv", fill((1, 144, 56, 56)), weight(144, 1, 3, 3), name="Conv depthwise 3x3s2", pads=[1] * 4, group=144, strides=[2, 2]),
    case("Conv", fill((1, 17, 56, 56)), weight(30, 17, 3, 3), name="Conv 17 to 30", pads=[1] * 4),
    case("Conv", fill((1, 256, 1000)), weight(256, 1, 31), name="Conv 1-D depthwise", pads=[15, 15], group=256),
    case("Conv", fill((1, 16, 16, 32, 32)), weight(32, 16, 3, 3, 3), name="Conv 3-D", pads=[1] * 6),
    case("ConvTranspose", fill((1, 256, 100)), weight(256, 128, 16), name="ConvTranspose 1-D", strides=[8]),
    case("ConvTranspose", fill((1, 64, 32, 32)), weight(64, 32, 4, 4), name="ConvTranspose 2-D", strides=[2, 2], pads=[1] * 4),
    case("ConvInteger", fill((1, 64, 28, 28), U8), weight(64, 64, 3, 3, dtype=U8), pads=[1] * 4),
    case("MaxPool", fill((1, 64, 112, 112)), kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4),
    case("AveragePool", fill((1, 64, 112, 112)), kernel_shape=[2, 2], strides=[2, 2]),
    case("LpPool", fill((1, 64, 56, 56)), kernel_shape=[2, 2], strides=[2, 2]),
    case("GlobalAveragePool", fill((1, 256, 56, 56))),
    case("GlobalMaxPool", fill((1, 256, 56, 56))),
    case("Resize", fill(IMAGE), None, const(1, 1, 2, 2, dtype=F), name="Resize linear", mode="linear"),
    case("Resize", fill(IMAGE), None, const(1, 1, 2, 2, dtype=F), name="Resize nearest", mode="nearest"),
    case("Resize", fill(IMAGE), None, const(1, 1, 2, 2, dtype=F), name="Resize cubic", mode="cubic"),
    case("GridSample", fill((1, 32, 64, 64)), fill((1, 64, 64, 2))),
    case("RoiAlign", fill((1, 64, 50, 50)), np.tile(np.array([[4, 4, 36, 36]], F), (64, 1)), np.zeros(64, I64), output_height=7, output_width=7),
    case("NonMaxSuppression", np.random.default_rng(1).random((1, 1000, 4)).astype(F), fill((1, 4, 1000)), const(100), const(0.5, dtype=F),
         const(0.1, dtype=F)),
    case("Col2Im", fill((1, 64 * 9, 54 * 54)), const(56, 56), const(3, 3)),
    # Trees.
    *[case("TreeEnsembleRegressor", fill((batch, 50)), name=f"Trees batch {batch}", domain="ai.onnx.ml", **forest(100, 6, 50))
      for batch in (1, 1000)],
]


def model_of(a_case, opset):
    """The case as a ModelProto."""
    _, op, operands, outputs, domain, attributes = a_case
    inputs, names, constants = [], [], []
    for index, operand in enumerate(operands):
        name = f"x{index}"
        names.append("" if operand is None else name)
        if operand is None:
            continue
        if isinstance(operand, tuple):
            dtype = helper.np_dtype_to_tensor_dtype(np.dtype(operand[2]))
            inputs.append(helper.make_tensor_value_info(name, dtype, operand[1]))
        else:
            constants.append(numpy_helper.from_array(np.array(operand, order="C"), name))
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op, names, results, op, domain=domain, **attributes)
    graph = helper.make_graph([node], op, inputs, [helper.make_empty_tensor_value_info(r) for r in results], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid("ai.onnx.ml", 3)], ir_version=10)
