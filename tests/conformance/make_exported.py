#!/usr/bin/env python3
"""Makes tests/conformance/exported: small models as converters write them, with what ONNX Runtime
returns, in the layout of the standard's cases.

Usage: make_exported.py [CASE...] with a Python that has scikit-learn 1.9.1, skl2onnx 1.20.0,
lightgbm 4.7.0, onnxmltools 1.16.0, onnxruntime 1.31.1 and, for cases pt_*, torch 2.15.0 with
onnxscript. A case whose converter is not there is left as it is.
"""
import pathlib
import sys
import warnings

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

HERE = pathlib.Path(__file__).resolve().parent / "exported"
CASES = {}


def case(make):
    CASES[make.__name__] = make
    return make


def tensor(name, array):
    if array.dtype.kind in "OU":
        return onnx.helper.make_tensor(name, onnx.TensorProto.STRING, array.shape,
                                       [str(text).encode() for text in array.ravel()])
    return numpy_helper.from_array(array, name)


def write(name, model, feeds):
    model.ClearField("doc_string")
    session = onnxruntime.InferenceSession(model.SerializeToString(),
                                           providers=["CPUExecutionProvider"])
    data = HERE / name / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    (HERE / name / "model.onnx").write_bytes(model.SerializeToString())
    for i, value in enumerate(session.get_inputs()):
        (data / f"input_{i}.pb").write_bytes(tensor(value.name, feeds[value.name]).SerializeToString())
    for i, (value, array) in enumerate(zip(session.get_outputs(), session.run(None, feeds))):
        (data / f"output_{i}.pb").write_bytes(tensor(value.name, np.asarray(array)).SerializeToString())


def table(rows=24):
    """Features of three classes, and the classes."""
    rng = np.random.default_rng(1)
    y = np.arange(rows) % 3
    return (rng.standard_normal((rows, 4)) + y[:, None]).astype(np.float32), y


def sklearn(estimator, x, y=None, **options):
    from skl2onnx import to_onnx
    estimator.fit(x, y)
    model = to_onnx(estimator, x[:1], options={id(estimator): options} if options else None)
    return model, {model.graph.input[0].name: x[:7]}


@case
def skl_random_forest():
    """The older tree ops, whose schemas do not infer types."""
    from sklearn.ensemble import RandomForestClassifier
    x, y = table()
    return sklearn(RandomForestClassifier(3, max_depth=2, random_state=0), x, y, zipmap=False)


@case
def skl_gradient_boosting():
    from sklearn.ensemble import GradientBoostingClassifier
    x, y = table()
    return sklearn(GradientBoostingClassifier(n_estimators=2, max_depth=2, random_state=0), x, y,
                   zipmap=False)


@case
def skl_bagging():
    from sklearn.ensemble import BaggingRegressor
    x, y = table()
    return sklearn(BaggingRegressor(n_estimators=2, random_state=0), x, y.astype(np.float32))


@case
def skl_svc():
    """SVMClassifier, whose schema infers no type of the scores; labels are strings."""
    from sklearn.svm import SVC
    x, y = table()
    return sklearn(SVC(), x, np.array(["a", "b", "c"])[y], zipmap=False)


@case
def skl_one_vs_one():
    """Labels that the file declares [n] and that are [n, 1]."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsOneClassifier
    x, y = table()
    return sklearn(OneVsOneClassifier(LogisticRegression()), x, y, zipmap=False)


@case
def skl_pls():
    """A result that the file declares [n, 4] and that is [n, 1]."""
    from sklearn.cross_decomposition import PLSRegression
    x, y = table()
    return sklearn(PLSRegression(2), x, y.astype(np.float32))


@case
def skl_knn_imputer():
    """Functions, and an If whose else_branch comes first and whose branches both capture."""
    from sklearn.impute import KNNImputer
    x, _ = table(12)
    x[::3, 1] = np.nan
    return sklearn(KNNImputer(n_neighbors=2), x)


@case
def skl_tfidf():
    """com.microsoft's Tokenizer."""
    from skl2onnx import convert_sklearn
    from skl2onnx.common.data_types import StringTensorType
    from sklearn.feature_extraction.text import TfidfVectorizer
    texts = np.array(["This is the first document.", "This one is the second!", "", "one-two"])
    words = TfidfVectorizer(lowercase=False).fit(texts)
    model = convert_sklearn(words, initial_types=[("text", StringTensorType([None]))])
    return model, {"text": texts.astype(object)}


@case
def lgbm_categories():
    """Trees in which nodes share a child."""
    import lightgbm
    from onnxmltools import convert_lightgbm
    from onnxmltools.convert.common.data_types import FloatTensorType
    rng = np.random.default_rng(0)
    x = np.stack([rng.integers(0, 6, 60), rng.random(60) * 5], 1).astype(np.float32)
    y = ((x[:, 0] % 2 == 1) ^ (x[:, 1] > 3)).astype(int)
    model = lightgbm.LGBMClassifier(n_estimators=3, verbose=-1, min_child_samples=3)
    model.fit(x, y, categorical_feature=[0])
    return convert_lightgbm(model, initial_types=[("x", FloatTensorType([None, 2]))],
                            zipmap=False), {"x": x[:9]}


def torch_model(forward, x, opset):
    import io
    import torch

    class Module(torch.nn.Module):
        def forward(self, x):
            return forward(x)

    file = io.BytesIO()
    torch.onnx.export(Module(), (torch.from_numpy(x),), file, input_names=["x"], opset_version=opset,
                      dynamo=False)
    return onnx.load_from_string(file.getvalue()), {"x": x}


@case
def pt_interpolate():
    """5 * 1.8 is 9 in float32, and less than 9 exactly."""
    import torch
    x = np.arange(30, dtype=np.float32).reshape(1, 1, 5, 6)
    return torch_model(lambda x: torch.nn.functional.interpolate(x, scale_factor=1.8), x, 17)


@case
def pt_interpolate_opset_9():
    """The same as Upsample."""
    import torch
    x = np.arange(30, dtype=np.float32).reshape(1, 1, 5, 6)
    return torch_model(lambda x: torch.nn.functional.interpolate(x, scale_factor=1.8), x, 9)


@case
def pt_ceil_pool():
    """A size that inference of opset 17 gives one too large, since the last window would begin in
    the padding."""
    import torch
    x = np.arange(42, dtype=np.float32).reshape(1, 1, 6, 7)
    return torch_model(lambda x: torch.nn.functional.avg_pool2d(
        x, 2, padding=1, ceil_mode=True, count_include_pad=False), x, 17)


def main():
    warnings.filterwarnings("ignore")
    for name in sys.argv[1:] or CASES:
        try:
            model, feeds = CASES[name]()
        except ModuleNotFoundError as missing:
            print(f"{name}: {missing}")
            continue
        write(name, model, feeds)
        print(f"{name}: {(HERE / name / 'model.onnx').stat().st_size} bytes")


if __name__ == "__main__":
    main()
