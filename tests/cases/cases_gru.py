"""GRU."""
from case import FLOATS, case, i32, join, spread


def cases():
    return join(
        case(
            "gru_plain", "GRU",
            [
                spread((3, 2, 2), 11, -64, 65, 0.03125), spread((1, 6, 2), 1, -64, 65, 0.015625),
                spread((1, 6, 2), 2, -64, 65, 0.015625),
            ],
            hidden_size=2, outputs=2, atol=2e-06,
        ),
        case(
            "gru_bias_initial", "GRU",
            [
                spread((3, 2, 2), 30, -64, 65, 0.03125), spread((1, 6, 2), 20, -64, 65, 0.015625),
                spread((1, 6, 2), 21, -64, 65, 0.015625), spread((1, 12), 22, -64, 65, 0.015625), None,
                [[[-0.734375, 0.109375], [-0.546875, -0.921875]]],
            ],
            hidden_size=2, outputs=2, atol=2e-06,
        ),
        case(
            "gru_reverse", "GRU",
            [
                spread((3, 2, 2), 40, -64, 65, 0.03125), spread((1, 6, 2), 30, -64, 65, 0.015625),
                spread((1, 6, 2), 31, -64, 65, 0.015625), spread((1, 12), 32, -64, 65, 0.015625), None,
                [[[-0.5, 0.984375], [0.1875, -0.640625]]],
            ],
            direction="reverse", hidden_size=2, outputs=2, atol=2e-06,
        ),
        case(
            "gru_bidirectional", "GRU",
            [
                [[[1.59375, -1.09375]], [[-1.09375, 1.28125]], [[-0.78125, 0.71875]]],
                spread((2, 6, 2), 40, -64, 65, 0.015625), spread((2, 6, 2), 41, -64, 65, 0.015625),
                spread((2, 12), 42, -64, 65, 0.015625), None, [[[0.4375, 0.703125]], [[0.5625, -0.78125]]],
            ],
            direction="bidirectional", hidden_size=2, outputs=2, by="reference", atol=2e-06,
        ),
        case(
            "gru_sequence_lens", "GRU",
            [
                spread((3, 2, 2), 60, -64, 65, 0.03125), spread((2, 6, 2), 50, -64, 65, 0.015625),
                spread((2, 6, 2), 51, -64, 65, 0.015625), spread((2, 12), 52, -64, 65, 0.015625), i32([3, 1]),
            ],
            direction="bidirectional", hidden_size=2, outputs=2, by="onnxruntime", atol=2e-06,
        ),
        case(
            "gru_reverse_sequence_lens", "GRU",
            [
                spread((3, 2, 2), 70, -64, 65, 0.03125), spread((1, 6, 2), 60, -64, 65, 0.015625),
                spread((1, 6, 2), 61, -64, 65, 0.015625), spread((1, 12), 62, -64, 65, 0.015625), i32([2, 3]),
                [[[-0.6875, 0.296875], [-0.015625, 0.46875]]],
            ],
            direction="reverse", hidden_size=2, outputs=2, by="onnxruntime", atol=2e-06,
        ),
        case(
            "gru_batch_first", "GRU",
            [
                [[[0.84375, 0.46875], [-0.96875, 1]]], spread((2, 6, 2), 70, -64, 65, 0.015625),
                spread((2, 6, 2), 71, -64, 65, 0.015625), spread((2, 12), 72, -64, 65, 0.015625), None,
                [[[-0.53125, -0.484375], [0.0625, 0.40625]]],
            ],
            direction="bidirectional", hidden_size=2, layout=1, outputs=2, atol=2e-06,
        ),
        case(
            "gru_clip", "GRU",
            [
                spread((3, 2, 2), 90, -64, 65, 0.09375), spread((1, 6, 2), 80, -64, 65, 0.015625),
                spread((1, 6, 2), 81, -64, 65, 0.015625), spread((1, 12), 82, -64, 65, 0.015625),
            ],
            clip=0.25, hidden_size=2, outputs=2, by="onnxruntime", atol=2e-06,
        ),
        case(
            "gru_only_last", "GRU",
            [
                spread((3, 2, 2), 100, -64, 65, 0.03125), spread((1, 6, 2), 90, -64, 65, 0.015625),
                spread((1, 6, 2), 91, -64, 65, 0.015625), spread((1, 12), 92, -64, 65, 0.015625),
            ],
            hidden_size=2, outputs="01", atol=2e-06,
        ),
        case(
            "gru_only_sequence", "GRU",
            [
                spread((3, 2, 2), 105, -64, 65, 0.03125), spread((1, 6, 2), 95, -64, 65, 0.015625),
                spread((1, 6, 2), 96, -64, 65, 0.015625), spread((1, 12), 97, -64, 65, 0.015625),
            ],
            hidden_size=2, atol=2e-06,
        ),
        case(
            "gru_one_step", "GRU",
            [
                [[[0]]], spread((1, 9, 1), 100, -64, 65, 0.015625), spread((1, 9, 3), 101, -64, 65, 0.015625),
                spread((1, 18), 102, -64, 65, 0.015625),
            ],
            hidden_size=3, outputs=2, atol=2e-06,
        ),
        case(
            "gru_many_units", "GRU",
            [
                [[[1.78125]], [[-0.40625]]], spread((1, 27, 1), 110, -64, 65, 0.015625),
                spread((1, 27, 9), 111, -64, 65, 0.015625), spread((1, 54), 112, -64, 65, 0.015625),
            ],
            hidden_size=9, outputs="01", atol=2e-06,
        ),
        case(
            "gru_linear_before_reset", "GRU",
            [
                spread((3, 2, 2), 250, -64, 65, 0.03125), spread((1, 6, 2), 240, -64, 65, 0.015625),
                spread((1, 6, 2), 241, -64, 65, 0.015625), spread((1, 12), 242, -64, 65, 0.015625), None,
                [[[0.203125, -0.640625], [0.828125, -0.09375]]],
            ],
            hidden_size=2, linear_before_reset=1, outputs=2, atol=2e-06,
        ),
        case(
            "gru_linear_before_reset_bidirectional", "GRU",
            [
                [[[0.09375, -0.03125]], [[0.875, 1.1875]], [[0.53125, -0.28125]]],
                spread((2, 6, 2), 250, -64, 65, 0.015625), spread((2, 6, 2), 251, -64, 65, 0.015625),
                spread((2, 12), 252, -64, 65, 0.015625), i32([2]), [[[0.6875, 0.546875]], [[-0.4375, -0.421875]]],
            ],
            direction="bidirectional", hidden_size=2, linear_before_reset=1, outputs=2, by="onnxruntime",
            atol=2e-06,
        ),
        case(
            "gru_activations", "GRU",
            [
                spread((3, 2, 2), 270, -64, 65, 0.03125), spread((1, 6, 2), 260, -64, 65, 0.015625),
                spread((1, 6, 2), 261, -64, 65, 0.015625), spread((1, 12), 262, -64, 65, 0.015625),
            ],
            activations=["HardSigmoid", "Softsign"], hidden_size=2, outputs=2, by="onnxruntime", atol=2e-06,
        ),
        case(
            "gru_exact", "GRU", [[[[1]], [[2]]], [[[0], [2], [1]]], [[[0], [0], [0]]]], activation_alpha=[0.25],
            activation_beta=[0.5], activations=["HardSigmoid", "Relu"], hidden_size=1, outputs=2, types=FLOATS,
            by="onnxruntime", rtol=1e-05,
        ),
    )
