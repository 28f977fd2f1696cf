"""TreeEnsembleRegressor, TreeEnsembleClassifier and TreeEnsemble."""
from case import NAN, case, f32, f64, join, u8

ROWS = [[1, 2, 3], [0, 2, 0], [0, -1, 1], [0.5, 0, -7]]
# Two trees: three leaves, and two.
NODES = {
    "nodes_falsenodeids": [2, 4, 0, 0, 0, 2, 0, 0], "nodes_featureids": [0, 1, 0, 0, 0, 2, 0, 0],
    "nodes_modes": ["BRANCH_LEQ", "BRANCH_GT", "LEAF", "LEAF", "LEAF", "BRANCH_LT", "LEAF", "LEAF"],
    "nodes_nodeids": [0, 1, 2, 3, 4, 0, 1, 2], "nodes_treeids": [0, 0, 0, 0, 0, 1, 1, 1],
    "nodes_truenodeids": [1, 3, 0, 0, 0, 1, 0, 0], "nodes_values": [0.5, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0],
}
TARGETS = {
    "target_ids": [0, 0, 0, 0, 0], "target_nodeids": [2, 3, 4, 1, 2], "target_treeids": [0, 0, 0, 1, 1],
    "target_weights": [1.0, 2.0, 3.0, 10.0, 20.0],
}
CLASSES = {
    "class_ids": [0, 1, 2, 1, 0], "class_nodeids": [2, 3, 4, 1, 2], "class_treeids": [0, 0, 0, 1, 1],
    "class_weights": [0.3, 0.4, 0.5, 0.6, 0.1],
}


def cases():
    return join(
        case(
            "sum", "ai.onnx.ml.TreeEnsembleRegressor", [ROWS], aggregate_function="SUM", n_targets=1, **NODES,
            **TARGETS, by="reference",
        ),
        case(
            "average", "ai.onnx.ml.TreeEnsembleRegressor", [ROWS], aggregate_function="AVERAGE", n_targets=1, **NODES,
            **TARGETS, by="reference",
        ),
        case(
            "min", "ai.onnx.ml.TreeEnsembleRegressor", [ROWS], aggregate_function="MIN", n_targets=1, **NODES,
            **TARGETS, by="reference",
        ),
        case(
            "max", "ai.onnx.ml.TreeEnsembleRegressor", [ROWS], aggregate_function="MAX", n_targets=1, **NODES,
            **TARGETS, by="reference",
        ),
        case(
            "base", "ai.onnx.ml.TreeEnsembleRegressor", [ROWS], aggregate_function="SUM", base_values=[0.5],
            n_targets=1, **NODES, **TARGETS, by="reference",
        ),
        case(
            "three_classes_none", "ai.onnx.ml.TreeEnsembleClassifier", [ROWS], **CLASSES,
            classlabels_int64s=[5, 6, 7], **NODES, post_transform="NONE", outputs=2,
        ),
        case(
            "three_classes_softmax", "ai.onnx.ml.TreeEnsembleClassifier", [ROWS], **CLASSES,
            classlabels_int64s=[5, 6, 7], **NODES, post_transform="SOFTMAX", outputs=2,
        ),
        case(
            "three_classes_logistic", "ai.onnx.ml.TreeEnsembleClassifier", [ROWS], **CLASSES,
            classlabels_int64s=[5, 6, 7], **NODES, post_transform="LOGISTIC", outputs=2,
        ),
        case(
            "strings_base", "ai.onnx.ml.TreeEnsembleClassifier", [ROWS], base_values=[0.1, 0.2, 0.3], **CLASSES,
            classlabels_strings=["a", "b", "c"], **NODES, post_transform="NONE", outputs=2,
        ),
        case(
            "binary_logistic", "ai.onnx.ml.TreeEnsembleClassifier", [ROWS], class_ids=[0, 0, 0, 0, 0],
            class_nodeids=[2, 3, 4, 1, 2], class_treeids=[0, 0, 0, 1, 1], class_weights=[0.3, -0.4, 0.5, -1.6, 0.1],
            classlabels_int64s=[0, 1], **NODES, post_transform="LOGISTIC", outputs=2,
        ),
        case(
            "one_tree", "ai.onnx.ml.TreeEnsemble", [f64([[1.2], [3.4], [-0.12], [1.66], [4.14], [1.77]])],
            aggregate_function=1, leaf_targetids=[0, 1, 0, 1], leaf_weights=f64([5.23, 12.12, -12.23, 7.21]),
            n_targets=2, nodes_falseleafs=[0, 1, 1], nodes_falsenodeids=[2, 2, 3], nodes_featureids=[0, 0, 0],
            nodes_modes=u8([0, 0, 0]), nodes_splits=f64([3.14, 1.2, 4.2]), nodes_trueleafs=[0, 1, 1],
            nodes_truenodeids=[1, 0, 1], post_transform=0, tree_roots=[0],
        ),
        case(
            "missing", "ai.onnx.ml.TreeEnsemble", [[[NAN], [5]]], aggregate_function=1, leaf_targetids=[0, 1, 0, 1],
            leaf_weights=f32([5.23, 12.12, -12.23, 7.21]), n_targets=2, nodes_falseleafs=[0, 1, 1],
            nodes_falsenodeids=[2, 2, 3], nodes_featureids=[0, 0, 0], nodes_modes=u8([0, 0, 0]),
            nodes_splits=f32([3.14, 1.2, 4.2]), nodes_trueleafs=[0, 1, 1], nodes_truenodeids=[1, 0, 1],
            post_transform=0, tree_roots=[0],
        ),
        case(
            "missing_tracks_true", "ai.onnx.ml.TreeEnsemble", [[[NAN]]], aggregate_function=1,
            leaf_targetids=[0, 1, 0, 1], leaf_weights=f32([5.23, 12.12, -12.23, 7.21]), n_targets=2,
            nodes_falseleafs=[0, 1, 1], nodes_falsenodeids=[2, 2, 3], nodes_featureids=[0, 0, 0],
            nodes_missing_value_tracks_true=[1, 1, 1], nodes_modes=u8([0, 0, 0]), nodes_splits=f32([3.14, 1.2, 4.2]),
            nodes_trueleafs=[0, 1, 1], nodes_truenodeids=[1, 0, 1], post_transform=0, tree_roots=[0],
        ),
        case(
            "members", "ai.onnx.ml.TreeEnsemble", [[[1.2], [3], [9]]], aggregate_function=1, leaf_targetids=[0, 1],
            leaf_weights=f32([5, 6]), membership_values=f32([1.2, 3, NAN]), n_targets=2, nodes_falseleafs=[1],
            nodes_falsenodeids=[1], nodes_featureids=[0], nodes_modes=u8([6]), nodes_splits=f32([0]),
            nodes_trueleafs=[1], nodes_truenodeids=[0], post_transform=0, tree_roots=[0],
        ),
    )
