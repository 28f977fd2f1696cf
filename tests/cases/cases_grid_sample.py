"""GridSample and AffineGrid."""
import numpy as np

from case import NAN, case, f32, i64, join, ramp, wave

X1 = [
    wave((1, 2, 3, 4), np.cos),
    [[[[-1, -1], [-0.5, -0.5], [0.2, 0.7]], [[1, 1], [1.4, -0.3], [-2.2, 1.7]]]],
]
X2 = [[[[[-0.5, 0.2, 1], [0, 0, 0]]], [[[1, -1, 0.3], [1.5, 0, 0]]]]]
X3 = wave((3, 4), np.cos)
X4 = [[[[1, 0.2, 0.3], [-0.5, 1, 0]], [[2, 0, 0], [0, 0.5, -1]]], i64([2, 1, 2, 3])]


# Names say the mode, the padding and whether corners are aligned.
IMAGES = [
    "linear_zeros", "linear_zeros_corners", "linear_border", "linear_border_corners", "linear_reflection",
    "linear_reflection_corners", "nearest_zeros", "nearest_zeros_corners", "nearest_border", "nearest_reflection",
    "cubic_zeros", "cubic_zeros_corners", "cubic_border", "cubic_border_corners", "cubic_reflection",
    "cubic_reflection_corners",
]
SOURCES = {"cubic_zeros_corners": "reference", "cubic_border_corners": "onnxruntime"}


def image(name):
    mode, padding, *corners = name.split("_")
    return case(
        name, "GridSample", X1, align_corners=len(corners), mode=mode, padding_mode=padding,
        by=SOURCES.get(name, "double"), rtol=0.0001, atol=1e-05,
    )


def cases():
    return join(
        *map(image, IMAGES),
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
