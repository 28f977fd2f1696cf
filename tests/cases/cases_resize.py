"""Resize."""
from case import case, f16, f32, f64, i32, i64, i8, join, ramp, u8, wave

IMAGE = wave((1, 1, 4, 5), scale=9, digits=1)
X1 = [IMAGE, None, [1, 1, 0.6, 0.6]]
X2 = [[[[[0, 7.6, 8.2, 1.3], [-8.6, -2.5, 5.9, 8.9], [-4.9, -9, -4.8, 3.8]]]], None, [1, 1, 1.5, 0.7]]
X3 = [IMAGE, None, [1, 1, 0.6, 1.7]]


def cases():
    return join(
        case(
            "linear_up_half_pixel", "Resize", [[[[[1, 2], [5, 6]]]], None, [1, 1, 2, 2]],
            coordinate_transformation_mode="half_pixel", mode="linear",
        ),
        case("linear_down_half_pixel", "Resize", X1, coordinate_transformation_mode="half_pixel", mode="linear"),
        case("cubic_half_pixel", "Resize", X2, coordinate_transformation_mode="half_pixel", mode="cubic"),
        case("nearest_half_pixel", "Resize", X3, coordinate_transformation_mode="half_pixel", mode="nearest"),
        case(
            "linear_up_half_pixel_symmetric", "Resize", [[[[[1, 2], [5, 6]]]], None, [1, 1, 2, 2]],
            coordinate_transformation_mode="half_pixel_symmetric", mode="linear",
        ),
        case(
            "linear_down_half_pixel_symmetric", "Resize", X1, coordinate_transformation_mode="half_pixel_symmetric",
            mode="linear",
        ),
        case(
            "cubic_half_pixel_symmetric", "Resize", X2, coordinate_transformation_mode="half_pixel_symmetric",
            mode="cubic",
        ),
        case(
            "nearest_half_pixel_symmetric", "Resize", X3, coordinate_transformation_mode="half_pixel_symmetric",
            mode="nearest",
        ),
        case(
            "linear_up_pytorch_half_pixel", "Resize", [[[[[1, 2], [5, 6]]]], None, [1, 1, 2, 2]],
            coordinate_transformation_mode="pytorch_half_pixel", mode="linear",
        ),
        case(
            "linear_down_pytorch_half_pixel", "Resize", X1, coordinate_transformation_mode="pytorch_half_pixel",
            mode="linear",
        ),
        case(
            "cubic_pytorch_half_pixel", "Resize", X2, coordinate_transformation_mode="pytorch_half_pixel",
            mode="cubic",
        ),
        case(
            "nearest_pytorch_half_pixel", "Resize", X3, coordinate_transformation_mode="pytorch_half_pixel",
            mode="nearest",
        ),
        case(
            "linear_up_align_corners", "Resize", [[[[[1, 2], [5, 6]]]], None, [1, 1, 2, 2]],
            coordinate_transformation_mode="align_corners", mode="linear",
        ),
        case(
            "linear_down_align_corners", "Resize", X1, coordinate_transformation_mode="align_corners",
            mode="linear",
        ),
        case("cubic_align_corners", "Resize", X2, coordinate_transformation_mode="align_corners", mode="cubic"),
        case("nearest_align_corners", "Resize", X3, coordinate_transformation_mode="align_corners", mode="nearest"),
        case(
            "linear_up_asymmetric", "Resize", [[[[[1, 2], [5, 6]]]], None, [1, 1, 2, 2]],
            coordinate_transformation_mode="asymmetric", mode="linear",
        ),
        case("linear_down_asymmetric", "Resize", X1, coordinate_transformation_mode="asymmetric", mode="linear"),
        case("cubic_asymmetric", "Resize", X2, coordinate_transformation_mode="asymmetric", mode="cubic"),
        case("nearest_asymmetric", "Resize", X3, coordinate_transformation_mode="asymmetric", mode="nearest"),
        case(
            "nearest_mode_round_prefer_floor", "Resize", [ramp((1, 1, 4, 4), 1), None, None, i64([1, 1, 7, 3])],
            mode="nearest", nearest_mode="round_prefer_floor",
        ),
        case(
            "nearest_mode_round_prefer_ceil", "Resize", [ramp((1, 1, 4, 4), 1), None, None, i64([1, 1, 7, 3])],
            mode="nearest", nearest_mode="round_prefer_ceil",
        ),
        case(
            "nearest_mode_floor", "Resize", [ramp((1, 1, 4, 4), 1), None, None, i64([1, 1, 7, 3])], mode="nearest",
            nearest_mode="floor",
        ),
        case(
            "nearest_mode_ceil", "Resize", [ramp((1, 1, 4, 4), 1), None, None, i64([1, 1, 7, 3])], mode="nearest",
            nearest_mode="ceil",
        ),
        case(
            "cubic_exclude", "Resize", [ramp((1, 1, 4, 4), 1), None, [1, 1, 0.8, 2]], exclude_outside=1,
            mode="cubic",
        ),
        case("cubic_a", "Resize", [ramp((1, 1, 4, 4), 1), None, [1, 1, 0.8, 2]], cubic_coeff_a=-0.5, mode="cubic"),
        case("antialias_linear", "Resize", X1, antialias=1, mode="linear"),
        case(
            "antialias_up_linear", "Resize", [ramp((1, 1, 4, 4), 1), None, [1, 1, 1.5, 0.3]], antialias=1,
            mode="linear",
        ),
        case(
            "antialias_exclude_linear", "Resize", [ramp((1, 1, 4, 4), 1), None, None, i64([1, 1, 1, 3])],
            antialias=1, exclude_outside=1, mode="linear",
        ),
        case("antialias_cubic", "Resize", X1, antialias=1, mode="cubic"),
        case(
            "antialias_up_cubic", "Resize", [ramp((1, 1, 4, 4), 1), None, [1, 1, 1.5, 0.3]], antialias=1,
            mode="cubic",
        ),
        case(
            "antialias_exclude_cubic", "Resize", [ramp((1, 1, 4, 4), 1), None, None, i64([1, 1, 1, 3])],
            antialias=1, exclude_outside=1, mode="cubic",
        ),
        case(
            "crop", "Resize", [ramp((1, 1, 4, 4), 1), [0, 0, 0.4, 0.6, 1, 1, 0.6, 0.8], None, i64([1, 1, 3, 3])],
            coordinate_transformation_mode="tf_crop_and_resize", mode="linear",
        ),
        case(
            "crop_extrapolates", "Resize",
            [ramp((1, 1, 4, 4), 1), [0, 0, 0.4, 0.6, 1, 1, 1.2, 1.7], None, i64([1, 1, 3, 3])],
            coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=10.0, mode="linear",
        ),
        case(
            "crop_nearest", "Resize", [ramp((1, 1, 4, 4), 1), [-0.4, 0.6, 1.2, 1.7], None, i64([3, 3])],
            axes=[2, 3], coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=-2.0,
            mode="nearest",
        ),
        case(
            "crop_cubic_axes", "Resize", [ramp((1, 1, 4, 4), 1), [0.4, 0.6, 0.8, 0.3], None, i64([3, 3])],
            axes=[3, 2], coordinate_transformation_mode="tf_crop_and_resize", mode="cubic",
        ),
        case(
            "not_larger", "Resize", [ramp((1, 1, 4, 4), 1), None, None, i64([7, 8])], axes=[2, 3],
            keep_aspect_ratio_policy="not_larger", mode="nearest",
        ),
        case(
            "not_smaller", "Resize", [IMAGE, None, None, i64([3, 8])], axes=[3, 2],
            keep_aspect_ratio_policy="not_smaller", mode="linear",
        ),
        case("channels_last", "Resize", [IMAGE, None, [2, 0.5]], axes=[1, 2], mode="linear"),
        case("batch_axis", "Resize", [ramp((1, 4, 4), 1), None, [2, 1, 1]], mode="linear"),
        case(
            "three_axes", "Resize",
            [
                [
                    [
                        [[[0, 0.33333334], [0.6666667, 1]], [[1.3333334, 1.6666666], [2, 2.3333333]]],
                        [[[2.6666667, 3], [3.3333333, 3.6666667]], [[4, 4.3333335], [4.6666665, 5]]],
                    ],
                ],
                None, [1, 1, 2, 1.5, 2],
            ],
            mode="linear",
        ),
        case("one_axis", "Resize", [[[1, 2, 4]], None, [1, 2]], mode="cubic"),
        case("uint8", "Resize", [u8(ramp((1, 1, 3, 3), 0, 28)), None, [1, 1, 2, 2]], mode="linear"),
        case("int8_cubic_saturates", "Resize", [i8([[127, -128, 127, -128]]), None, [1, 3]], mode="cubic"),
        case("float64", "Resize", [f64(ramp((1, 1, 2, 3))), None, [1, 1, 3, 2]], mode="linear"),
        case("int32", "Resize", [i32([[0, 1000003, 2000006, 3000009]]), None, [1, 2]], mode="linear"),
        case("same", "Resize", [ramp((1, 1, 4, 4), 1), None, [1, 1, 1, 1]], mode="linear"),
        case("vector", "Resize", [[0, 1, 2], None, [2]], mode="linear"),
        # The evaluator computes with numbers alone.
        case(
            "string_nearest", "Resize", [[["a", "b"]], None, f32([1, 2])], mode="nearest",
            expected=[[["a", "a", "b", "b"]]], types="text",
        ),
        case("bool_nearest", "Resize", [[1, 0], None, f32([2])], mode="nearest", expected=[[1, 1, 0, 0]], types="b"),
        case("float16", "Resize", [f16([0, 1, 3]), None, [2]], mode="linear", rtol=1e-05),
        case("empty", "Resize", [f32([], (0, 2)), None, [1, 2]], mode="linear"),
        case("to_nothing", "Resize", [[[0, 1], [2, 3]], None, None, i64([2, 0])], mode="nearest"),
        case("empty_roi_input", "Resize", [[[[[1, 2], [5, 6]]]], [], [1, 1, 2, 2]], mode="nearest"),
    )
