"""SVMRegressor and SVMClassifier."""
from case import case, f64, i64, join

X1 = [[[0.1, 0], [-1, 0], [0.1, -0.2], [0.2, -0.2], [0.05, 0.1]]]


def cases():
    return join(
        case(
            "linear", "ai.onnx.ml.SVMRegressor", [[[1, 2], [-1, 0.5], [0.25, -0.75]]], coefficients=[1.0, -1.0],
            kernel_params=[0.5, 0.25, 3.0], kernel_type="LINEAR", n_supports=2, rho=[0.25],
            support_vectors=[1.0, 0.5, -0.25, 2.0], by="reference",
        ),
        case(
            "poly", "ai.onnx.ml.SVMRegressor", [[[1, 2], [-1, 0.5], [0.25, -0.75]]], coefficients=[1.0, -1.0],
            kernel_params=[0.5, 0.25, 3.0], kernel_type="POLY", n_supports=2, rho=[0.25],
            support_vectors=[1.0, 0.5, -0.25, 2.0], by="reference",
        ),
        case(
            "rbf", "ai.onnx.ml.SVMRegressor", [[[1, 2], [-1, 0.5], [0.25, -0.75]]], coefficients=[1.0, -1.0],
            kernel_params=[0.5, 0.25, 3.0], kernel_type="RBF", n_supports=2, rho=[0.25],
            support_vectors=[1.0, 0.5, -0.25, 2.0], by="reference",
        ),
        case(
            "sigmoid", "ai.onnx.ml.SVMRegressor", [[[1, 2], [-1, 0.5], [0.25, -0.75]]], coefficients=[1.0, -1.0],
            kernel_params=[0.5, 0.25, 3.0], kernel_type="SIGMOID", n_supports=2, rho=[0.25],
            support_vectors=[1.0, 0.5, -0.25, 2.0], by="reference",
        ),
        case(
            "fractional_degree", "ai.onnx.ml.SVMRegressor", [[[1, 2], [-1, 0.5], [0.25, -0.75]]],
            coefficients=[1.0, -1.0], kernel_params=[0.5, 0.25, 2.5], kernel_type="POLY", n_supports=2, rho=[0.25],
            support_vectors=[1.0, 0.5, -0.25, 2.0], by="onnxruntime",
        ),
        case(
            "one_class", "ai.onnx.ml.SVMRegressor", [[[1, 2], [-1, 0.5], [0.25, -0.75]]], coefficients=[1.0, -1.0],
            kernel_params=[0.5, 0.25, 3.0], kernel_type="RBF", n_supports=2, one_class=1, rho=[-0.05],
            support_vectors=[1.0, 0.5, -0.25, 2.0], by="reference",
        ),
        case(
            "linear_form", "ai.onnx.ml.SVMRegressor", [[[1, 2], [-1, 0.5], [0.25, -0.75]]],
            coefficients=[1.0, -1.0], kernel_params=[0.0, 0.0, 0.0], rho=[0.25], by="reference",
        ),
        case(
            "one_row", "ai.onnx.ml.SVMRegressor", [[1, 2]], coefficients=[1.0, -1.0], kernel_params=[0.0, 0.0, 0.0],
            rho=[0.25], by="onnxruntime",
        ),
        case(
            "two_linear", "ai.onnx.ml.SVMClassifier", [[[1, 2], [-1, 0.5], [0.25, -0.75]]], classlabels_ints=[3, 4],
            coefficients=[1.0, -1.0, 0.5, -0.25], kernel_params=[0.5, 0.25, 3.0], kernel_type="LINEAR", rho=[-0.1],
            support_vectors=[1.0, 0.5, -0.25, 2.0, 0.5, 0.5, -1.0, 1.0], vectors_per_class=[2, 2], outputs=2,
            by="reference",
        ),
        case(
            "two_poly", "ai.onnx.ml.SVMClassifier", [[[1, 2], [-1, 0.5], [0.25, -0.75]]], classlabels_ints=[3, 4],
            coefficients=[1.0, -1.0, 0.5, -0.25], kernel_params=[0.5, 0.25, 3.0], kernel_type="POLY", rho=[-0.1],
            support_vectors=[1.0, 0.5, -0.25, 2.0, 0.5, 0.5, -1.0, 1.0], vectors_per_class=[2, 2], outputs=2,
            by="reference",
        ),
        case(
            "two_rbf", "ai.onnx.ml.SVMClassifier", [[[1, 2], [-1, 0.5], [0.25, -0.75]]], classlabels_ints=[3, 4],
            coefficients=[1.0, -1.0, 0.5, -0.25], kernel_params=[0.5, 0.25, 3.0], kernel_type="RBF", rho=[-0.1],
            support_vectors=[1.0, 0.5, -0.25, 2.0, 0.5, 0.5, -1.0, 1.0], vectors_per_class=[2, 2], outputs=2,
            by="reference",
        ),
        case(
            "two_sigmoid", "ai.onnx.ml.SVMClassifier", [[[1, 2], [-1, 0.5], [0.25, -0.75]]],
            classlabels_ints=[3, 4], coefficients=[1.0, -1.0, 0.5, -0.25], kernel_params=[0.5, 0.25, 3.0],
            kernel_type="SIGMOID", rho=[-0.1], support_vectors=[1.0, 0.5, -0.25, 2.0, 0.5, 0.5, -1.0, 1.0],
            vectors_per_class=[2, 2], outputs=2, by="onnxruntime",
        ),
        case(
            "two_rbf_logistic", "ai.onnx.ml.SVMClassifier", [[[1, 2], [-1, 0.5], [0.25, -0.75]]],
            classlabels_ints=[3, 4], coefficients=[1.0, -1.0, 0.5, -0.25], kernel_params=[0.5, 0.25, 3.0],
            kernel_type="RBF", post_transform="LOGISTIC", rho=[-0.1],
            support_vectors=[1.0, 0.5, -0.25, 2.0, 0.5, 0.5, -1.0, 1.0], vectors_per_class=[2, 2], outputs=2,
            by="reference",
        ),
        case(
            "two_rbf_softmax", "ai.onnx.ml.SVMClassifier", [[[1, 2], [-1, 0.5], [0.25, -0.75]]],
            classlabels_ints=[3, 4], coefficients=[1.0, -1.0, 0.5, -0.25], kernel_params=[0.5, 0.25, 3.0],
            kernel_type="RBF", post_transform="SOFTMAX", rho=[-0.1],
            support_vectors=[1.0, 0.5, -0.25, 2.0, 0.5, 0.5, -1.0, 1.0], vectors_per_class=[2, 2], outputs=2,
            by="onnxruntime",
        ),
        case(
            "two_rbf_softmax_zero", "ai.onnx.ml.SVMClassifier", [[[1, 2], [-1, 0.5], [0.25, -0.75]]],
            classlabels_ints=[3, 4], coefficients=[1.0, -1.0, 0.5, -0.25], kernel_params=[0.5, 0.25, 3.0],
            kernel_type="RBF", post_transform="SOFTMAX_ZERO", rho=[-0.1],
            support_vectors=[1.0, 0.5, -0.25, 2.0, 0.5, 0.5, -1.0, 1.0], vectors_per_class=[2, 2], outputs=2,
            by="onnxruntime",
        ),
        case(
            "two_calibrated_none", "ai.onnx.ml.SVMClassifier", [[[1, 2], [-1, 0.5], [0.25, -0.75]]],
            classlabels_ints=[3, 4], coefficients=[1.0, -1.0, 0.5, -0.25], kernel_params=[0.5, 0.25, 3.0],
            kernel_type="RBF", post_transform="NONE", prob_a=[-1.5], prob_b=[0.3], rho=[-0.1],
            support_vectors=[1.0, 0.5, -0.25, 2.0, 0.5, 0.5, -1.0, 1.0], vectors_per_class=[2, 2], outputs=2,
            by="reference",
        ),
        case(
            "two_calibrated_logistic", "ai.onnx.ml.SVMClassifier", [[[1, 2], [-1, 0.5], [0.25, -0.75]]],
            classlabels_ints=[3, 4], coefficients=[1.0, -1.0, 0.5, -0.25], kernel_params=[0.5, 0.25, 3.0],
            kernel_type="RBF", post_transform="LOGISTIC", prob_a=[-1.5], prob_b=[0.3], rho=[-0.1],
            support_vectors=[1.0, 0.5, -0.25, 2.0, 0.5, 0.5, -1.0, 1.0], vectors_per_class=[2, 2], outputs=2,
            by="reference",
        ),
        case(
            "two_calibrated_softmax", "ai.onnx.ml.SVMClassifier", [[[1, 2], [-1, 0.5], [0.25, -0.75]]],
            classlabels_ints=[3, 4], coefficients=[1.0, -1.0, 0.5, -0.25], kernel_params=[0.5, 0.25, 3.0],
            kernel_type="RBF", post_transform="SOFTMAX", prob_a=[-1.5], prob_b=[0.3], rho=[-0.1],
            support_vectors=[1.0, 0.5, -0.25, 2.0, 0.5, 0.5, -1.0, 1.0], vectors_per_class=[2, 2], outputs=2,
            by="reference",
        ),
        case(
            "two_calibrated_probit", "ai.onnx.ml.SVMClassifier", [[[1, 2], [-1, 0.5], [0.25, -0.75]]],
            classlabels_ints=[3, 4], coefficients=[1.0, -1.0, 0.5, -0.25], kernel_params=[0.5, 0.25, 3.0],
            kernel_type="RBF", post_transform="PROBIT", prob_a=[-1.5], prob_b=[0.3], rho=[-0.1],
            support_vectors=[1.0, 0.5, -0.25, 2.0, 0.5, 0.5, -1.0, 1.0], vectors_per_class=[2, 2], outputs=2,
            by="onnxruntime",
        ),
        case(
            "three_none", "ai.onnx.ml.SVMClassifier", [[[1, 2], [-1, 0.5], [0.25, -0.75]]],
            classlabels_strings=["a", "b", "c"],
            coefficients=[1.0, -1.0, 0.5, -0.25, 0.75, -0.5, 0.3, 0.2, -0.9, 0.4], kernel_params=[0.5, 0.25, 3.0],
            kernel_type="RBF", post_transform="NONE", rho=[-0.1, 0.2, 0.05],
            support_vectors=[1.0, 0.5, -0.25, 2.0, 0.5, 0.5, -1.0, 1.0, 0.3, -0.6], vectors_per_class=[2, 2, 1],
            outputs=2, by="reference",
        ),
        case(
            "three_logistic", "ai.onnx.ml.SVMClassifier", [[[1, 2], [-1, 0.5], [0.25, -0.75]]],
            classlabels_strings=["a", "b", "c"],
            coefficients=[1.0, -1.0, 0.5, -0.25, 0.75, -0.5, 0.3, 0.2, -0.9, 0.4], kernel_params=[0.5, 0.25, 3.0],
            kernel_type="RBF", post_transform="LOGISTIC", rho=[-0.1, 0.2, 0.05],
            support_vectors=[1.0, 0.5, -0.25, 2.0, 0.5, 0.5, -1.0, 1.0, 0.3, -0.6], vectors_per_class=[2, 2, 1],
            outputs=2, by="reference",
        ),
        case(
            "three_softmax", "ai.onnx.ml.SVMClassifier", [[[1, 2], [-1, 0.5], [0.25, -0.75]]],
            classlabels_strings=["a", "b", "c"],
            coefficients=[1.0, -1.0, 0.5, -0.25, 0.75, -0.5, 0.3, 0.2, -0.9, 0.4], kernel_params=[0.5, 0.25, 3.0],
            kernel_type="RBF", post_transform="SOFTMAX", rho=[-0.1, 0.2, 0.05],
            support_vectors=[1.0, 0.5, -0.25, 2.0, 0.5, 0.5, -1.0, 1.0, 0.3, -0.6], vectors_per_class=[2, 2, 1],
            outputs=2, by="reference",
        ),
        case(
            "three_calibrated_none", "ai.onnx.ml.SVMClassifier", [[[1, 2], [-1, 0.5], [0.25, -0.75]]],
            classlabels_strings=["a", "b", "c"],
            coefficients=[1.0, -1.0, 0.5, -0.25, 0.75, -0.5, 0.3, 0.2, -0.9, 0.4], kernel_params=[0.5, 0.25, 3.0],
            kernel_type="POLY", post_transform="NONE", prob_a=[-1.5, -0.7, -2.0], prob_b=[0.3, -0.1, 0.2],
            rho=[-0.1, 0.2, 0.05], support_vectors=[1.0, 0.5, -0.25, 2.0, 0.5, 0.5, -1.0, 1.0, 0.3, -0.6],
            vectors_per_class=[2, 2, 1], outputs=2, by="onnxruntime",
        ),
        case(
            "three_calibrated_softmax", "ai.onnx.ml.SVMClassifier", [[[1, 2], [-1, 0.5], [0.25, -0.75]]],
            classlabels_strings=["a", "b", "c"],
            coefficients=[1.0, -1.0, 0.5, -0.25, 0.75, -0.5, 0.3, 0.2, -0.9, 0.4], kernel_params=[0.5, 0.25, 3.0],
            kernel_type="POLY", post_transform="SOFTMAX", prob_a=[-1.5, -0.7, -2.0], prob_b=[0.3, -0.1, 0.2],
            rho=[-0.1, 0.2, 0.05], support_vectors=[1.0, 0.5, -0.25, 2.0, 0.5, 0.5, -1.0, 1.0, 0.3, -0.6],
            vectors_per_class=[2, 2, 1], outputs=2, by="onnxruntime",
        ),
        case(
            "liblinear_mixed", "ai.onnx.ml.SVMClassifier", X1, classlabels_ints=[7, 8],
            coefficients=[1.0, -2.0, 3.0, 0.5], kernel_params=[0.0, 0.0, 0.0], rho=[0.25], outputs=2,
            by="onnxruntime",
        ),
        case(
            "liblinear_positive", "ai.onnx.ml.SVMClassifier", X1, classlabels_ints=[7, 8],
            coefficients=[1.0, 2.0, 3.0, 0.5], kernel_params=[0.0, 0.0, 0.0], rho=[0.25], outputs=2, by="reference",
        ),
        case(
            "liblinear_three", "ai.onnx.ml.SVMClassifier", X1, classlabels_strings=["x", "y", "z"],
            coefficients=[1.0, 2.0, 3.0, 0.5, -1.0, 1.0], kernel_params=[0.0, 0.0, 0.0], post_transform="SOFTMAX",
            rho=[0.25], outputs=2, by="onnxruntime",
        ),
        case(
            "liblinear_one_class", "ai.onnx.ml.SVMClassifier", X1, classlabels_ints=[7], coefficients=[1.0, 2.0],
            kernel_params=[0.0, 0.0, 0.0], post_transform="LOGISTIC", rho=[0.25], outputs=2, by="onnxruntime",
        ),
        case(
            "int64", "ai.onnx.ml.SVMClassifier", [i64([[1, 2], [-1, 0]])], classlabels_ints=[3, 4],
            coefficients=[1.0, -1.0, 0.5, -0.25], kernel_params=[0.5, 0.25, 3.0], kernel_type="RBF", rho=[-0.1],
            support_vectors=[1.0, 0.5, -0.25, 2.0, 0.5, 0.5, -1.0, 1.0], vectors_per_class=[2, 2], outputs=2,
            by="onnxruntime",
        ),
        case(
            "double", "ai.onnx.ml.SVMClassifier", [f64([[1, 2], [-1, 0.5]])], classlabels_ints=[3, 4],
            coefficients=[1.0, -1.0, 0.5, -0.25], kernel_params=[0.5, 0.25, 3.0], kernel_type="RBF", rho=[-0.1],
            support_vectors=[1.0, 0.5, -0.25, 2.0, 0.5, 0.5, -1.0, 1.0], vectors_per_class=[2, 2], outputs=2,
            by="onnxruntime",
        ),
    )
