"""Writes random scores and targets and what scikit-learn says of them.

Usage: make_metric_cases.py OUTPUT_JSON. Needs `pip install scikit-learn==1.9.1 numpy`. The cases of the repository are
those of seed 1. A case: the loss in text format, dims and values of scores and targets in float32, metrics by name.
"""
import json
import sys

import numpy as np
from sklearn import metrics as sk

SEED = 1


def rounded(array):
    # Few values, so that some scores are equal.
    return np.round(array, 1).astype(np.float32)


def case(loss, scores, targets, **metrics):
    return {"loss": loss, "scores_dims": scores.shape, "scores": scores.ravel().tolist(), "target_dims": targets.shape,
            "targets": targets.ravel().tolist(), "metrics": {name: float(value) for name, value in metrics.items()}}


def of_classes(draw, classes, count):
    targets = draw.integers(0, classes, count)
    scores = rounded(draw.normal(size=(count, classes)) + 1.5 * np.eye(classes)[targets])
    predicted = scores.argmax(1)
    average = "binary" if classes == 2 else "macro"
    made = {"accuracy": sk.accuracy_score(targets, predicted),
            "precision": sk.precision_score(targets, predicted, average=average, zero_division=0),
            "recall": sk.recall_score(targets, predicted, average=average, zero_division=0),
            "f1": sk.f1_score(targets, predicted, average=average, zero_division=0)}
    if classes == 2:
        made["auc"] = sk.roc_auc_score(targets, scores[:, 1].astype(float) - scores[:, 0])
    else:
        # Scores without equal ones: scikit-learn orders those in another way.
        scores = (scores + np.arange(classes) * 1e-3).astype(np.float32)
        for k in (2, 3):
            made[f"top_{k}_accuracy"] = sk.top_k_accuracy_score(targets, scores, k=k, labels=range(classes))
        predicted = scores.argmax(1)
        made["accuracy"] = sk.accuracy_score(targets, predicted)
        for name, function in (("precision", sk.precision_score), ("recall", sk.recall_score), ("f1", sk.f1_score)):
            made[name] = function(targets, predicted, average="macro", zero_division=0)
    return case("cross_entropy {}", scores, targets, **made)


def binary(draw, loss, count, labels):
    targets = draw.integers(0, 2, (count, labels))
    scores = draw.normal(size=(count, labels)) + targets
    scores = rounded(1 / (1 + np.exp(-scores)) if loss == "bce {}" else scores)
    predicted = (scores > (0.5 if loss == "bce {}" else 0)).astype(int)
    one, other = targets.ravel(), predicted.ravel()
    return case(loss, scores, targets, accuracy=sk.accuracy_score(one, other), precision=sk.precision_score(one, other),
                recall=sk.recall_score(one, other), f1=sk.f1_score(one, other),
                auc=sk.roc_auc_score(targets, scores, average="macro"))


def numbers(draw, shape):
    targets = draw.normal(size=shape).astype(np.float32) + 100
    scores = (targets + 0.3 * draw.normal(size=shape)).astype(np.float32)
    x, y = (a.astype(np.float64).reshape(shape[0], -1) for a in (targets, scores))
    return case("mse {}", scores, targets, mae=sk.mean_absolute_error(x, y), rmse=np.sqrt(sk.mean_squared_error(x.ravel(), y.ravel())),
                r2=sk.r2_score(x, y))


def main():
    draw = np.random.default_rng(SEED)
    cases = [of_classes(draw, 2, 25), of_classes(draw, 5, 30), of_classes(draw, 9, 12), binary(draw, "bce_with_logits {}", 30, 1),
             binary(draw, "bce_with_logits {}", 20, 3), binary(draw, "bce {}", 20, 2), numbers(draw, (20, 1)), numbers(draw, (15, 3))]
    with open(sys.argv[1], "w") as file:
        file.write("[\n" + ",\n".join(json.dumps(each) for each in cases) + "\n]\n")


if __name__ == "__main__":
    main()
