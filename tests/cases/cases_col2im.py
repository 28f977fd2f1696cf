"""Col2Im and MaxRoiPool."""
from case import case, i64, join, ramp

X1 = [
    [
        [
            [
                [0, 0.84, 0.91, 0.14, -0.76, -0.96], [-0.28, 0.66, 0.99, 0.41, -0.54, -1],
                [-0.54, 0.42, 0.99, 0.65, -0.29, -0.96], [-0.75, 0.15, 0.91, 0.84, -0.01, -0.85],
                [-0.91, -0.13, 0.76, 0.96, 0.27, -0.66],
            ],
        ],
        [
            [
                [-0.99, -0.4, 0.55, 1, 0.53, -0.43], [-0.99, -0.64, 0.3, 0.96, 0.75, -0.16],
                [-0.92, -0.83, 0.02, 0.85, 0.9, 0.12], [-0.77, -0.95, -0.26, 0.67, 0.99, 0.4],
                [-0.56, -1, -0.52, 0.44, 0.99, 0.64],
            ],
        ],
    ],
    [[0, 0, 0, 5, 4], [1, 1, 1, 3, 3], [0, 4, 3, 9, 9]],
]


def cases():
    return join(
        case("overlap", "Col2Im", [ramp((1, 4, 4), 1), i64([3, 3]), i64([2, 2])]),
        case("channels", "Col2Im", [ramp((2, 4, 2)), i64([2, 2]), i64([1, 2])]),
        case("strides", "Col2Im", [ramp((1, 4, 4)), i64([5, 5]), i64([2, 2])], strides=[2, 2]),
        case("dilations", "Col2Im", [ramp((1, 4, 2), 1), i64([3, 4]), i64([2, 2])], dilations=[2, 2]),
        case("col2im", "Col2Im", [ramp((1, 2, 3)), i64([4]), i64([2])], types="f32 i64"),
        case("pads_2d", "Col2Im", [ramp((1, 4, 9)), i64([2, 2]), i64([2, 2])], pads=[1, 1, 1, 1]),
        case("max_roi_pool", "MaxRoiPool", X1, pooled_shape=[2, 3], by="onnxruntime"),
        case("max_roi_pool_scaled", "MaxRoiPool", X1, pooled_shape=[2, 2], spatial_scale=0.5, by="onnxruntime"),
    )
