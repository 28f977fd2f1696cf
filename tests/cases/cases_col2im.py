"""Col2Im and MaxRoiPool."""
from case import case, i64, join, ramp, wave

X1 = [
    wave((2, 1, 5, 6)),
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
