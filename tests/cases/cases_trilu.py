"""Trilu and ReverseSequence."""
from case import b, case, f32, full, i64, i8, join, ramp, text


def cases():
    return join(
        case("upper", "Trilu", [ramp((3, 4), 1)], upper=1),
        case("lower", "Trilu", [ramp((3, 4), 1)], upper=0),
        case("k1", "Trilu", [ramp((3, 4), 1), i64(1)], upper=1),
        case("k_1", "Trilu", [ramp((3, 4), 1), i64(-1)], upper=1),
        case("lower_k1", "Trilu", [ramp((3, 4), 1), i64(1)], upper=0),
        case("lower_k_2", "Trilu", [ramp((3, 4), 1), i64(-2)], upper=0),
        case("far", "Trilu", [ramp((3, 4), 1), i64(4611686018427387904)], upper=1),
        case("far_down", "Trilu", [ramp((3, 4), 1), i64(-9223372036854775808)], upper=0, by="onnxruntime"),
        case("batch", "Trilu", [ramp((2, 3, 2)), 0], upper=1, types="i64"),
        case("bool", "Trilu", [b(full((2, 2), 1))], upper=1),
        case("empty", "Trilu", [f32([], (2, 0, 3)), i64(1)], upper=1),
        # The evaluator multiplies with a mask of numbers.
        case(
            "string", "Trilu", [[["a", "b"], ["c", "d"]]], upper=1, expected=[[["a", "b"], ["", "d"]]],
            types="text",
        ),
        case("no_columns", "Trilu", [i8([[], [], []])], upper=1),
        case("time_first", "ReverseSequence", [ramp((4, 3)), i64([0, 4, 2])], batch_axis=1, time_axis=0),
        case("batch_first", "ReverseSequence", [ramp((3, 4)), i64([1, 3, 4])], batch_axis=0, time_axis=1),
        case("inner", "ReverseSequence", [ramp((2, 3, 2)), i64([2, 3])], batch_axis=0, time_axis=1),
        case(
            "reverse_sequence_string", "ReverseSequence", [text([["a", "b"], ["c", "d"]]), i64([2, 1])],
            batch_axis=0, time_axis=1,
        ),
        case("reverse_sequence_empty", "ReverseSequence", [f32([], (0, 3)), i64([])], batch_axis=0, time_axis=1),
        case(
            "int8_time_first_inner", "ReverseSequence", [i8(ramp((3, 2, 2))), i64([3, 2])], batch_axis=1,
            time_axis=0,
        ),
    )
