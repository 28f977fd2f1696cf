"""LinearRegressor and LinearClassifier."""
from case import case, join


def cases():
    return join(
        case(
            "two_targets", "ai.onnx.ml.LinearRegressor", [[[1, -2, 3], [0, 5, -6]]],
            coefficients=[0.5, -1.0, 2.0, 1.0, 0.0, -0.5], intercepts=[0.25, 1.0], targets=2, by="reference",
        ),
        case(
            "no_intercepts", "ai.onnx.ml.LinearRegressor", [[[1, -2, 3], [0, 5, -6]]],
            coefficients=[0.5, -1.0, 2.0], by="onnxruntime",
        ),
        case(
            "three_none", "ai.onnx.ml.LinearClassifier", [[[1, -2, 3], [0, 5, -6]]], classlabels_ints=[10, 20, 30],
            coefficients=[0.5, -1.0, 2.0, 1.0, 0.0, -0.5, 1.0, 1.0, -1.0], intercepts=[0.25, 1.0, 0.0],
            post_transform="NONE", outputs=2,
        ),
        case(
            "three_logistic", "ai.onnx.ml.LinearClassifier", [[[1, -2, 3], [0, 5, -6]]],
            classlabels_ints=[10, 20, 30], coefficients=[0.5, -1.0, 2.0, 1.0, 0.0, -0.5, 1.0, 1.0, -1.0],
            intercepts=[0.25, 1.0, 0.0], post_transform="LOGISTIC", outputs=2, by="onnxruntime",
        ),
        case(
            "three_softmax", "ai.onnx.ml.LinearClassifier", [[[1, -2, 3], [0, 5, -6]]],
            classlabels_ints=[10, 20, 30], coefficients=[0.5, -1.0, 2.0, 1.0, 0.0, -0.5, 1.0, 1.0, -1.0],
            intercepts=[0.25, 1.0, 0.0], post_transform="SOFTMAX", outputs=2,
        ),
        case(
            "three_softmax_zero", "ai.onnx.ml.LinearClassifier", [[[1, -2, 3], [0, 5, -6]]],
            classlabels_ints=[10, 20, 30], coefficients=[0.5, -1.0, 2.0, 1.0, 0.0, -0.5, 1.0, 1.0, -1.0],
            intercepts=[0.25, 1.0, 0.0], post_transform="SOFTMAX_ZERO", outputs=2,
        ),
        case(
            "binary_strings", "ai.onnx.ml.LinearClassifier", [[[1, -2, 3], [0, 5, -6]]],
            classlabels_strings=["no", "yes"], coefficients=[0.5, -1.0, 2.0, 1.0, 0.0, -0.5], intercepts=[0.1, 0.2],
            post_transform="LOGISTIC", outputs=2, by="onnxruntime",
        ),
        case(
            "mirrored", "ai.onnx.ml.LinearClassifier", [[[1, -2, 3], [0, 5, -6]]], classlabels_ints=[0, 1],
            coefficients=[0.5, -1.0, 2.0], intercepts=[0.1], post_transform="LOGISTIC", outputs=2, by="onnxruntime",
        ),
    )
