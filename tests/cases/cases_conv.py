"""Conv, ConvTranspose and DeformConv."""
from case import FLOATS, case, f32, full, join, ramp, spread

X1 = [
    [
        [[-1.5, 0, -1.5], [-1, 0.5, 1.5], [-0.5, 0.5, -1]], [[0, 0, 0], [-1, 0, 1], [-1.5, 0, -1]],
        [[1.5, -1.5, -1.5], [1.5, -1, 1], [-1.5, -0.5, -1.5]], [[1.5, 0.5, -0.5], [0.5, 0.5, -0.5], [1, 1, -1]],
        [[-0.5, 0, 1], [-1, -0.5, -0.5], [-1.5, -0.5, -1.5]], [[-1, 1.5, 1.5], [1.5, 1.5, 1], [-1.5, 1, 1.5]],
        [[0, -1.5, 1.5], [1.5, -1.5, -1], [1, 1, 1.5]], [[-1.5, 0.5, 1.5], [-1, -1, -0.5], [-1, 1, -0.5]],
    ],
]


def cases():
    return join(
        case(
            "plain", "Conv", [spread((1, 2, 4, 4), 30, -3, 4), spread((3, 2, 3, 3), 31, -3, 4)], types=FLOATS,
            rtol=1e-05,
        ),
        case(
            "bias", "Conv", [spread((1, 2, 4, 4), 30, -3, 4), spread((2, 2, 3, 3), 32, -3, 4), [1, 1]],
            types=FLOATS, rtol=1e-05,
        ),
        case(
            "padded", "Conv", [spread((1, 2, 4, 4), 30, -3, 4), spread((1, 2, 3, 3), 34, -3, 4)], pads=[1, 1, 1, 1],
        ),
        case(
            "asymmetric_pads", "Conv", [spread((1, 2, 4, 4), 30, -3, 4), spread((1, 2, 3, 3), 35, -3, 4)],
            pads=[0, 1, 2, 0],
        ),
        case(
            "strided", "Conv", [spread((1, 2, 4, 4), 30, -3, 4), spread((1, 2, 3, 2), 36, -3, 4)],
            pads=[1, 0, 1, 0], strides=[2, 1],
        ),
        case(
            "dilated", "Conv", [spread((1, 2, 4, 4), 30, -3, 4), spread((1, 2, 2, 2), 37, -3, 4)], dilations=[2, 3],
            pads=[1, 1, 1, 1],
        ),
        case(
            "grouped", "Conv", [spread((1, 2, 4, 4), 30, -3, 4), spread((4, 1, 2, 2), 38, -3, 4), [1, -3, 1, 0]],
            group=2,
        ),
        case(
            "depthwise", "Conv", [spread((1, 2, 4, 4), 30, -3, 4), spread((2, 1, 3, 3), 40, -3, 4)], group=2,
            pads=[1, 1, 1, 1],
        ),
        case(
            "pointwise", "Conv",
            [spread((2, 3, 2, 2), 41, -3, 4), spread((4, 3, 1, 1), 42, -3, 4), [-3, -3, 2, -1]],
        ),
        case(
            "kernel_one_strided", "Conv", [spread((1, 2, 4, 4), 30, -3, 4), [[[[-1]], [[3]]], [[[-1]], [[3]]]]],
            strides=[2, 2],
        ),
        case(
            "same_upper", "Conv", [spread((1, 2, 4, 4), 30, -3, 4), spread((1, 2, 3, 2), 45, -3, 4)],
            auto_pad="SAME_UPPER", strides=[2, 3],
        ),
        case(
            "same_lower", "Conv", [spread((1, 2, 4, 4), 30, -3, 4), spread((1, 2, 3, 2), 45, -3, 4)],
            auto_pad="SAME_LOWER", strides=[2, 3],
        ),
        case(
            "same_upper_dilated", "Conv", [spread((1, 2, 4, 4), 30, -3, 4), spread((1, 2, 2, 2), 46, -3, 4)],
            auto_pad="SAME_UPPER", dilations=[2, 2],
        ),
        case(
            "valid", "Conv", [spread((1, 2, 4, 4), 30, -3, 4), spread((1, 2, 2, 2), 47, -3, 4)], auto_pad="VALID",
            kernel_shape=[2, 2],
        ),
        case(
            "one_axis", "Conv", [spread((2, 2, 6), 48, -3, 4), spread((2, 2, 3), 49, -3, 4), [0, -3]], pads=[2, 1],
            strides=[2], types=FLOATS, rtol=1e-05,
        ),
        case(
            "three_axes", "Conv", [spread((1, 1, 3, 2, 3), 51, -3, 4), spread((2, 1, 2, 2, 2), 52, -3, 4)],
            pads=[0, 1, 0, 1, 0, 1], types=FLOATS, rtol=1e-05,
        ),
        case("four_axes", "Conv", [spread((1, 1, 2, 2, 2, 2), 53, -3, 4), spread((1, 1, 2, 1, 2, 2), 54, -3, 4)]),
        case("empty_batch", "Conv", [f32([], (0, 2, 4, 4)), spread((3, 2, 3, 3), 55, -3, 4)]),
        case("window_is_image", "Conv", [spread((1, 2, 4, 4), 30, -3, 4), spread((2, 2, 4, 4), 56, -3, 4)]),
        case("pads_exceed_kernel", "Conv", [[[[[3]]]], [[[[-2, 2], [1, -3]]]]], pads=[3, 3, 3, 3]),
        case("wide", "Conv", [ramp((1, 1, 2, 40)), [[[[1, 2, 3]]]]], pads=[0, 1, 0, 1]),
        case(
            "transpose_plain", "ConvTranspose", [spread((1, 2, 3, 3), 60, -3, 4), spread((2, 2, 2, 2), 61, -3, 4)],
            types=FLOATS, rtol=1e-05,
        ),
        case(
            "transpose_bias", "ConvTranspose",
            [spread((1, 2, 3, 3), 60, -3, 4), spread((2, 1, 3, 3), 62, -3, 4), [0]], strides=[2, 2], types=FLOATS,
            rtol=1e-05,
        ),
        case(
            "transpose_pads", "ConvTranspose", [spread((1, 2, 3, 3), 60, -3, 4), spread((2, 1, 3, 3), 64, -3, 4)],
            pads=[1, 0, 0, 2], strides=[2, 3],
        ),
        case(
            "transpose_output_padding", "ConvTranspose",
            [spread((1, 2, 3, 3), 60, -3, 4), spread((2, 1, 3, 3), 65, -3, 4)], output_padding=[1, 1],
            pads=[1, 1, 1, 1], strides=[2, 2],
        ),
        case(
            "transpose_output_shape", "ConvTranspose",
            [spread((1, 2, 3, 3), 60, -3, 4), spread((2, 1, 3, 3), 66, -3, 4)], output_shape=[10, 8],
            strides=[3, 2],
        ),
        case(
            "transpose_output_shape_upper", "ConvTranspose",
            [spread((1, 2, 3, 3), 60, -3, 4), spread((2, 1, 3, 3), 67, -3, 4)], auto_pad="SAME_UPPER",
            output_shape=[6, 6], strides=[2, 2],
        ),
        case(
            "transpose_output_shape_lower", "ConvTranspose",
            [spread((1, 2, 3, 3), 60, -3, 4), spread((2, 1, 3, 3), 67, -3, 4)], auto_pad="SAME_LOWER",
            output_shape=[6, 6], strides=[2, 2],
        ),
        case(
            "transpose_same_upper", "ConvTranspose",
            [spread((1, 2, 3, 3), 60, -3, 4), spread((2, 1, 3, 3), 68, -3, 4)], auto_pad="SAME_UPPER",
            strides=[2, 2],
        ),
        case(
            "transpose_same_lower", "ConvTranspose",
            [spread((1, 2, 3, 3), 60, -3, 4), spread((2, 1, 3, 3), 68, -3, 4)], auto_pad="SAME_LOWER",
            strides=[2, 2],
        ),
        case(
            "transpose_dilated", "ConvTranspose",
            [spread((1, 2, 3, 3), 60, -3, 4), spread((2, 1, 2, 2), 69, -3, 4)], dilations=[2, 1],
        ),
        case(
            "transpose_grouped", "ConvTranspose",
            [spread((1, 2, 3, 3), 60, -3, 4), spread((2, 2, 2, 2), 70, -3, 4), [0, 0, -3, -1]], group=2,
            by="onnxruntime",
        ),
        case(
            "transpose_depthwise_strided", "ConvTranspose",
            [spread((1, 2, 3, 3), 60, -3, 4), spread((2, 1, 2, 2), 72, -3, 4)], group=2, strides=[2, 2],
        ),
        case(
            "transpose_one_axis", "ConvTranspose", [spread((2, 2, 3), 73, -3, 4), spread((2, 2, 3), 74, -3, 4)],
            pads=[1, 0], strides=[2],
        ),
        case(
            "transpose_three_axes", "ConvTranspose",
            [spread((1, 1, 2, 2, 2), 75, -3, 4), spread((1, 1, 2, 2, 2), 76, -3, 4)], strides=[1, 2, 1],
        ),
        case(
            "transpose_empty_batch", "ConvTranspose", [f32([], (0, 2, 3, 3)), spread((2, 2, 2, 2), 61, -3, 4)],
            by="onnxruntime",
        ),
        case(
            "deform_zero_offset", "DeformConv",
            [spread((1, 2, 4, 4), 30, -3, 4), spread((1, 2, 2, 2), 80, -3, 4), full((1, 8, 3, 3), 0)],
            kernel_shape=[2, 2], types=FLOATS, rtol=1e-05,
        ),
        case(
            "deform_fractional", "DeformConv",
            [spread((1, 2, 4, 4), 30, -3, 4), spread((1, 2, 2, 2), 80, -3, 4), X1], kernel_shape=[2, 2],
        ),
        case(
            "deform_bias", "DeformConv",
            [spread((1, 2, 4, 4), 30, -3, 4), spread((2, 2, 2, 2), 82, -3, 4), X1, [-1, 3]], kernel_shape=[2, 2],
        ),
        case(
            "deform_mask", "DeformConv",
            [
                spread((1, 2, 4, 4), 30, -3, 4), spread((1, 2, 2, 2), 80, -3, 4), X1, None,
                [
                    [
                        [[0.75, 0.75, 0], [1, 0.5, 0.75], [0.5, 1, 0.25]],
                        [[0.25, 0.25, 0.75], [0.5, 0.75, 1], [0.25, 1, 0.25]],
                        [[0, 1, 0], [0.25, 0, 0.25], [0.75, 0.5, 0]],
                        [[0.25, 0, 0.25], [1, 0.75, 0.25], [0.25, 0, 0.5]],
                    ],
                ],
            ],
            kernel_shape=[2, 2],
        ),
        case(
            "deform_groups", "DeformConv",
            [
                spread((1, 2, 4, 4), 30, -3, 4), spread((2, 1, 2, 2), 86, -3, 4),
                [
                    [
                        [[0.5, -1.5], [1.5, 0]], [[0, 0], [0.5, 0]], [[-1.5, 1.5], [0, 1]], [[-1.5, -1], [0, 0.5]],
                        [[0.5, -1], [1, 0]], [[-1.5, -1.5], [-1.5, 0]], [[1.5, -1.5], [-1.5, 1.5]],
                        [[-0.5, 1.5], [-1, -1]], [[1.5, -0.5], [-0.5, -1.5]], [[0.5, -1], [-0.5, -0.5]],
                        [[-0.5, 1], [1.5, -1]], [[1, -0.5], [-0.5, 0.5]], [[1.5, 1.5], [0.5, 0.5]],
                        [[-0.5, 1], [1.5, 1]], [[0.5, -1.5], [-1.5, 1]], [[0.5, 1.5], [1, -0.5]],
                    ],
                ],
            ],
            group=2, kernel_shape=[2, 2], offset_group=2, pads=[0, 0, 1, 1], strides=[2, 2],
        ),
        case(
            "deform_dilated", "DeformConv",
            [
                spread((1, 2, 4, 4), 30, -3, 4), spread((1, 2, 2, 2), 88, -3, 4),
                [
                    [
                        [[0.25, 0], [-0.75, 0.5]], [[0.25, -0.5], [0.5, 0]], [[-0.25, -0.25], [-0.75, -0.5]],
                        [[0.25, 0], [0.5, 0]], [[0.5, 0.5], [0, -0.25]], [[0.25, 0.75], [0.5, -0.75]],
                        [[0, -0.75], [-0.5, -0.75]], [[0.25, 0.75], [-0.25, 0.25]],
                    ],
                ],
            ],
            dilations=[2, 2], kernel_shape=[2, 2],
        ),
    )
