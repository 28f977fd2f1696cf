"""LRN and LpNormalization."""
from case import FLOATS, case, f32, join

X1 = [[[[[-3, 0], [5, 3]], [[3, -3], [-2, -3]], [[3, 0], [-3, 3]], [[2, 4], [1, -4]], [[4, -3], [-5, 3]]]]]


def cases():
    return join(
        case("lrn", "LRN", X1, alpha=0.5, size=3, types=FLOATS, by="onnxruntime"),
        # The standard's formula: of an even size the window reaches further to the right.
        case(
            "even", "LRN", X1, alpha=0.5, beta=0.5, bias=2.0, size=2,
            expected=[
                [
                    [
                        [[-1.1766968, 0], [1.6439899, 1.1766968]],
                        [[1.1766968, -1.4552138], [-0.8728716, -1.1766968]],
                        [[1.3093073, 0], [-1.4142135, 1.0444659]],
                        [[0.75592893, 1.3926213], [0.34299716, -1.3926213]],
                        [[1.6329932, -1.4552138], [-1.7407765, 1.4552138]],
                    ],
                ],
            ],
        ),
        case("wide", "LRN", X1, size=9, by="onnxruntime"),
        case("size_1", "LRN", X1, alpha=1.0, size=1, by="onnxruntime"),
        case("lp_empty_axis", "LpNormalization", [f32([], (2, 0, 3))], axis=1),
        case("lp_1", "LpNormalization", [[[3, 4, 0], [-1, 0, -2]]], p=1, types=FLOATS, by="onnxruntime"),
        case("lp_2", "LpNormalization", [[[3, 4, 0], [-1, 0, -2]]], p=2, types=FLOATS),
        case("lp_axis_0", "LpNormalization", [[[3, 4, 0], [-1, 0, -2]]], axis=0),
        case("lp_zero", "LpNormalization", [[0, 0]]),
    )
