"""Slice."""
from case import b, case, f32, i32, i64, i8, join, ramp, text


def cases():
    return join(
        case("plain", "Slice", [ramp((4, 5)), i64([1, 0]), i64([3, 4])]),
        case("axes_steps", "Slice", [ramp((4, 5)), i64([0, 1]), i64([4, 5]), i64([1, 0]), i64([2, 1])]),
        case("negative_axis_int32", "Slice", [ramp((4, 5)), i32([1]), i32([-1]), i32([-1])]),
        case("past_the_end", "Slice", [ramp((4, 5)), i64([1, 2]), i64([1000, 1000])]),
        case("reverse", "Slice", [ramp((4, 5)), i64([-1]), i64([-1000]), i64([1]), i64([-1])]),
        case("reverse_by_2", "Slice", [ramp((4, 5)), i64([3, 4]), i64([0, -100]), i64([0, 1]), i64([-2, -3])]),
        case("empty", "Slice", [ramp((4, 5)), i64([3]), i64([1]), i64([0])]),
        case("start_past_end", "Slice", [ramp((4, 5)), i64([9]), i64([20]), i64([0])]),
        case("steps_no_axes", "Slice", [ramp((4, 5)), i64([0, 4]), i64([4, 0]), None, i64([3, -2])]),
        case(
            "int64_min_end", "Slice",
            [ramp((4, 5)), i64([2147483648]), i64([-9223372036854775808]), i64([0]), i64([-1])],
        ),
        case("empty_input", "Slice", [f32([], (0, 3)), i64([0, 1]), i64([5, 2])]),
        case("empty_reverse", "Slice", [f32([], (0, 3)), i64([5]), i64([-9]), i64([0]), i64([-1])]),
        case("whole", "Slice", [ramp((4, 5)), i64([0, 0]), i64([4, 5])]),
        case("string", "Slice", [text(["a", "b", "c", "d"]), i64([3]), i64([-9]), i64([0]), i64([-2])]),
        case("huge_step", "Slice", [ramp((4, 5)), i64([1]), i64([4]), i64([0]), i64([4611686018427387904])]),
        case("int8_inner", "Slice", [i8(ramp((3, 2, 2))), i64([1]), i64([2]), i64([1])]),
        case("bool", "Slice", [b([1, 0, 0, 1]), i64([0]), i64([4]), i64([0]), i64([3])]),
        case("complex64", "Slice", [[complex(0, 1), complex(2, 0), complex(3, 0)], i64([1]), i64([3])], types="c64"),
        case("no_axes", "Slice", [ramp((4, 5)), i64([]), i64([])]),
        case("last_row", "Slice", [ramp((2, 3, 4)), i64([-1]), i64([9223372036854775807]), i64([1])]),
    )
