"""MaxPool, AveragePool, LpPool, GlobalAveragePool, GlobalMaxPool, GlobalLpPool and MaxUnpool."""
from case import FLOATS, INF, NAN, case, f32, full, i64, i8, join, spread, u8

X1 = [
    [
        [
            [[-32, 4, 28, -4], [12, 16, 24, -36], [36, 28, -4, 0], [36, 36, -16, 28]],
            [[-28, 0, 12, -36], [28, -24, -12, -36], [8, 12, 8, -20], [-4, -32, -28, 36]],
        ],
    ],
]
X2 = [
    [
        [[[6, -18, 18], [18, 18, 18]], [[-12, 6, -12], [6, 0, -12]], [[-18, 0, 0], [18, 0, 0]]],
        [[[0, 18, -12], [18, -12, -6]], [[0, 6, 12], [6, 18, -6]], [[-12, -6, -18], [18, 12, -18]]],
    ],
]


def cases():
    return join(
        case(
            "max_plain", "MaxPool", [spread((1, 2, 4, 5), 1, -9, 10)], kernel_shape=[2, 2], types=FLOATS,
            rtol=1e-05,
        ),
        case(
            "max_strided", "MaxPool", [spread((1, 2, 4, 5), 1, -9, 10)], kernel_shape=[3, 2], strides=[1, 2],
            types=FLOATS, rtol=1e-05,
        ),
        case(
            "max_padded", "MaxPool", [spread((1, 2, 4, 5), 1, -9, 10)], kernel_shape=[3, 3], pads=[1, 1, 1, 1],
            strides=[2, 2], types="f32 i8",
        ),
        case("max_asymmetric", "MaxPool", [spread((1, 2, 4, 5), 1, -9, 10)], kernel_shape=[2, 3], pads=[1, 0, 0, 2]),
        case("max_dilated", "MaxPool", [spread((1, 2, 4, 5), 1, -9, 10)], dilations=[2, 3], kernel_shape=[2, 2]),
        case(
            "max_ceil", "MaxPool", [spread((1, 2, 4, 5), 1, -9, 10)], ceil_mode=1, kernel_shape=[3, 2],
            strides=[2, 2],
        ),
        case(
            "max_ceil_dropped", "MaxPool", [spread((1, 2, 4, 5), 1, -9, 10)], ceil_mode=1, kernel_shape=[1, 1],
            strides=[2, 2],
        ),
        case(
            "max_same_upper", "MaxPool", [spread((1, 2, 4, 5), 1, -9, 10)], auto_pad="SAME_UPPER",
            kernel_shape=[2, 2], strides=[3, 2],
        ),
        case(
            "max_same_lower", "MaxPool", [spread((1, 2, 4, 5), 1, -9, 10)], auto_pad="SAME_LOWER",
            kernel_shape=[2, 2], strides=[1, 2], by="onnxruntime",
        ),
        case("max_valid", "MaxPool", [spread((1, 2, 4, 5), 1, -9, 10)], auto_pad="VALID", kernel_shape=[3, 3]),
        case(
            "max_indices", "MaxPool", [spread((1, 2, 4, 5), 1, -9, 10)], kernel_shape=[2, 2], pads=[0, 1, 0, 0],
            strides=[2, 2], outputs=2,
        ),
        case(
            "max_indices_column_major", "MaxPool", [spread((1, 2, 4, 4), 2, -9, 10)], kernel_shape=[2, 2],
            storage_order=1, strides=[2, 2], outputs=2,
        ),
        case("max_indices_tie", "MaxPool", [full((1, 1, 3, 3), 1)], kernel_shape=[2, 2], outputs=2),
        case("max_uint8", "MaxPool", [u8(spread((1, 1, 4, 4), 3, 0, 255))], kernel_shape=[2, 2], strides=[2, 2]),
        case("max_one_axis", "MaxPool", [spread((2, 2, 5), 4, -9, 10)], kernel_shape=[3], pads=[1, 1], strides=[2]),
        case("max_three_axes", "MaxPool", [spread((1, 1, 2, 3, 3), 5, -9, 10)], kernel_shape=[2, 1, 2]),
        case("max_negative_infinity", "MaxPool", [[[[-INF, -INF, 1]]]], kernel_shape=[2]),
        # NaN is the maximum, as in PyTorch; the evaluator passes it over.
        case("max_nan", "MaxPool", [[[[NAN, 3, 1, 2, NAN]]]], kernel_shape=[2], expected=[[[[NAN, 3, 2, NAN]]]]),
        case("max_empty_batch", "MaxPool", [f32([], (0, 2, 4, 4))], kernel_shape=[2, 2]),
        case(
            "max_wide", "MaxPool", [spread((1, 1, 3, 37), 6, -9, 10)], kernel_shape=[3, 3], pads=[1, 1, 1, 1],
            strides=[2, 2],
        ),
        case("average_plain", "AveragePool", X1, kernel_shape=[2, 2], types=FLOATS, rtol=1e-05),
        case("average_strided", "AveragePool", X1, kernel_shape=[2, 4], strides=[2, 1], types=FLOATS, rtol=1e-05),
        case("average_padded", "AveragePool", X1, kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]),
        case(
            "average_include_pad", "AveragePool", X1, count_include_pad=1, kernel_shape=[3, 3], pads=[1, 1, 1, 1],
            strides=[2, 2],
        ),
        case("average_asymmetric", "AveragePool", X1, count_include_pad=1, kernel_shape=[2, 3], pads=[1, 0, 0, 2]),
        case("average_same_upper", "AveragePool", X1, auto_pad="SAME_UPPER", kernel_shape=[3, 2], strides=[2, 3]),
        case("average_dilated", "AveragePool", X1, dilations=[2, 2], kernel_shape=[2, 2], pads=[1, 0, 0, 1]),
        case("average_ceil", "AveragePool", X1, ceil_mode=1, kernel_shape=[3, 3], strides=[2, 2]),
        case(
            "average_one_axis", "AveragePool", [[[[-36, 0, 0, -36, -24, -24], [12, -12, 36, 0, 12, -12]]]],
            kernel_shape=[4], pads=[2, 1],
        ),
        case(
            "average_three_axes", "AveragePool",
            [[[[[[-4, -4], [12, -12]], [[8, 12], [8, 0]], [[0, -12], [12, 0]]]]]], kernel_shape=[2, 2, 1],
        ),
        case("average_empty_batch", "AveragePool", [f32([], (0, 2, 4, 4))], kernel_shape=[2, 2]),
        case("lp_two", "LpPool", [spread((1, 2, 3, 4), 10, -3, 4)], kernel_shape=[2, 2]),
        case(
            "lp_one", "LpPool", [spread((1, 2, 3, 4), 10, -3, 4)], kernel_shape=[2, 3], p=1, strides=[1, 2],
            types=FLOATS, rtol=1e-05,
        ),
        case(
            "lp_three_padded", "LpPool", [spread((1, 2, 3, 4), 10, -3, 4)], kernel_shape=[2, 2], p=3,
            pads=[1, 0, 0, 1], strides=[2, 1],
        ),
        case("lp_dilated", "LpPool", [spread((1, 2, 3, 4), 10, -3, 4)], dilations=[2, 1], kernel_shape=[2, 2], p=1),
        case("global_average", "GlobalAveragePool", X2, types=FLOATS, rtol=1e-05),
        case("global_max", "GlobalMaxPool", X2, types=FLOATS, rtol=1e-05),
        case("global_lp_one", "GlobalLpPool", X2, p=1, types=FLOATS, by="onnxruntime", rtol=1e-05),
        case("global_lp_two", "GlobalLpPool", X2, by="onnxruntime"),
        case("global_lp_three", "GlobalLpPool", X2, p=3, by="onnxruntime"),
        case(
            "global_average_one_axis", "GlobalAveragePool",
            [[[[12, 12, 12, -4], [-12, -8, 12, -8]], [[-12, 0, 8, -8], [-4, -4, 8, 4]]]],
        ),
        case("global_max_three_axes", "GlobalMaxPool", [spread((1, 2, 2, 2, 2), 13, -3, 4)], by="onnxruntime"),
        case("global_average_one_element", "GlobalAveragePool", [[[[[-2]], [[0]]], [[[-3]], [[2]]]]]),
        case("global_average_empty_batch", "GlobalAveragePool", [f32([], (0, 2, 3, 3))], by="onnxruntime"),
        case(
            "global_max_negative", "GlobalMaxPool",
            [
                [
                    [
                        [[-7, -19, -19], [-19, -19, -19]], [[-13, -7, -13], [-7, -1, -13]],
                        [[-19, -1, -1], [-19, -1, -1]],
                    ],
                    [
                        [[-1, -19, -13], [-19, -13, -7]], [[-1, -7, -13], [-7, -19, -7]],
                        [[-13, -7, -19], [-19, -13, -19]],
                    ],
                ],
            ],
        ),
        case(
            "unpool_plain", "MaxUnpool", [[[[[5, 6], [7, 8]]]], i64([[[[5, 7], [13, 15]]]])], kernel_shape=[2, 2],
            strides=[2, 2], types=FLOATS, rtol=1e-05,
        ),
        case(
            "unpool_output_shape", "MaxUnpool",
            [[[[[5, 6], [7, 8]]]], i64([[[[5, 7], [13, 15]]]]), i64([1, 1, 5, 5])], kernel_shape=[2, 2],
            strides=[2, 2],
        ),
        case(
            "unpool_one_axis", "MaxUnpool",
            [spread((2, 2, 2), 15, -3, 4), i64([[[1, 2], [4, 7]], [[8, 11], [13, 14]]])], kernel_shape=[2],
            strides=[2],
        ),
        case(
            "unpool_pads", "MaxUnpool", [[[[[5, 6], [7, 8]]]], i64([[[[0, 2], [6, 8]]]])], kernel_shape=[2, 2],
            pads=[0, 0, 1, 1], strides=[2, 2],
        ),
        case(
            "max_plain_int8", "MaxPool", [i8(spread((1, 2, 4, 5), 1, -9, 10))], kernel_shape=[2, 2],
            by="onnxruntime",
        ),
    )
