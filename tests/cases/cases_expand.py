"""Expand and Tile."""
from case import b, case, f16, f32, f64, i64, i8, join, ramp, text


def cases():
    return join(
        case("rows", "Expand", [[[0], [1], [2]], i64([3, 4])]),
        case("new_axes", "Expand", [[0, 1, 2], i64([2, 2, 3])]),
        case("smaller_shape", "Expand", [ramp((2, 3)), i64([3])]),
        case("one_in_shape", "Expand", [[[[0, 1]], [[2, 3]]], i64([1, 3, 1])]),
        case("scalar", "Expand", [7, [2, 2]], types="i64"),
        case("same", "Expand", [[[0, 1], [2, 3]], i64([2, 2])]),
        case("to_scalar", "Expand", [i8(7), i64([])]),
        case("empty", "Expand", [f32([], (0, 1)), i64([0, 4])]),
        case("zero_target", "Expand", [[[0, 1]], i64([0, 2])]),
        case("string", "Expand", [text([["a"], ["b"]]), i64([2, 3])]),
        case("bool", "Expand", [b([[1], [0]]), i64([2, 2])]),
        case("float16", "Expand", [f16([1.5]), i64([3])], rtol=1e-05),
        case("complex128", "Expand", [[complex(1, 2)], i64([2])], types="c128"),
        case("matrix", "Tile", [ramp((2, 3)), i64([2, 2])]),
        case("once", "Tile", [ramp((2, 3)), i64([1, 1])]),
        case("zero", "Tile", [ramp((2, 3)), i64([2, 0])]),
        case("many_times_nothing", "Tile", [f32([], (0, 0)), i64([4611686018427387904, 4611686018427387904])]),
        case("tile_scalar", "Tile", [0, i64([])]),
        case("tile_string", "Tile", [text(["a", "bc"]), i64([3])]),
        case("three_axes", "Tile", [[[[0, 1]], [[2, 3]]], i64([1, 3, 2])], types="i16"),
        case("tile_empty", "Tile", [f64([], (0, 2)), i64([2, 3])]),
    )
