"""RNN."""
from case import FLOATS, case, f32, i32, join, spread

X1 = [
    [[[0.71875, -2]], [[-1.34375, 1.59375]]], [[[-0.125, 0.921875], [-0.671875, -0.625]]],
    [[[0.8125, 0.671875], [-0.4375, -0.28125]]], [[-0.75, -0.265625, 0.796875, -0.09375]],
]


def cases():
    return join(
        case(
            "rnn_plain", "RNN",
            [
                spread((3, 2, 2), 11, -64, 65, 0.03125), [[[-0.75, -0.28125], [0.625, -0.640625]]],
                [[[0.40625, -0.796875], [-0.109375, -0.265625]]],
            ],
            hidden_size=2, outputs=2, atol=2e-06,
        ),
        case(
            "rnn_bias_initial", "RNN",
            [
                spread((3, 2, 2), 30, -64, 65, 0.03125), [[[0.15625, -0.984375], [0.859375, 0.625]]],
                [[[0.078125, -0.46875], [-0.484375, -0.765625]]], [[-0.859375, 0.671875, 0.421875, 0.4375]], None,
                [[[-0.734375, 0.109375], [-0.546875, -0.921875]]],
            ],
            hidden_size=2, outputs=2, atol=2e-06,
        ),
        case(
            "rnn_reverse", "RNN",
            [
                spread((3, 2, 2), 40, -64, 65, 0.03125), [[[0.546875, -0.0625], [0.734375, 0.453125]]],
                [[[-0.734375, 0.109375], [-0.546875, -0.921875]]], [[-0.25, 0.0625, 0.625, 0.171875]], None,
                [[[-0.5, 0.984375], [0.1875, -0.640625]]],
            ],
            direction="reverse", hidden_size=2, outputs=2, by="onnxruntime", atol=2e-06,
        ),
        case(
            "rnn_bidirectional", "RNN",
            [
                [[[1.59375, -1.09375]], [[-1.09375, 1.28125]], [[-0.78125, 0.71875]]],
                spread((2, 2, 2), 40, -64, 65, 0.015625), spread((2, 2, 2), 41, -64, 65, 0.015625),
                spread((2, 4), 42, -64, 65, 0.015625), None, [[[0.4375, 0.703125]], [[0.5625, -0.78125]]],
            ],
            direction="bidirectional", hidden_size=2, outputs=2, atol=2e-06,
        ),
        case(
            "rnn_sequence_lens", "RNN",
            [
                spread((3, 2, 2), 60, -64, 65, 0.03125), spread((2, 2, 2), 50, -64, 65, 0.015625),
                spread((2, 2, 2), 51, -64, 65, 0.015625), spread((2, 4), 52, -64, 65, 0.015625), i32([3, 1]),
            ],
            direction="bidirectional", hidden_size=2, outputs=2, by="onnxruntime", atol=2e-06,
        ),
        case(
            "rnn_reverse_sequence_lens", "RNN",
            [
                spread((3, 2, 2), 70, -64, 65, 0.03125), [[[-0.875, 0.15625], [-0.515625, -0.3125]]],
                [[[-0.765625, -0.4375], [0.359375, 0.28125]]], [[0.609375, 0.34375, 0.1875, 0.65625]], i32([2, 3]),
                [[[-0.6875, 0.296875], [-0.015625, 0.46875]]],
            ],
            direction="reverse", hidden_size=2, outputs=2, by="onnxruntime", atol=2e-06,
        ),
        case(
            "rnn_batch_first", "RNN",
            [
                [[[0.84375, 0.46875], [-0.96875, 1]]], spread((2, 2, 2), 70, -64, 65, 0.015625),
                spread((2, 2, 2), 71, -64, 65, 0.015625), spread((2, 4), 72, -64, 65, 0.015625), None,
                [[[-0.53125, -0.484375], [0.0625, 0.40625]]],
            ],
            direction="bidirectional", hidden_size=2, layout=1, outputs=2, atol=2e-06,
        ),
        case(
            "rnn_clip", "RNN",
            [
                spread((3, 2, 2), 90, -64, 65, 0.09375), [[[0.421875, 0.234375], [-0.484375, 0.5]]],
                [[[-0.53125, -0.484375], [0.0625, 0.40625]]], [[-0.4375, 0.25, -0.671875, -0.578125]],
            ],
            clip=0.25, hidden_size=2, outputs=2, by="onnxruntime", atol=2e-06,
        ),
        case(
            "rnn_only_last", "RNN",
            [
                spread((3, 2, 2), 100, -64, 65, 0.03125), [[[0.015625, 0.1875], [-0.203125, -0.734375]]],
                [[[-0.984375, 1], [-1, 0.25]]], [[1, -0.765625, -0.796875, 0.109375]],
            ],
            hidden_size=2, outputs="01", atol=2e-06,
        ),
        case(
            "rnn_only_sequence", "RNN",
            [
                spread((3, 2, 2), 105, -64, 65, 0.03125), [[[0.46875, 0.15625], [0.609375, -0.796875]]],
                [[[0.75, 0.34375], [-0.265625, 0.46875]]], [[0.203125, 0.6875, 0.421875, -0.375]],
            ],
            hidden_size=2, by="reference", atol=2e-06,
        ),
        case(
            "rnn_one_step", "RNN",
            [
                [[[0]]], [[[0.71875], [-0.796875], [0.25]]], spread((1, 3, 3), 101, -64, 65, 0.015625),
                spread((1, 6), 102, -64, 65, 0.015625),
            ],
            hidden_size=3, outputs=2, atol=2e-06,
        ),
        case(
            "rnn_many_units", "RNN",
            [
                [[[1.78125]], [[-0.40625]]], spread((1, 9, 1), 110, -64, 65, 0.015625),
                spread((1, 9, 9), 111, -64, 65, 0.015625), spread((1, 18), 112, -64, 65, 0.015625),
            ],
            hidden_size=9, outputs="01", atol=2e-06,
        ),
        case("rnn_relu", "RNN", X1, activations=["Relu"], hidden_size=2, outputs=2, by="onnxruntime", atol=2e-06),
        case(
            "rnn_affine", "RNN", X1, activation_alpha=[0.5], activation_beta=[0.25], activations=["Affine"],
            hidden_size=2, outputs=2, atol=2e-06,
        ),
        case(
            "rnn_leakyrelu", "RNN", X1, activation_alpha=[0.2], activations=["LeakyRelu"], hidden_size=2, outputs=2,
            by="onnxruntime", atol=2e-06,
        ),
        case(
            "rnn_thresholdedrelu", "RNN", X1, activation_alpha=[0.3], activations=["ThresholdedRelu"],
            hidden_size=2, outputs=2, by="onnxruntime", atol=2e-06,
        ),
        case(
            "rnn_scaledtanh", "RNN", X1, activation_alpha=[1.2], activation_beta=[0.7], activations=["ScaledTanh"],
            hidden_size=2, outputs=2, by="onnxruntime", atol=2e-06,
        ),
        case(
            "rnn_hardsigmoid", "RNN", X1, activations=["HardSigmoid"], hidden_size=2, outputs=2, by="onnxruntime",
            atol=2e-06,
        ),
        case(
            "rnn_elu", "RNN", X1, activation_alpha=[0.8], activations=["Elu"], hidden_size=2, outputs=2,
            by="onnxruntime", atol=2e-06,
        ),
        case(
            "rnn_softsign", "RNN", X1, activations=["Softsign"], hidden_size=2, outputs=2, by="onnxruntime",
            atol=2e-06,
        ),
        case(
            "rnn_softplus", "RNN", X1, activations=["Softplus"], hidden_size=2, outputs=2, by="onnxruntime",
            atol=2e-06,
        ),
        case(
            "rnn_sigmoid", "RNN", X1, activations=["Sigmoid"], hidden_size=2, outputs=2, by="onnxruntime",
            atol=2e-06,
        ),
        case(
            "rnn_empty_batch", "RNN",
            [
                f32([], (3, 0, 2)), [[[-0.75, -0.28125], [0.625, -0.640625]]],
                [[[0.40625, -0.796875], [-0.109375, -0.265625]]],
            ],
            hidden_size=2, outputs=2,
        ),
        case(
            "rnn_exact", "RNN", [[[[1]], [[2]]], [[[2]]], [[[0.5]]]], activations=["Relu"], hidden_size=1,
            outputs=2, types=FLOATS, by="onnxruntime", rtol=1e-05,
        ),
    )
