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
    *[case(op, fill((256, 1024))) for op in "Acos Acosh Asin Atanh Cosh IsInf Shrink".split()],
    *[case(op, fill((512, 1024), D), name=op + " double") for op in "Exp Log Sigmoid Sin Tanh".split()],
    case("Pow", fill(M), fill(M), name="Pow of two"),
    case("Div", fill(M, I64), const(7), name="Div int64 by scalar"),
    case("Sum", fill(M), fill(M), fill(M)),
    case("Cast", fill(M), name="Cast to uint8", to=TensorProto.UINT8),
    case("Cast", fill(M, B), name="Cast bool to float", to=TensorProto.FLOAT),
    case("Where", fill((1, 1, 128, 128), B), fill((1, 12, 128, 128)), np.float32(-1e9), name="Where mask"),
    case("Add", fill((12, 128, 1)), fill((1, 128)), name="Add outer"),
    case("Clip", fill(M, I64), np.int64(0), np.int64(10), name="Clip int64"),
    case("DequantizeLinear", fill(M, S8), abs(weight(1024)), np.zeros(1024, S8), axis=0, name="Dequantize channel"),
    case("QuantizeLinear", fill(IMAGE), abs(weight(64)) + 0.1, np.zeros(64, U8), axis=1, name="QuantizeLinear channel"),
    case("Div", fill(M, I32), fill(M, I32, 50), name="Div int32") if False else case("Less", fill(M), np.float32(0),
         name="Less scalar"),
    case("Add", fill((8, 64, 1, 28)), fill((8, 1, 28, 28)), name="Add crossed"),
    case("Add", fill((1024, 1024), U8), fill((1024, 1024), U8), name="Add u8"),
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
    case("ReduceSum", fill(M, D), const(1), name="ReduceSum double"),
    case("ReduceSum", fill(M, I64), const(1), name="ReduceSum int64"),
    case("ArgMax", fill((1, 21, 128, 128)), axis=1, name="ArgMax axis 1"),
    case("ArgMin", fill((1000, 1000)), axis=0, name="ArgMin axis 0"),
    case("ArgMax", fill((4096, 16)), axis=1, name="ArgMax short"),
    case("TopK", fill((1, 8400)), const(300), outputs=2, name="TopK 300 of 8400"),
    case("TopK", fill((64, 1000)), const(5), outputs=2, name="TopK 5 of 1000"),
    case("TopK", fill((1000, 64)), const(8), outputs=2, axis=0, name="TopK axis 0"),
    case("Softmax", fill((8192, 10)), name="Softmax 10"),
    case("Softmax", fill((1, 21, 128, 128)), axis=1, name="Softmax seg"),
    case("LayerNormalization", fill((1, 3136, 96)), weight(96), weight(96), name="LayerNorm 96"),
    case("LayerNormalization", fill((128, 768), D), weight(768, dtype=D), weight(768, dtype=D), name="LayerNorm double"),
    case("BatchNormalization", fill((256, 512)), weight(512), weight(512), weight(512), abs(weight(512)) + 1,
         name="BatchNorm rows"),
    case("ReduceMax", fill((1, 80, 8400)), const(1), name="ReduceMax classes"),
    case("ReduceMin", fill((1024, 1024), U8, 200), const(1), name="ReduceMin u8"),
    case("ReduceSum", fill((1024, 1024), H), const(1), name="ReduceSum half"),
    case("Softmax", fill((16, 50257)), name="Softmax vocab"),
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
    case("Transpose", fill((1, 128, 128, 64)), name="Transpose to NCHW", perm=[0, 3, 1, 2]),
    case("Transpose", fill((1, 3, 224, 224), U8), name="Transpose u8 NHWC", perm=[0, 2, 3, 1]),
    case("Transpose", fill((512, 512), D), name="Transpose double", perm=[1, 0]),
    case("Concat", *[fill((1, 32, 56, 56)) for _ in range(6)], axis=1, name="Concat 6"),
    case("Concat", *[fill((4096, 1)) for _ in range(4)], axis=1, name="Concat columns"),
    case("Split", fill((1, 128, 56, 56)), name="Split channels", outputs=2, axis=1, num_outputs=2),
    case("Slice", fill((1, 64, 112, 112)), const(0), const(1 << 60), const(3), const(2), name="Slice stride 2 last"),
    case("Slice", fill(M), const(-1), const(-(1 << 60)), const(1), const(-1), name="Slice reverse"),
    case("Pad", fill(IMAGE), const(0, 0, 1, 1, 0, 0, 1, 1), name="Pad edge", mode="edge"),
    case("Tile", fill((1024, 1)), const(1, 256), name="Tile column"),
    case("Gather", fill((1, 64, 56, 56)), const(*range(0, 64, 2)), name="Gather channels", axis=1),
    case("ScatterElements", fill(M), fill((1024, 1), I64, 1024), fill((1024, 1)), axis=1, name="ScatterElements 1"),
    case("OneHot", fill((1024,), I64, 1000), const(1000), const(0, 1, dtype=F), axis=0, name="OneHot axis 0"),
    case("NonZero", fill((1, 8400)), name="NonZero few"),
    case("MaxUnpool", fill((1, 64, 28, 28)), fill((1, 64, 28, 28), I64, 64*56*56), kernel_shape=[2, 2], strides=[2, 2]),
    case("Transpose", fill((8, 197, 3, 12, 64)), perm=[2, 0, 3, 1, 4], name="Transpose qkv"),
    case("Transpose", fill((1024, 1024), H), perm=[1, 0], name="Transpose half"),
    case("Transpose", fill((1, 224, 224, 3)), perm=[0, 3, 1, 2], name="Transpose image"),
    case("ScatterND", fill((4096, 64)), fill((8192, 1), I64, 4096), fill((8192, 64)), reduction="add", name="ScatterND add"),
    case("Gather", fill((8, 512, 768)), const(0), axis=1, name="Gather first token"),
    case("Trilu", fill((1024, 1024)), upper=0, name="Trilu lower"),
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
    case("MatMul", fill((1, 4096)), fill((4096, 1024)), name="MatMul vec x fill"),
    case("MatMul", fill((1024, 4096)), fill((4096, 1)), name="MatMul x vec"),
    case("MatMul", fill((32, 10, 10)), fill((32, 10, 10)), name="MatMul small batched"),
    case("Gemm", fill((64, 512), D), weight(512, 512, dtype=D), weight(512, dtype=D), name="Gemm double"),
    case("MatMul", fill((64, 256), I32), fill((256, 64), I32), name="MatMul int32"),
    case("LSTM", fill((100, 1, 128)), weight(2, 512, 128), weight(2, 512, 128), hidden_size=128, direction="bidirectional",
         name="LSTM bi"),
    case("GRU", fill((20, 16, 128)), weight(1, 384, 128), weight(1, 384, 128), hidden_size=128, linear_before_reset=1,
         name="GRU batch"),
    case("QLinearMatMul", fill((128, 768), U8), np.float32(0.02), np.uint8(128), weight(768, 768, dtype=S8),
         np.float32(0.01), np.int8(0), np.float32(0.5), np.uint8(128)),
    case("MatMul", fill((1, 12, 1, 64)), fill((1, 12, 64, 512)), name="MatMul decode scores"),
    case("MatMul", fill((1, 12, 1, 512)), fill((1, 12, 512, 64)), name="MatMul decode values"),
    case("MatMul", fill((1000, 3)), weight(3, 64), name="MatMul k 3"),
    case("MatMul", fill((128, 768), H), weight(768, 768, dtype=H), name="MatMul half"),
    case("Gemm", fill((1, 2048)), weight(1000, 2048), weight(1000), transB=1, name="Gemm 1 head"),
    case("RNN", fill((50, 8, 64)), weight(1, 64, 64), weight(1, 64, 64), hidden_size=64, activations=["Relu"], name="RNN relu"),
    case("LSTM", fill((1, 1, 512)), weight(1, 2048, 512), weight(1, 2048, 512), hidden_size=512, name="LSTM step"),
    # Windows.
    case("Conv", fill(IMAGE), weight(64, 64, 3, 3), name="Conv 3x3", pads=[1] * 4),
    case("Conv", fill(IMAGE), weight(256, 64, 1, 1), name="Conv 1x1"),
    case("Conv", fill((1, 3, 224, 224)), weight(64, 3, 7, 7), name="Conv 7x7s2", pads=[3] * 4, strides=[2, 2]),
    case("Conv", fill(IMAGE), weight(64, 64, 3, 3), name="Conv dilated", pads=[2] * 4, dilations=[2, 2]),
    case("Conv", fill((1, 256, 28, 28)), weight(256, 8, 3, 3), name="Conv 32 groups", pads=[1] * 4, group=32),
    case("Conv", fill((1, 128, 28, 28)), weight(128, 32, 3, 3), name="Conv 4 groups", pads=[1] * 4, group=4),
    case("Conv", fill((1, 144, 56, 56)), weight(144, 1, 5, 5), name="Conv depthwise 5x5", pads=[2] * 4, group=144),
    case("Conv", fill((1, 144, 56, 56)), weight(144, 1, 7, 7), name="Conv depthwise 7x7", pads=[3] * 4, group=144),
    case("Conv", fill((1, 144, 56, 56)), weight(144, 1, 3, 3), name="Conv depthwise 3x3s2", pads=[1] * 4, group=144,
         strides=[2, 2]),
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
    case("NonMaxSuppression", np.random.default_rng(1).random((1, 1000, 4)).astype(F), fill((1, 4, 1000)), const(100),
         const(0.5, dtype=F),
         const(0.1, dtype=F)),
    case("Col2Im", fill((1, 64 * 9, 54 * 54)), const(56, 56), const(3, 3)),
    case("Conv", fill((1, 3, 224, 224)), weight(32, 3, 3, 3), name="Conv 3x3s2 first", pads=[1] * 4, strides=[2, 2]),
    case("Conv", fill((1, 80, 3000)), weight(384, 80, 3), name="Conv 1-D", pads=[1, 1]),
    case("Conv", fill((1, 64, 56, 56)), weight(64, 64, 1, 7), name="Conv 1x7", pads=[0, 3, 0, 3]),
    case("Conv", fill((1, 64, 112, 112)), weight(3, 64, 9, 9), name="Conv 9x9 to 3", pads=[4] * 4),
    case("ConvTranspose", fill((1, 128, 28, 28)), weight(128, 64, 2, 2), name="ConvTranspose 2x2s2", strides=[2, 2]),
    case("ConvTranspose", fill((1, 64, 28, 28)), weight(64, 1, 4, 4), name="ConvTranspose depthwise", strides=[2, 2],
         pads=[1] * 4, group=64),
    case("MaxPool", fill((1, 256, 14, 14)), kernel_shape=[5, 5], strides=[1, 1], pads=[2] * 4, name="MaxPool 5x5"),
    case("MaxPool", fill((1, 16, 16, 32, 32)), kernel_shape=[2]*3, strides=[2]*3, name="MaxPool 3-D"),
    case("AveragePool", fill((1, 192, 35, 35)), kernel_shape=[3, 3], pads=[1] * 4, name="AveragePool 3x3", count_include_pad=1),
    case("Resize", fill((1, 3, 480, 640)), None, None, const(1, 3, 224, 224), name="Resize down linear", mode="linear"),
    case("Resize", fill((1, 56, 56, 64)), None, const(1, 2, 2, 1, dtype=F), name="Resize NHWC", mode="linear"),
    case("GridSample", fill((1, 32, 64, 64)), fill((1, 64, 64, 2)), mode="nearest", name="GridSample nearest"),
    case("Conv", fill((1, 8, 224, 224)), weight(8, 8, 3, 3), pads=[1] * 4, name="Conv 8-8"),
    case("Conv", fill((1, 64, 64, 64)), weight(1, 64, 3, 3), pads=[1] * 4, name="Conv to 1"),
    case("Conv", fill((1, 1, 16000)), weight(512, 1, 10), strides=[5], name="Conv wav2vec"),
    case("Conv", fill((1, 128, 400)), weight(128, 128, 3), pads=[4, 4], dilations=[4], name="Conv 1-D dilated"),
    case("Conv", fill((1, 3, 224, 224)), weight(768, 3, 16, 16), strides=[16, 16], name="Conv patches"),
    case("Conv", fill((1, 64, 56, 56)), fill((64, 64, 3, 3)), pads=[1] * 4, name="Conv variable filter"),
    case("ConvTranspose", fill((1, 64, 56, 56)), weight(64, 32, 3, 3), strides=[2, 2], pads=[1] * 4, output_padding=[1, 1],
         name="ConvTranspose 3x3s2"),
    case("ConvTranspose", fill((1, 32, 8, 16, 16)), weight(32, 16, 2, 2, 2), strides=[2, 2, 2], name="ConvTranspose 3-D"),
    case("MaxPool", fill((1, 64, 56, 56)), kernel_shape=[3, 3], strides=[1, 1], pads=[1] * 4, dilations=[1, 1], outputs=2,
         name="MaxPool indices"),
    case("AveragePool", fill((1, 16, 16, 32, 32)), kernel_shape=[2] * 3, strides=[2] * 3, name="AveragePool 3-D"),
    case("AveragePool", fill((1, 512, 7, 7)), kernel_shape=[7, 7], name="AveragePool 7x7"),
    case("QLinearConv", fill((1, 64, 28, 28), U8), np.float32(0.02), np.uint8(128), weight(64, 64, 3, 3, dtype=S8),
         np.float32(0.01), np.int8(0), np.float32(0.5), np.uint8(128), pads=[1] * 4),
    case("Resize", fill((1, 3, 512, 512)), None, const(1, 1, 0.5, 0.5, dtype=F), mode="linear", antialias=1,
         name="Resize antialias"),
    case("Resize", fill((1, 8, 16, 32, 32)), None, const(1, 1, 2, 2, 2, dtype=F), mode="linear", name="Resize trilinear"),
    case("DeformConv", fill((1, 16, 32, 32)), weight(16, 16, 3, 3), fill((1, 18, 30, 30))),
    # Losses, and ai.onnx.ml besides trees.
    case("SoftmaxCrossEntropyLoss", fill((4096, 10)), fill((4096,), I64, 10)),
    case("LinearRegressor", fill((1024, 100)), domain="ai.onnx.ml", coefficients=[0.5] * 300, targets=3),
    case("LinearClassifier", fill((1024, 100)), outputs=2, domain="ai.onnx.ml", coefficients=[0.5] * 300, intercepts=[0.0]*3,
         classlabels_ints=[0, 1, 2], post_transform="SOFTMAX"),
    case("SVMRegressor", fill((256, 20)), domain="ai.onnx.ml", coefficients=[0.5] * 100, support_vectors=[0.1] * 2000,
         n_supports=100, kernel_type="RBF", kernel_params=[0.1, 0.0, 3.0], rho=[0.0]),
    case("Scaler", fill((1024, 100)), domain="ai.onnx.ml", offset=[0.5] * 100, scale=[2.0] * 100),
    case("LabelEncoder", fill((4096,), I64, 100), domain="ai.onnx.ml", keys_int64s=list(range(100)),
         values_floats=[float(i) for i in range(100)], default_float=0.0),
    case("SoftmaxCrossEntropyLoss", fill((64, 10000)), fill((64,), I64, 10000), name="SCE vocab"),
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
