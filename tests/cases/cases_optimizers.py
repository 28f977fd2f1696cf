"""Adagrad, Adam and Momentum."""
from case import case, i64, join

X1 = [0.1, i64(0), [1.2, 2.8, -0.5], [-0.94, -2.5, 0.75], [1.7, 3.6, 0.1]]
X2 = [0.1, i64(4), [1.2, 2.8, -0.5], [-0.94, -2.5, 0.75], [1.7, 3.6, 0.1]]


def cases():
    return join(
        case(
            "adagrad_step0", "ai.onnx.preview.training.Adagrad",
            [0.1, i64(0), [1.2, 2.8, -0.5], [-0.94, -2.5, 0.75], [0.1, 0.1, 2]], decay_factor=0.1, epsilon=1e-05,
            norm_coefficient=0.001, outputs=2,
        ),
        case(
            "adagrad_step3", "ai.onnx.preview.training.Adagrad",
            [0.1, i64(3), [1.2, 2.8, -0.5], [-0.94, -2.5, 0.75], [0.1, 0.1, 2]], decay_factor=0.1, epsilon=1e-05,
            norm_coefficient=0.001, outputs=2,
        ),
        case(
            "adagrad_two", "ai.onnx.preview.training.Adagrad",
            [
                0.1, i64(2), [1.2, 2.8, -0.5], [[1, -2]], [-0.94, -2.5, 0.75], [[0.5, 0.25]], [0.1, 0.1, 2],
                [[1, 0.04]],
            ],
            decay_factor=0.1, epsilon=1e-05, norm_coefficient=0.001, outputs=4, types="f64",
        ),
        case(
            "adagrad_defaults", "ai.onnx.preview.training.Adagrad",
            [0.1, i64(1), [1.2, 2.8, -0.5], [-0.94, -2.5, 0.75], [0.1, 0.1, 2]], outputs=2,
        ),
        case(
            "adam_step0", "ai.onnx.preview.training.Adam",
            [0.1, i64(0), [1.2, 2.8, -0.5], [-0.94, -2.5, 0.75], [1.7, 3.6, 0.1], [0.1, 0.1, 2]], alpha=0.95,
            beta=0.1, epsilon=1e-07, norm_coefficient=0.001, norm_coefficient_post=0.01, outputs=3,
        ),
        case(
            "adam_step2", "ai.onnx.preview.training.Adam",
            [0.1, i64(2), [1.2, 2.8, -0.5], [-0.94, -2.5, 0.75], [1.7, 3.6, 0.1], [0.1, 0.1, 2]], alpha=0.95,
            beta=0.1, epsilon=1e-07, norm_coefficient=0.001, norm_coefficient_post=0.01, outputs=3,
        ),
        case(
            "adam_defaults", "ai.onnx.preview.training.Adam",
            [0.1, i64(1), [1.2, 2.8, -0.5], [-0.94, -2.5, 0.75], [1.7, 3.6, 0.1], [0.1, 0.1, 2]], outputs=3,
        ),
        case(
            "adam_two", "ai.onnx.preview.training.Adam",
            [
                0.1, i64(5), [1.2, 2.8, -0.5], [[1, -2]], [-0.94, -2.5, 0.75], [[0.5, 0.25]], [1.7, 3.6, 0.1],
                [[0.1, -0.3]], [0.1, 0.1, 2], [[1, 0.04]],
            ],
            alpha=0.95, beta=0.1, epsilon=1e-07, norm_coefficient=0.001, norm_coefficient_post=0.01, outputs=6,
            types="f64",
        ),
        case(
            "momentum_standard_step0", "ai.onnx.preview.training.Momentum", X1, alpha=0.95, beta=0.85,
            mode="standard", norm_coefficient=0.01, outputs=2,
        ),
        case(
            "momentum_standard_step4", "ai.onnx.preview.training.Momentum", X2, alpha=0.95, beta=0.85,
            mode="standard", norm_coefficient=0.01, outputs=2,
        ),
        case(
            "momentum_nesterov_step0", "ai.onnx.preview.training.Momentum", X1, alpha=0.95, beta=0.85,
            mode="nesterov", norm_coefficient=0.01, outputs=2,
        ),
        case(
            "momentum_nesterov_step4", "ai.onnx.preview.training.Momentum", X2, alpha=0.95, beta=0.85,
            mode="nesterov", norm_coefficient=0.01, outputs=2,
        ),
        case(
            "momentum_empty", "ai.onnx.preview.training.Momentum", [0.1, i64(1), [], [], []], alpha=0.95, beta=0.85,
            mode="standard", norm_coefficient=0.01, outputs=2,
        ),
    )
