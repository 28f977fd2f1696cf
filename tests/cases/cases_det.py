"""Det."""
from case import FLOATS, case, f32, join


def cases():
    return join(
        case("det", "Det", [[[1, 2], [3, 4]]], types=FLOATS),
        case(
            "batch", "Det", [[[[3, -1, -2], [-2, -1, -3], [1, -1, 3]], [[2, -1, 1], [2, -2, -2], [-3, -3, -1]]]],
            atol=1e-05,
        ),
        case("singular", "Det", [[[1, 2], [2, 4]]]),
        case("pivot", "Det", [[[0, 1], [1, 0]]]),
        case("size_0", "Det", [f32([], (0, 0))]),
        case("empty", "Det", [f32([], (0, 2, 2))]),
    )
