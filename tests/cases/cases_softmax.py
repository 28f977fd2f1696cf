"""Softmax, LogSoftmax and Hardmax."""
from case import FLOATS, INF, NAN, case, f32, join

X1 = [
    [
        [
            [-0.024143614, 0.66838104, -0.33986956, 1.0521264], [-0.0053995606, 0.58338237, -1.2908932, 0.34668005],
            [-1.6882042, -2.0353289, -0.3044769, -0.8999276],
        ],
        [
            [0.1640528, 2.2447567, -0.83172315, -0.62394357], [0.20540394, 0.4930133, -0.17640607, -0.20593034],
            [0.702463, 0.51990765, -1.0336758, -0.07918132],
        ],
    ],
]


def cases():
    return join(
        case("softmax", "Softmax", [[[1, 2, 3], [-1, 0, 1]]], types=FLOATS),
        case("logsoftmax", "LogSoftmax", [[[1, 2, 3], [-1, 0, 1]]], types=FLOATS),
        # Large values: log 2 is not lost beside them.
        case("logsoftmax_large_rows", "LogSoftmax", [[[1e+08, 1e+08]]]),
        case("logsoftmax_large_columns", "LogSoftmax", [[[1e+08, -1e+08], [1e+08, -1e+08]]], axis=0),
        case("hardmax", "Hardmax", [[[1, 2, 3], [-1, 0, 1]]], types=FLOATS),
        case("softmax_axis_3_p", "Softmax", X1, axis=0),
        case("softmax_axis_4_p", "Softmax", X1, axis=1),
        case("softmax_axis_5_p", "Softmax", X1, axis=2),
        case("softmax_axis_2_n", "Softmax", X1, axis=-1),
        case("softmax_axis_1_n", "Softmax", X1, axis=-2),
        case("softmax_empty", "Softmax", [f32([], (0, 3))]),
        case("softmax_empty_axis", "Softmax", [[[], []]]),
        case("logsoftmax_axis_3_p", "LogSoftmax", X1, axis=0),
        case("logsoftmax_axis_4_p", "LogSoftmax", X1, axis=1),
        case("logsoftmax_axis_5_p", "LogSoftmax", X1, axis=2),
        case("logsoftmax_axis_2_n", "LogSoftmax", X1, axis=-1),
        case("logsoftmax_axis_1_n", "LogSoftmax", X1, axis=-2),
        case("logsoftmax_empty", "LogSoftmax", [f32([], (0, 3))]),
        case("logsoftmax_empty_axis", "LogSoftmax", [[[], []]]),
        case("hardmax_axis_3_p", "Hardmax", X1, axis=0),
        case("hardmax_axis_4_p", "Hardmax", X1, axis=1),
        case("hardmax_axis_5_p", "Hardmax", X1, axis=2),
        case("hardmax_axis_2_n", "Hardmax", X1, axis=-1),
        case("hardmax_axis_1_n", "Hardmax", X1, axis=-2),
        case("hardmax_empty", "Hardmax", [f32([], (0, 3))]),
        case("hardmax_empty_axis", "Hardmax", [[[], []]]),
        case("large", "Softmax", [[[10000, 10001, 10002]]]),
        case("minus_infinity", "Softmax", [[-INF, 0, 0]]),
        case("all_minus_infinity", "Softmax", [[-INF, -INF]]),
        case("nan", "Softmax", [[NAN, 0]]),
        case("one", "Softmax", [[5]]),
        case("hardmax_ties", "Hardmax", [[[3, 3, 1], [0, 0, 0]]]),
        case("log_large", "LogSoftmax", [[[0, 10000]]], by="onnxruntime"),
    )
