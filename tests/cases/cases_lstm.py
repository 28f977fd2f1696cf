"""LSTM."""
from case import FLOATS, case, f32, full, i32, join, spread


def cases():
    return join(
        case(
            "lstm_plain", "LSTM",
            [
                spread((3, 2, 2), 11, -64, 65, 0.03125), spread((1, 8, 2), 1, -64, 65, 0.015625),
                spread((1, 8, 2), 2, -64, 65, 0.015625),
            ],
            hidden_size=2, outputs=3, atol=2e-06,
        ),
        case(
            "lstm_bias_initial", "LSTM",
            [
                spread((3, 2, 2), 30, -64, 65, 0.03125), spread((1, 8, 2), 20, -64, 65, 0.015625),
                spread((1, 8, 2), 21, -64, 65, 0.015625), spread((1, 16), 22, -64, 65, 0.015625), None,
                [[[-0.734375, 0.109375], [-0.546875, -0.921875]]], [[[-0.25, 0.0625], [0.625, 0.171875]]],
            ],
            hidden_size=2, outputs=3, atol=2e-06,
        ),
        case(
            "lstm_reverse", "LSTM",
            [
                spread((3, 2, 2), 40, -64, 65, 0.03125), spread((1, 8, 2), 30, -64, 65, 0.015625),
                spread((1, 8, 2), 31, -64, 65, 0.015625), spread((1, 16), 32, -64, 65, 0.015625), None,
                [[[-0.5, 0.984375], [0.1875, -0.640625]]],
            ],
            direction="reverse", hidden_size=2, outputs=3, atol=2e-06,
        ),
        case(
            "lstm_bidirectional", "LSTM",
            [
                [[[1.59375, -1.09375]], [[-1.09375, 1.28125]], [[-0.78125, 0.71875]]],
                spread((2, 8, 2), 40, -64, 65, 0.015625), spread((2, 8, 2), 41, -64, 65, 0.015625),
                spread((2, 16), 42, -64, 65, 0.015625), None, [[[0.4375, 0.703125]], [[0.5625, -0.78125]]],
                [[[0.828125, 0.75]], [[0.015625, -0.96875]]],
            ],
            direction="bidirectional", hidden_size=2, outputs=3, atol=2e-06,
        ),
        case(
            "lstm_sequence_lens", "LSTM",
            [
                spread((3, 2, 2), 60, -64, 65, 0.03125), spread((2, 8, 2), 50, -64, 65, 0.015625),
                spread((2, 8, 2), 51, -64, 65, 0.015625), spread((2, 16), 52, -64, 65, 0.015625), i32([3, 1]),
            ],
            direction="bidirectional", hidden_size=2, outputs=3, by="onnxruntime", atol=2e-06,
        ),
        case(
            "lstm_reverse_sequence_lens", "LSTM",
            [
                spread((3, 2, 2), 70, -64, 65, 0.03125), spread((1, 8, 2), 60, -64, 65, 0.015625),
                spread((1, 8, 2), 61, -64, 65, 0.015625), spread((1, 16), 62, -64, 65, 0.015625), i32([2, 3]),
                [[[-0.6875, 0.296875], [-0.015625, 0.46875]]],
            ],
            direction="reverse", hidden_size=2, outputs=3, by="onnxruntime", atol=2e-06,
        ),
        case(
            "lstm_batch_first", "LSTM",
            [
                [[[0.84375, 0.46875], [-0.96875, 1]]], spread((2, 8, 2), 70, -64, 65, 0.015625),
                spread((2, 8, 2), 71, -64, 65, 0.015625), spread((2, 16), 72, -64, 65, 0.015625), None,
                [[[-0.53125, -0.484375], [0.0625, 0.40625]]], [[[-0.4375, 0.25], [-0.671875, -0.578125]]],
            ],
            direction="bidirectional", hidden_size=2, layout=1, outputs=3, atol=2e-06,
        ),
        case(
            "lstm_clip", "LSTM",
            [
                spread((3, 2, 2), 90, -64, 65, 0.09375), spread((1, 8, 2), 80, -64, 65, 0.015625),
                spread((1, 8, 2), 81, -64, 65, 0.015625), spread((1, 16), 82, -64, 65, 0.015625),
            ],
            clip=0.25, hidden_size=2, outputs=3, by="onnxruntime", atol=2e-06,
        ),
        case(
            "lstm_only_last", "LSTM",
            [
                spread((3, 2, 2), 100, -64, 65, 0.03125), spread((1, 8, 2), 90, -64, 65, 0.015625),
                spread((1, 8, 2), 91, -64, 65, 0.015625), spread((1, 16), 92, -64, 65, 0.015625),
            ],
            hidden_size=2, outputs="01", atol=2e-06,
        ),
        case(
            "lstm_only_sequence", "LSTM",
            [
                spread((3, 2, 2), 105, -64, 65, 0.03125), spread((1, 8, 2), 95, -64, 65, 0.015625),
                spread((1, 8, 2), 96, -64, 65, 0.015625), spread((1, 16), 97, -64, 65, 0.015625),
            ],
            hidden_size=2, atol=2e-06,
        ),
        case(
            "lstm_one_step", "LSTM",
            [
                [[[0]]], spread((1, 12, 1), 100, -64, 65, 0.015625), spread((1, 12, 3), 101, -64, 65, 0.015625),
                spread((1, 24), 102, -64, 65, 0.015625),
            ],
            hidden_size=3, outputs=3, atol=2e-06,
        ),
        case(
            "lstm_many_units", "LSTM",
            [
                [[[1.78125]], [[-0.40625]]], spread((1, 36, 1), 110, -64, 65, 0.015625),
                spread((1, 36, 9), 111, -64, 65, 0.015625), spread((1, 72), 112, -64, 65, 0.015625),
            ],
            hidden_size=9, outputs="01", atol=2e-06,
        ),
        case(
            "lstm_peepholes", "LSTM",
            [
                spread((3, 2, 2), 210, -64, 65, 0.03125), spread((1, 8, 2), 200, -64, 65, 0.015625),
                spread((1, 8, 2), 201, -64, 65, 0.015625), spread((1, 16), 202, -64, 65, 0.015625), None, None,
                [[[0.15625, -0.078125], [0.40625, 0.875]]],
                [[0.890625, 0.78125, 0.09375, -0.015625, 0.671875, 0.984375]],
            ],
            hidden_size=2, outputs=3, atol=2e-06,
        ),
        case(
            "lstm_input_forget", "LSTM",
            [
                spread((3, 2, 2), 220, -64, 65, 0.03125), spread((1, 8, 2), 210, -64, 65, 0.015625),
                spread((1, 8, 2), 211, -64, 65, 0.015625), spread((1, 16), 212, -64, 65, 0.015625),
            ],
            hidden_size=2, input_forget=1, outputs=3, by="onnxruntime", atol=2e-06,
        ),
        case(
            "lstm_input_forget_peepholes", "LSTM",
            [
                spread((3, 2, 2), 225, -64, 65, 0.03125), spread((1, 8, 2), 215, -64, 65, 0.015625),
                spread((1, 8, 2), 216, -64, 65, 0.015625), spread((1, 16), 217, -64, 65, 0.015625), None,
                [[[-0.21875, -0.5], [-0.15625, 0.1875]]], [[[0.78125, 0.078125], [0.5625, -0.453125]]],
                [[-0.65625, -0.875, 0.984375, -0.578125, -0.5625, -0.9375]],
            ],
            hidden_size=2, input_forget=1, outputs=3, by="onnxruntime", atol=2e-06,
        ),
        case(
            "lstm_activations", "LSTM",
            [
                spread((3, 2, 2), 230, -64, 65, 0.03125), spread((1, 8, 2), 220, -64, 65, 0.015625),
                spread((1, 8, 2), 221, -64, 65, 0.015625), spread((1, 16), 222, -64, 65, 0.015625),
            ],
            activation_alpha=[0.3, 1.5], activation_beta=[0.4, 0.5],
            activations=["HardSigmoid", "ScaledTanh", "Softsign"], hidden_size=2, outputs=3, by="onnxruntime",
            atol=2e-06,
        ),
        case(
            "lstm_relu", "LSTM",
            [
                spread((3, 2, 2), 235, -64, 65, 0.03125), spread((1, 8, 2), 225, -64, 65, 0.015625),
                spread((1, 8, 2), 226, -64, 65, 0.015625), spread((1, 16), 227, -64, 65, 0.015625),
            ],
            activations=["Sigmoid", "Relu", "Tanh"], hidden_size=2, outputs=3, by="onnxruntime", atol=2e-06,
        ),
        case(
            "lstm_activations_bidirectional", "LSTM",
            [
                [[[1.96875, 0.15625]], [[0.6875, -0.4375]], [[-1.625, 0.28125]]],
                spread((2, 8, 2), 230, -64, 65, 0.015625), spread((2, 8, 2), 231, -64, 65, 0.015625),
                spread((2, 16), 232, -64, 65, 0.015625),
            ],
            activation_alpha=[0.25, 0.1], activation_beta=[0.5],
            activations=["Sigmoid", "Tanh", "Tanh", "HardSigmoid", "Tanh", "LeakyRelu"], direction="bidirectional",
            hidden_size=2, outputs=3, by="onnxruntime", atol=2e-06,
        ),
        # Without steps the states are the initial ones; the evaluator has no result.
        case(
            "lstm_no_steps", "LSTM",
            [
                f32([], (0, 1, 2)), spread((1, 8, 2), 1, -64, 65, 0.015625),
                spread((1, 8, 2), 2, -64, 65, 0.015625), None, None, [[[-0.234375, 0.375]]],
            ],
            hidden_size=2, expected=[f32([], (0, 1, 1, 2)), [[[-0.234375, 0.375]]], [[[0, 0]]]],
        ),
        case(
            "lstm_exact", "LSTM", [[[[1]], [[2]]], [[[2], [4], [0], [1]]], full((1, 4, 1), 0)],
            activation_alpha=[0.25], activation_beta=[0.5], activations=["HardSigmoid", "Relu", "Relu"],
            hidden_size=1, outputs=3, types=FLOATS, by="onnxruntime", rtol=1e-05,
        ),
    )
