"""Writes data/upgrade_cases.json: models of old opsets, inputs, and the outputs that their own
opset asks for.

Expected values are written with NumPy from the text of the old opset; where ONNX Runtime still runs
the old model its results must agree. Needs onnx, numpy and onnxruntime.
"""

import json
import pathlib

import numpy as np
import onnx.parser
import onnx.helper

CASES = []
rng = np.random.default_rng(0)


def floats(*dims):
    return np.round(rng.uniform(-2, 2, dims), 2).astype(np.float32)


def case(name, opsets, signature, body, inputs, outputs, runtime=True):
    """`opsets`: a version of ai.onnx or the text of the imports."""
    imports = f'"" : {opsets}' if isinstance(opsets, int) else opsets
    ir = 3 if isinstance(opsets, int) and opsets < 9 else 8
    text = f"<ir_version: {ir}, opset_import: [{imports}]> g {signature} {{ {body} }}"
    CASES.append((name, text, inputs, outputs, runtime))


def matrix_softmax(x, axis):
    rows = x.reshape(int(np.prod(x.shape[:axis])), -1).astype(np.float64)
    e = np.exp(rows - rows.max(1, keepdims=True))
    return (e / e.sum(1, keepdims=True)).reshape(x.shape).astype(x.dtype)


def elementwise():
    a, b = floats(2, 3, 4, 5), floats(3, 4)
    fitted = b[None, :, :, None]
    for op, f in (("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply), ("Div", np.divide)):
        case(f"{op}_6_axis", 6, "(float[2,3,4,5] a, float[3,4] b) => (float[2,3,4,5] y)",
             f"y = {op} <broadcast = 1, axis = 1> (a, b)", [a, b], [f(a, fitted)])
    case("Add_1_axis_unknown_ranks", 1, "(float[] a, float[] b) => (float[] y)",
         "y = Add <broadcast = 1, axis = 1, consumed_inputs = [0, 0]> (a, b)", [a, b], [a + fitted])
    case("Add_6_negative_axis_unknown_ranks", 6, "(float[] a, float[] b) => (float[] y)",
         "y = Add <broadcast = 1, axis = -3> (a, b)", [a, b], [a + fitted])
    case("Add_6_suffix", 6, "(float[2,3,4,5] a, float[4,5] b) => (float[2,3,4,5] y)",
         "y = Add <broadcast = 1> (a, b)", [a, floats(4, 5)], None)
    CASES[-1] = CASES[-1][:3] + ([a + CASES[-1][2][1]],) + CASES[-1][4:]
    case("Pow_1_axis", 1, "(float[2,3] a, float[2] b) => (float[2,3] y)",
         "y = Pow <broadcast = 1, axis = 0> (a, b)",
         [np.abs(a[0, 0, :2, :3]), np.array([2, 3], np.float32)],
         [np.abs(a[0, 0, :2, :3]) ** np.array([[2], [3]], np.float32)])
    p, q = rng.integers(0, 2, (2, 3)).astype(bool), np.array([True, False])
    for op, f in (("And", np.logical_and), ("Or", np.logical_or), ("Xor", np.logical_xor)):
        case(f"{op}_1_axis", 1, "(bool[2,3] a, bool[2] b) => (bool[2,3] y)",
             f"y = {op} <broadcast = 1, axis = 0> (a, b)", [p, q], [f(p, q[:, None])])
    m, n = floats(2, 3), floats(2)
    for op, f in (("Greater", np.greater), ("Less", np.less)):
        case(f"{op}_1_axis", 1, "(float[2,3] a, float[2] b) => (bool[2,3] y)",
             f"y = {op} <broadcast = 1, axis = 0> (a, b)", [m, n], [f(m, n[:, None])])
    i, j = np.array([[1, 2, 3], [4, 5, 6]], np.int32), np.array([2, 4], np.int32)
    case("Equal_1_axis", 1, "(int32[2,3] a, int32[2] b) => (bool[2,3] y)",
         "y = Equal <broadcast = 1, axis = 0> (a, b)", [i, j], [i == j[:, None]])
    x = floats(2, 3)
    case("Selu_1_defaults", 1, "(float[2,3] x) => (float[2,3] y)", "y = Selu (x)", [x],
         [np.where(x > 0, 1.0507 * x, 1.0507 * (1.6732 * np.exp(x) - 1.6732)).astype(np.float32)])
    for version in (1, 6):
        case(f"Clip_{version}", version, "(float[2,3] x) => (float[2,3] y)",
             "y = Clip <min = -0.5, max = 0.75> (x)", [x], [np.clip(x, -0.5, 0.75)])
    case("Clip_6_half", 6, "(float16[2,3] x) => (float16[2,3] y)", "y = Clip <max = 0.75> (x)",
         [x.astype(np.float16)], [np.minimum(x.astype(np.float16), np.float16(0.75))])
    case("Clip_6_unknown_dtype", 6, "(float[2,3] x) => (float[2,3] y)",
         "z = Identity (x) y = Clip <min = -0.5> (z)", [x], [np.maximum(x, np.float32(-0.5))])
    case("Cast_1", 1, "(float[2,3] x) => (int32[2,3] y)", 'y = Cast <to = "INT32"> (x)', [x],
         [x.astype(np.int32)])
    s = floats(3)
    x4 = floats(2, 3, 2, 2)
    case("PRelu_6_channels", 6, "(float[2,3,2,2] x, float[3] s) => (float[2,3,2,2] y)",
         "y = PRelu (x, s)", [x4, s], [np.where(x4 > 0, x4, x4 * s[:, None, None])])
    case("PRelu_6_unknown_ranks", 6, "(float[] x, float[] s) => (float[] y)", "y = PRelu (x, s)",
         [x4, s], [np.where(x4 > 0, x4, x4 * s[:, None, None])])
    case("PRelu_1_shared", 1, "(float[2,3,2,2] x, float[1] s) => (float[2,3,2,2] y)",
         "y = PRelu (x, s)", [x4, s[:1]], [np.where(x4 > 0, x4, x4 * s[0])])
    g = [floats(2, 3), floats(3, 4), floats(4)]
    case("Gemm_6_broadcast", 6, "(float[2,3] a, float[3,4] b, float[4] c) => (float[2,4] y)",
         "y = Gemm <broadcast = 1, alpha = 0.5> (a, b, c)", g, [0.5 * (g[0] @ g[1]) + g[2]])
    case("Relu_1", 1, "(float[2,3] x) => (float[2,3] y)", "y = Relu <consumed_inputs = [0]> (x)",
         [x], [np.maximum(x, 0)])
    case("Max_6", 6, "(float[2,3] a, float[2,3] b) => (float[2,3] y)", "y = Max (a, b)",
         [x, x[::-1].copy()], [np.maximum(x, x[::-1])])


def softmax():
    x = floats(2, 3, 4)
    for version, attribute, axis in ((1, "", 1), (11, "", 1), (11, "<axis = 0>", 0),
                                     (11, "<axis = -2>", 1), (11, "<axis = -1>", 2),
                                     (12, "<axis = 2>", 2)):
        expected = matrix_softmax(x, axis)
        place = attribute[8:-1].replace('-', 'minus') or 'default'
        name = f"{version}_axis_{place}"
        case(f"Softmax_{name}", version, "(float[2,3,4] x) => (float[2,3,4] y)",
             f"y = Softmax {attribute} (x)", [x], [expected])
        case(f"LogSoftmax_{name}", version, "(float[2,3,4] x) => (float[2,3,4] y)",
             f"y = LogSoftmax {attribute} (x)", [x], [np.log(expected)])
    case("Softmax_1_unknown_rank", 1, "(float[] x) => (float[] y)", "y = Softmax (x)", [x],
         [matrix_softmax(x, 1)])
    rows = x.reshape(2, 12)
    hard = (np.arange(12) == rows.argmax(1)[:, None]).astype(np.float32).reshape(x.shape)
    case("Hardmax_11", 11, "(float[2,3,4] x) => (float[2,3,4] y)", "y = Hardmax (x)", [x], [hard])


def layout():
    x = floats(2, 3, 4)
    one = floats(1, 3, 1, 2)
    case("Squeeze_1", 1, "(float[1,3,1,2] x) => (float[3,2] y)", "y = Squeeze <axes = [0, 2]> (x)",
         [one], [one[0, :, 0]])
    case("Squeeze_11_all", 11, "(float[1,3,1,2] x) => (float[3,2] y)", "y = Squeeze (x)", [one],
         [one.squeeze()])
    case("Unsqueeze_11", 11, "(float[2,3,4] x) => (float[2,3,1,4,1] y)",
         "y = Unsqueeze <axes = [2, -1]> (x)", [x], [x[:, :, None, :, None]])
    case("Reshape_1", 1, "(float[2,3,4] x) => (float[2,12] y)",
         "y = Reshape <shape = [0, -1], consumed_inputs = [0]> (x)", [x], [x.reshape(2, 12)])
    case("Slice_1", 1, "(float[2,3,4] x) => (float[2,2,3] y)",
         "y = Slice <starts = [0, -4], ends = [2, 3], axes = [1, 2]> (x)", [x], [x[:, 0:2, 0:3]])
    case("Slice_1_no_axes", 1, "(float[2,3,4] x) => (float[1,2,4] y)",
         "y = Slice <starts = [1, 0], ends = [100, -1]> (x)", [x], [x[1:, :-1]])
    case("Concat_1_default_axis", 1, "(float[2,3] a, float[2,2] b) => (float[2,5] y)",
         "y = Concat (a, b)", [x[:, :, 0].copy(), x[:, :2, 1].copy()],
         [np.concatenate([x[:, :, 0], x[:, :2, 1]], 1)])
    case("Split_2_lengths", 2, "(float[2,3,4] x) => (float[2,1,4] a, float[2,2,4] b)",
         "a, b = Split <axis = 1, split = [1, 2]> (x)", [x], [x[:, :1], x[:, 1:]])
    case("Split_1_lengths_input", 1, "(float[2,3,4] x, float[2] n) => (float[2,1,4] a, float[2,2,4] b)",
         "a, b = Split <axis = 1> (x, n)", [x, np.array([1, 2], np.float32)], [x[:, :1], x[:, 1:]])
    case("Split_11_equal", 11, "(float[2,3,4] x) => (float[2,3,2] a, float[2,3,2] b)",
         "a, b = Split <axis = -1> (x)", [x], [x[..., :2], x[..., 2:]])
    case("Split_13_equal", 13, "(float[2,3,4] x) => (float[1,3,4] a, float[1,3,4] b)",
         "a, b = Split (x)", [x], [x[:1], x[1:]])
    tiles = [np.array(3, np.float32), np.array(1, np.float32)]
    case("Tile_1", 1, "(float[2,3,4] x, float t, float a) => (float[2,9,4] y)", "y = Tile (x, t, a)",
         [x, *tiles], [np.tile(x, (1, 3, 1))])
    case("Pad_1", 1, "(float[2,3,4] x) => (float[3,3,7] y)",
         "y = Pad <paddings = [0, 0, 1, 1, 0, 2], value = 1.5> (x)", [x],
         [np.pad(x, [(0, 1), (0, 0), (1, 2)], constant_values=1.5)])
    case("Pad_2_reflect", 2, "(float[2,3,4] x) => (float[2,3,6] y)",
         'y = Pad <pads = [0, 0, 1, 0, 0, 1], mode = "reflect"> (x)', [x],
         [np.pad(x, [(0, 0), (0, 0), (1, 1)], mode="reflect")])
    case("Pad_2_negative", 2, "(float[2,3,4] x) => (float[2,3,4] y)",
         "y = Pad <pads = [0, 0, -1, 0, 0, 1]> (x)", [x],
         [np.pad(x[:, :, 1:], [(0, 0), (0, 0), (0, 1)])])


def reduce():
    x = floats(2, 3, 4)
    for version in (1, 11, 12):
        case(f"ReduceSum_{version}", version, "(float[2,3,4] x) => (float[2,4] y)",
             "y = ReduceSum <axes = [1], keepdims = 0> (x)", [x], [x.sum(1)])
    for op, f in (("ReduceMean", np.mean), ("ReduceMax", np.max), ("ReduceMin", np.min),
                  ("ReduceProd", np.prod), ("ReduceL1", lambda v, a: np.abs(v).sum(a)),
                  ("ReduceL2", lambda v, a: np.sqrt((v * v).sum(a))),
                  ("ReduceSumSquare", lambda v, a: (v * v).sum(a)),
                  ("ReduceLogSumExp", lambda v, a: np.log(np.exp(v).sum(a)))):
        case(f"{op}_13", 13, "(float[2,3,4] x) => (float[3] y)",
             f"y = {op} <axes = [-1, 0], keepdims = 0> (x)", [x],
             [np.asarray(f(x, (0, 2)), np.float32)])
    case("ReduceLogSum_1_all", 1, "(float[2,3,4] x) => (float[1,1,1] y)", "y = ReduceLogSum (x)",
         [np.abs(x)], [np.log(np.abs(x).sum(keepdims=True))])
    n = np.array([[1, 20, 3], [400, 5, 6]], np.int32)
    case("ReduceLogSum_18_integers", 18, "(int32[2,3] x) => (int32[2,1] y)",
         "a = Constant <value = int64[1] {1}> () y = ReduceLogSum (x, a)", [n],
         [np.log(n.sum(1, keepdims=True)).astype(np.int32)], runtime=False)


def gather_scatter():
    x, updates = floats(3, 3), floats(2, 3)
    indices = np.array([[1, 0, 2], [0, 2, 1]], np.int64)
    expected = x.copy()
    np.put_along_axis(expected, indices, updates, 0)
    for version in (9, 11):
        case(f"Scatter_{version}", version,
             "(float[3,3] x, int64[2,3] i, float[2,3] u) => (float[3,3] y)", "y = Scatter (x, i, u)",
             [x, indices, updates], [expected], runtime=version == 9)
    order = np.argsort(-x, 1, kind="stable")[:, :2]
    case("TopK_1", 1, "(float[3,3] x) => (float[3,2] y, int64[3,2] i)", "y, i = TopK <k = 2> (x)",
         [x], [np.take_along_axis(x, order, 1), order])
    ids = np.array([0, -1, 2, 3], np.int64)
    hot = np.array([[5, 2, 2], [2, 2, 2], [2, 2, 5], [2, 2, 2]], np.float32)
    # ONNX Runtime counts negative indices from the end here, too; the text says off.
    case("OneHot_9_negative", 9, "(int64[4] x, int64 d, float[2] v) => (float[4,3] y)",
         "y = OneHot (x, d, v)", [ids, np.array(3), np.array([2, 5], np.float32)], [hot],
         runtime=False)


def normalization():
    x, (scale, bias, mean) = floats(2, 3, 2, 2), (floats(3), floats(3), floats(3))
    var = np.abs(floats(3)) + 0.5

    def normal(v, m, s):
        at = lambda p: p.reshape(1, -1, 1, 1)
        return (v - at(m)) / np.sqrt(at(s) + np.float32(1e-5)) * at(scale) + at(bias)

    five = "(float[2,3,2,2] x, float[3] s, float[3] b, float[3] m, float[3] v)"
    for version, attributes in ((1, "<is_test = 1, consumed_inputs = [0, 0, 0, 1, 1]>"),
                                (6, "<is_test = 1>"), (7, ""), (9, "")):
        case(f"BatchNormalization_{version}", version, f"{five} => (float[2,3,2,2] y)",
             f"y = BatchNormalization {attributes} (x, s, b, m, v)", [x, scale, bias, mean, var],
             [normal(x, mean, var)])
    m, s = x.mean((0, 2, 3)), x.var((0, 2, 3))
    training = [normal(x, m, s), mean * 0.75 + m * 0.25, var * 0.75 + s * 0.25, m, s]
    for version in (7, 9):
        case(f"BatchNormalization_{version}_training", version,
             f"{five} => (float[2,3,2,2] y, float[3] rm, float[3] rv, float[3] sm, float[3] sv)",
             "y, rm, rv, sm, sv = BatchNormalization <momentum = 0.75> (x, s, b, m, v)",
             [x, scale, bias, mean, var], training, runtime=False)
    wide = [floats(3, 2), floats(3, 2), floats(3, 2), np.abs(floats(3, 2)) + 0.5]
    x3 = floats(4, 3, 2)
    per = "(float[4,3,2] x, float[3,2] s, float[3,2] b, float[3,2] m, float[3,2] v)"
    case("BatchNormalization_7_per_activation", 7, f"{per} => (float[4,3,2] y)",
         "y = BatchNormalization <spatial = 0> (x, s, b, m, v)", [x3, *wide],
         [(x3 - wide[2]) / np.sqrt(wide[3] + np.float32(1e-5)) * wide[0] + wide[1]])
    m, s = x3.mean(0), x3.var(0)
    case("BatchNormalization_7_per_activation_training", 7,
         f"{per} => (float[4,3,2] y, float[3,2] rm, float[3,2] rv, float[3,2] sm, float[3,2] sv)",
         "y, rm, rv, sm, sv = BatchNormalization <spatial = 0> (x, s, b, m, v)", [x3, *wide],
         [(x3 - m) / np.sqrt(s + np.float32(1e-5)) * wide[0] + wide[1],
          wide[2] * 0.9 + m * 0.1, wide[3] * 0.9 + s * 0.1, m, s], runtime=False)
    x4, gs, gb = floats(2, 6, 2, 2), floats(2), floats(2)
    groups = x4.reshape(2, 2, -1)
    normalized = (groups - groups.mean(2, keepdims=True)) / np.sqrt(
        groups.var(2, keepdims=True) + np.float32(1e-5))
    expected = (normalized * gs[:, None] + gb[:, None]).reshape(x4.shape)
    for shape in ("2,6,2,2", ""):
        case(f"GroupNormalization_18{'' if shape else '_unknown_rank'}", 18,
             f"(float[{shape}] x, float[2] s, float[2] b) => (float[{shape}] y)",
             "y = GroupNormalization <num_groups = 2> (x, s, b)", [x4, gs, gb], [expected])
    case("InstanceNormalization_1", 1, "(float[2,3,2,2] x, float[3] s, float[3] b) => (float[2,3,2,2] y)",
         "y = InstanceNormalization <consumed_inputs = [0, 0, 0]> (x, s, b)", [x, scale, bias],
         [(x - x.mean((2, 3), keepdims=True)) / np.sqrt(x.var((2, 3), keepdims=True) + 1e-5)
          * scale.reshape(1, 3, 1, 1) + bias.reshape(1, 3, 1, 1)])


def dropout():
    x = floats(2, 3)
    ones = np.ones((2, 3), np.float32)
    case("Dropout_1_test", 1, "(float[2,3] x) => (float[2,3] y)",
         "y = Dropout <is_test = 1, ratio = 0.25, consumed_inputs = [0]> (x)", [x], [x])
    case("Dropout_6_training_all_kept", 6, "(float[2,3] x) => (float[2,3] y, float[2,3] m)",
         "y, m = Dropout <ratio = 0.0> (x)", [x], [x, ones], runtime=False)
    case("Dropout_7_mask", 7, "(float[2,3] x) => (float[2,3] y, float[2,3] m)",
         "y, m = Dropout <ratio = 0.25> (x)", [x], [x, ones], runtime=False)
    case("Dropout_10_mask", 10, "(float[2,3] x) => (float[2,3] y, bool[2,3] m)",
         "y, m = Dropout <ratio = 0.25> (x)", [x], [x, ones.astype(bool)], runtime=False)


def pool():
    x = floats(1, 2, 4, 4)
    windows = np.abs(np.stack([x[..., :-1, :-1], x[..., :-1, 1:], x[..., 1:, :-1], x[..., 1:, 1:]]))
    for name, p in (("whole", 3.0), ("fraction", 2.5)):
        case(f"LpPool_1_{name}", 1, "(float[1,2,4,4] x) => (float[1,2,3,3] y)",
             f"y = LpPool <kernel_shape = [2, 2], strides = [1, 1], p = {p}> (x)", [x],
             [(windows ** p).sum(0) ** (1 / p)])
        case(f"GlobalLpPool_1_{name}", 1, "(float[1,2,4,4] x) => (float[1,2,1,1] y)",
             f"y = GlobalLpPool <p = {p}> (x)", [x],
             [(np.abs(x) ** p).sum((2, 3), keepdims=True) ** (1 / p)])


def resize():
    x = np.arange(8, dtype=np.float32).reshape(1, 1, 2, 4)
    big = x.repeat(2, 2).repeat(3, 3)
    case("Upsample_1", 1, "(float[1,1,2,4] x) => (float[1,1,4,12] y)",
         "y = Upsample <height_scale = 2.0, width_scale = 3.0> (x)", [x], [big])
    case("Upsample_7", 7, "(float[1,1,2,4] x) => (float[1,1,4,12] y)",
         "y = Upsample <scales = [1.0, 1.0, 2.0, 3.0]> (x)", [x], [big])
    line = np.array([[[[0.0, 0.5, 1, 1.5, 2, 2.5, 3, 3]]]], np.float32)
    case("Upsample_7_linear", 7, "(float[1,1,1,4] x) => (float[1,1,1,8] y)",
         'y = Upsample <scales = [1.0, 1.0, 1.0, 2.0], mode = "linear"> (x)', [x[:, :, :1]], [line])
    scales = np.array([1, 1, 2, 3], np.float32)
    for version in (9, 13):
        case(f"Upsample_{version}", version, "(float[1,1,2,4] x, float[4] s) => (float[1,1,4,12] y)",
             "y = Upsample (x, s)", [x, scales], [big], runtime=version == 9)
    case("Resize_10_enlarge", 10, "(float[1,1,2,4] x, float[4] s) => (float[] y)",
         "y = Resize (x, s)", [x, scales], [big])
    case("Resize_10_shrink", 10, "(float[1,1,2,4] x, float[4] s) => (float[] y)",
         "y = Resize (x, s)", [x, np.array([1, 1, 0.6, 0.6], np.float32)],
         [np.array([[[[0, 2]]]], np.float32)])
    case("Resize_10_both", 10, "(float[1,1,2,4] x, float[4] s) => (float[] y)",
         "y = Resize (x, s)", [x, np.array([1, 1, 2, 0.6], np.float32)],
         [x[..., [0, 0, 1, 1], :][..., [0, 2]]])
    case("Resize_10_linear", 10, "(float[1,1,1,4] x, float[4] s) => (float[] y)",
         'y = Resize <mode = "linear"> (x, s)', [x[:, :, :1], np.array([1, 1, 1, 2], np.float32)],
         [line])
    empty = 'r = Constant <value = float[0] {}> () e = Constant <value = float[0] {}> ()'
    case("Resize_11_sizes", 11, "(float[1,1,2,4] x, int64[4] n) => (float[1,1,4,12] y)",
         f'{empty} y = Resize <coordinate_transformation_mode = "asymmetric", nearest_mode = "floor">'
         " (x, r, e, n)", [x, np.array([1, 1, 4, 12])], [big])
    half = np.array([1, 1, 1, 2], np.float32)
    for rounding, f in (("floor", np.floor), ("round_prefer_floor", lambda v: np.ceil(v - 0.5))):
        pixels = np.clip(f((np.arange(8) + 0.5) / 2), 0, 3).astype(int)
        case(f"Resize_11_tf_half_pixel_for_nn_{rounding}", 11,
             "(float[1,1,1,4] x, float[4] s) => (float[] y)",
             'r = Constant <value = float[0] {}> () y = Resize <coordinate_transformation_mode = '
             f'"tf_half_pixel_for_nn", nearest_mode = "{rounding}"> (x, r, s)',
             [x[:, :, :1], half], [x[:, :, :1][..., pixels]])
    image = floats(1, 1, 4, 4)
    grid = np.array([[[[-1, -1], [1, 1], [0, 0]]]], np.float32)
    corners = np.array([[[[image[0, 0, 0, 0], image[0, 0, 3, 3], image[0, 0, 1:3, 1:3].mean()]]]])
    case("GridSample_16_bilinear", 16, "(float[1,1,4,4] x, float[1,1,3,2] g) => (float[1,1,1,3] y)",
         'y = GridSample <align_corners = 1, mode = "bilinear"> (x, g)', [image, grid], [corners])
    case("GridSample_16_default_mode", 16,
         "(float[1,1,4,4] x, float[1,1,3,2] g) => (float[1,1,1,3] y)",
         "y = GridSample <align_corners = 1> (x, g)", [image, grid], [corners])
    # Whole pixels: bins of one sample in their middle, not moved by half a pixel.
    ramp = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    case("RoiAlign_10", 10, "(float[1,1,4,4] x, float[1,4] r, int64[1] b) => (float[1,1,2,2] y)",
         "y = RoiAlign <output_height = 2, output_width = 2, sampling_ratio = 1> (x, r, b)",
         [ramp, np.array([[0, 0, 2, 2]], np.float32), np.array([0])],
         [np.array([[[[2.5, 3.5], [6.5, 7.5]]]], np.float32)])


def recurrent():
    x, w, r = floats(3, 2, 2), floats(1, 4, 2), floats(1, 4, 4)
    h = np.zeros((2, 4))
    states = []
    for step in x:
        h = np.tanh(step @ w[0].T + h @ r[0].T)
        states.append(h)
    for version in (1, 7):
        attribute = "output_sequence = 1, " if version == 1 else ""
        case(f"RNN_{version}", version,
             "(float[3,2,2] x, float[1,4,2] w, float[1,4,4] r) => (float[3,1,2,4] y, float[1,2,4] h)",
             f"y, h = RNN <{attribute}hidden_size = 4> (x, w, r)", [x, w, r],
             [np.stack(states)[:, None].astype(np.float32), h[None].astype(np.float32)])
    wg, rg = floats(1, 12, 2), floats(1, 12, 4)
    sigmoid = lambda v: 1 / (1 + np.exp(-v))
    h = np.zeros((2, 4))
    for step in x:
        wz, wr, wh = (step @ wg[0, i * 4:i * 4 + 4].T for i in range(3))
        rz, rr, rh = (rg[0, i * 4:i * 4 + 4].T for i in range(3))
        z, reset = sigmoid(wz + h @ rz), sigmoid(wr + h @ rr)
        h = (1 - z) * np.tanh(wh + (reset * h) @ rh) + z * h
    for version in (1, 3):
        spelling = "foward" if version == 1 else "forward"
        case(f"GRU_{version}", version,
             "(float[3,2,2] x, float[1,12,2] w, float[1,12,4] r) => (float[1,2,4] h)",
             f'n, h = GRU <hidden_size = 4, direction = "{spelling}", output_sequence = 0> (x, w, r)',
             [x, wg, rg], [h[None].astype(np.float32)])


def signal():
    x = floats(2, 4, 3, 1)
    def dft(axis):
        y = np.fft.fft(x[..., 0], axis=axis)
        return np.stack([y.real, y.imag], -1).astype(np.float32)
    case("DFT_17_default_axis", 17, "(float[2,4,3,1] x) => (float[2,4,3,2] y)", "y = DFT (x)", [x],
         [dft(1)])
    case("DFT_17_axis", 17, "(float[2,4,3,1] x) => (float[2,4,3,2] y)", "y = DFT <axis = 2> (x)", [x],
         [dft(2)])


def control_flow():
    init, x = floats(2, 2), floats(2, 3, 2)
    body = ("body = b (float[2] s, float[2] e) => (float[2] n, float[2] o) "
            "{ n = Add (s, e) o = Identity (n) }")
    sums = init[:, None] + np.cumsum(x, 1)
    case("Scan_8", 8, "(float[2,2] i, float[2,3,2] x) => (float[2,2] n, float[2,3,2] o)",
         f'n, o = Scan <num_scan_inputs = 1, {body}> ("", i, x)', [init, x], [sums[:, -1], sums])
    backward = init[:, None] + np.cumsum(x[:, ::-1], 1)
    case("Scan_8_reverse", 8, "(float[2,2] i, float[2,3,2] x) => (float[2,2] n, float[2,3,2] o)",
         f'n, o = Scan <num_scan_inputs = 1, directions = [1], {body}> ("", i, x)', [init, x],
         [backward[:, -1], backward])
    lengths = np.array([1, 3], np.int64)
    short = sums.copy()
    short[0, 1:] = 0
    case("Scan_8_lengths", 8,
         "(int64[2] l, float[2,2] i, float[2,3,2] x) => (float[2,2] n, float[2,3,2] o)",
         f"n, o = Scan <num_scan_inputs = 1, {body}> (l, i, x)", [lengths, init, x],
         [np.stack([sums[0, 0], sums[1, 2]]), short])
    captured = ("body = b (float[2] s, float[2] e) => (float[2] n, float[2] o) "
                "{ t = Mul (e, k) n = Add (s, t) o = Identity (n) }")
    k = floats(2)
    scaled = init[:, None] + np.cumsum(x * k, 1)
    case("Scan_8_capture", 8, "(float[2,2] i, float[2,3,2] x, float[2] k) => (float[2,2] n, float[2,3,2] o)",
         f'n, o = Scan <num_scan_inputs = 1, {captured}> ("", i, x)', [init, x, k],
         [scaled[:, -1], scaled])
    cond, v = np.array(True), floats(2, 2)
    case("If_1_old_bodies", 1, "(bool c, float[2,2] v) => (float[] y)",
         "y = If <then_branch = t () => (float[] p) { p = Unsqueeze <axes = [0]> (v) }, "
         "else_branch = e () => (float[] q) { q = Softmax (v) }> (c)", [cond, v], [v[None]])


def leftover():
    x = floats(1, 2, 4, 5)
    sig = "(float[1,2,4,5] x) => (float[1,2,4,5] y)"
    softplus = lambda v: np.log1p(np.exp(v))
    def add(name, body, expected, signature=sig, inputs=(x,), opset=6):
        case(name, opset, signature, body, list(inputs), [np.asarray(expected)], runtime=False)
    add("Affine", "y = Affine <alpha = 2.0, beta = 0.5> (x)", 2 * x + np.float32(0.5))
    add("ParametricSoftplus", "y = ParametricSoftplus <alpha = 2.0, beta = 0.5> (x)",
        2 * softplus(0.5 * x))
    add("ScaledTanh", "y = ScaledTanh <alpha = 2.0, beta = 0.5> (x)", 2 * np.tanh(0.5 * x))
    add("Scale", "y = Scale <scale = 3.0> (x)", 3 * x)
    add("ImageScaler", "y = ImageScaler <scale = 2.0, bias = [0.5, -1.0]> (x)",
        2 * x + np.array([0.5, -1], np.float32).reshape(1, 2, 1, 1))
    add("ThresholdedRelu", "y = ThresholdedRelu <alpha = 0.5> (x)", np.where(x > 0.5, x, 0))
    add("Crop_border", "y = Crop <border = [1, 2, 1, 0]> (x)", x[:, :, 2:, 1:4],
        "(float[1,2,4,5] x) => (float[] y)")
    add("Crop_scale", "y = Crop <border = [1, 2, 0, 0], scale = [2, 3]> (x)", x[:, :, 2:4, 1:4],
        "(float[1,2,4,5] x) => (float[] y)")
    add("DynamicSlice", "y = DynamicSlice (x, s, e, a)", x[:, :, 1:3, 2:],
        "(float[1,2,4,5] x, int64[2] s, int64[2] e, int64[2] a) => (float[] y)",
        (x, np.array([1, 2]), np.array([3, 100]), np.array([2, 3])))
    add("ConstantFill_shape", "y = ConstantFill <shape = [2, 3], value = 1.5> ()",
        np.full((2, 3), 1.5, np.float32), "() => (float[] y)", ())
    add("ConstantFill_like", "y = ConstantFill <value = 3.0, dtype = 6, extra_shape = [2]> (x)",
        np.full((1, 2, 4, 5, 2), 3, np.int32), "(float[1,2,4,5] x) => (int32[] y)")
    add("ConstantFill_input", "y = ConstantFill <input_as_shape = 1> (n)",
        np.zeros((2, 4), np.float32), "(int32[2] n) => (float[] y)", (np.array([2, 4], np.int32),))
    add("GivenTensorFill", "y = GivenTensorFill <shape = [2, 2], values = [1.0, 2.0, 3.0, 4.0]> ()",
        np.array([[1, 2], [3, 4]], np.float32), "() => (float[] y)", ())
    centered = x - x.mean((2, 3), keepdims=True)
    add("MeanVarianceNormalization", "y = MeanVarianceNormalization (x)",
        centered / np.sqrt(x.var((2, 3), keepdims=True)))
    add("MeanVarianceNormalization_mean_only",
        "y = MeanVarianceNormalization <normalize_variance = 0> (x)", centered)
    add("MeanVarianceNormalization_across",
        "y = MeanVarianceNormalization <across_channels = 1> (x)",
        (x - x.mean((1, 2, 3), keepdims=True)) / np.sqrt(x.var((1, 2, 3), keepdims=True)))
    scale, bias = floats(4, 5), floats(4, 5)
    axes = (2, 3)
    deviation = np.sqrt(x.var(axes, keepdims=True) + 0.01)
    normalized = (x - x.mean(axes, keepdims=True)) / deviation
    layer = "(float[1,2,4,5] x, float[4,5] s, float[4,5] b) => (float[1,2,4,5] y)"
    case("LayerNormalization_of_onnxruntime", 12, layer,
         "y = LayerNormalization <axis = 2, epsilon = 0.01> (x, s, b)", [x, scale, bias],
         [normalized * scale + bias])
    simple = x / np.sqrt((x * x).mean(axes, keepdims=True) + 0.01) * scale
    case("SimplifiedLayerNormalization_of_onnxruntime", 17,
         "(float[1,2,4,5] x, float[4,5] s) => (float[1,2,4,5] y)",
         "y = SimplifiedLayerNormalization <axis = 2, epsilon = 0.01> (x, s)", [x, scale], [simple])


def ml():
    imports = '"" : 12, "ai.onnx.ml" : 1'
    words = np.array(["b", "x", "a"], dtype=object)
    case("LabelEncoder_1_to_numbers", imports, "(string[3] x) => (int64[3] y)",
         'y = ai.onnx.ml.LabelEncoder <classes_strings = ["a", "b"]> (x)', [words],
         [np.array([1, -1, 0])])
    case("LabelEncoder_1_to_strings", imports, "(int64[3] x) => (string[3] y)",
         'y = ai.onnx.ml.LabelEncoder <classes_strings = ["a", "b"]> (x)', [np.array([1, 5, 0])],
         [np.array(["b", "_Unused", "a"], dtype=object)])


DTYPES = {"float32": "FLOAT", "float16": "FLOAT16", "int32": "INT32", "int64": "INT64",
          "bool": "BOOL", "object": "STRING"}


def tensor(array):
    array = np.asarray(array)
    if array.dtype == np.float64:
        array = array.astype(np.float32)
    return {"dtype": DTYPES[str(array.dtype)], "dims": list(array.shape),
            "data": [v if isinstance(v, str) else float(f"{v:.8g}") if array.dtype.kind == "f"
                     else int(v) for v in array.ravel().tolist()]}


def agrees_with_onnxruntime(model, inputs, outputs):
    """None where ONNX Runtime does not take the model."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                               providers=["CPUExecutionProvider"])
        names = [value.name for value in session.get_inputs()]
        got = session.run(None, dict(zip(names, inputs)))
    except Exception:  # one of many types that it throws
        return None
    for a, b in zip(got, outputs):
        if a.dtype == object:
            if a.tolist() != b.tolist():
                return False
        elif a.shape != np.shape(b) or not np.allclose(a, b, rtol=1e-4, atol=1e-5):
            return False
    return True


def main():
    for family in (elementwise, softmax, layout, reduce, gather_scatter, normalization, dropout,
                   pool, resize, recurrent, signal, control_flow, leftover, ml):
        family()
    rows, confirmed = [], 0
    for name, text, inputs, outputs, runtime in CASES:
        model = onnx.parser.parse_model(text)
        agrees = agrees_with_onnxruntime(model, inputs, outputs) if runtime else None
        if agrees is False:
            raise SystemExit(f"{name}: ONNX Runtime disagrees")
        confirmed += agrees is True
        rows.append({"name": name, "model": text, "inputs": [tensor(v) for v in inputs],
                     "outputs": [tensor(v) for v in outputs]})
    text = "[\n" + ",\n".join(
        " {" + ",\n  ".join(f"{json.dumps(key)}: {json.dumps(row[key])}" for key in row) + "}"
        for row in rows) + "\n]"
    path = pathlib.Path(__file__).parent / "data" / "upgrade_cases.json"
    path.write_text(text + "\n")
    print(f"{len(rows)} cases, {confirmed} confirmed by ONNX Runtime")


if __name__ == "__main__":
    main()
