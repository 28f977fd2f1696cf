"""GridSample and AffineGrid."""
from case import NAN, case, f32, i64, join, ramp

X1 = [
    [
        [
            [[1, 0.54, -0.42, -0.99], [-0.65, 0.28, 0.96, 0.75], [-0.15, -0.91, -0.84, 0]],
            [[0.84, 0.91, 0.14, -0.76], [-0.96, -0.28, 0.66, 0.99], [0.41, -0.55, -1, -0.53]],
        ],
    ],
    [[[[-1, -1], [-0.5, -0.5], [0.2, 0.7]], [[1, 1], [1.4, -0.3], [-2.2, 1.7]]]],
]
X2 = [[[[[-0.5, 0.2, 1], [0, 0, 0]]], [[[1, -1, 0.3], [1.5, 0, 0]]]]]
X3 = [[1, 0.54, -0.42, -0.99], [-0.65, 0.28, 0.96, 0.75], [-0.15, -0.91, -0.84, 0]]
X4 = [[[[1, 0.2, 0.3], [-0.5, 1, 0]], [[2, 0, 0], [0, 0.5, -1]]], i64([2, 1, 2, 3])]


def cases():
    return join(
        case(
            "linear_zeros", "GridSample", X1, align_corners=0, mode="linear", padding_mode="zeros", rtol=0.0001,
            atol=1e-05,
        ),
        case(
            "linear_zeros_corners", "GridSample", X1, align_corners=1, mode="linear", padding_mode="zeros",
            rtol=0.0001, atol=1e-05,
        ),
        case(
            "linear_border", "GridSample", X1, align_corners=0, mode="linear", padding_mode="border", rtol=0.0001,
            atol=1e-05,
        ),
        case(
            "linear_border_corners", "GridSample", X1, align_corners=1, mode="linear", padding_mode="border",
            rtol=0.0001, atol=1e-05,
        ),
        case(
            "linear_reflection", "GridSample", X1, align_corners=0, mode="linear", padding_mode="reflection",
            rtol=0.0001, atol=1e-05,
        ),
        case(
            "linear_reflection_corners", "GridSample", X1, align_corners=1, mode="linear",
            padding_mode="reflection", rtol=0.0001, atol=1e-05,
        ),
        case(
            "nearest_zeros", "GridSample", X1, align_corners=0, mode="nearest", padding_mode="zeros", rtol=0.0001,
            atol=1e-05,
        ),
        case(
            "nearest_zeros_corners", "GridSample", X1, align_corners=1, mode="nearest", padding_mode="zeros",
            rtol=0.0001, atol=1e-05,
        ),
        case(
            "nearest_border", "GridSample", X1, align_corners=0, mode="nearest", padding_mode="border", rtol=0.0001,
            atol=1e-05,
        ),
        case(
            "nearest_reflection", "GridSample", X1, align_corners=0, mode="nearest", padding_mode="reflection",
            rtol=0.0001, atol=1e-05,
        ),
        case(
            "cubic_zeros", "GridSample", X1, align_corners=0, mode="cubic", padding_mode="zeros", rtol=0.0001,
            atol=1e-05,
        ),
        case(
            "cubic_zeros_corners", "GridSample", X1, align_corners=1, mode="cubic", padding_mode="zeros",
            by="reference", rtol=0.0001, atol=1e-05,
        ),
        case(
            "cubic_border", "GridSample", X1, align_corners=0, mode="cubic", padding_mode="border", rtol=0.0001,
            atol=1e-05,
        ),
        case(
            "cubic_border_corners", "GridSample", X1, align_corners=1, mode="cubic", padding_mode="border",
            by="onnxruntime", rtol=0.0001, atol=1e-05,
        ),
        case(
            "cubic_reflection", "GridSample", X1, align_corners=0, mode="cubic", padding_mode="reflection",
            rtol=0.0001, atol=1e-05,
        ),
        case(
            "cubic_reflection_corners", "GridSample", X1, align_corners=1, mode="cubic", padding_mode="reflection",
            rtol=0.0001, atol=1e-05,
        ),
        case("volume_linear", "GridSample", [ramp((1, 1, 2, 3, 2)), X2], mode="linear", rtol=0.0001, atol=1e-05),
        case("volume_nearest", "GridSample", [ramp((1, 1, 2, 3, 2)), X2], mode="nearest", rtol=0.0001, atol=1e-05),
        # The evaluator pads strings with the number 0.
        case(
            "string_nearest", "GridSample", [[[[["a", "b"]]]], f32([[[[-0.5, 0], [0.5, 0], [3, 0]]]])],
            mode="nearest", expected=[[[[["a", "b", ""]]]]], types="text",
        ),
        # The evaluator has no index for NaN, which is outside of the image.
        case("nan_coordinate", "GridSample", [[[X3]], [[[[NAN, 0]]]]], expected=[[[[[0]]]]]),
        case(
            "no_samples", "GridSample",
            [
                [[X3, [[0.84, 0.91, 0.14, -0.76], [-0.96, -0.28, 0.66, 0.99], [0.41, -0.55, -1, -0.53]]]],
                f32([], (1, 0, 2, 2)),
            ],
            by="onnxruntime",
        ),
        case("float64", "GridSample", [[[[[1, 2, 4]]]], [[[[0.5, 0]]]]], align_corners=1, types="f64"),
        case("affine", "AffineGrid", X4, align_corners=0),
        case("affine_corners", "AffineGrid", X4, align_corners=1),
        case(
            "affine_volume", "AffineGrid",
            [[[[1, 0, 0.1, 0.3], [0, 2, 0, -0.2], [0.3, 0, 1, 0]]], i64([1, 1, 2, 2, 2])],
        ),
    )
