"""ArrayFeatureExtractor, Binarizer, Scaler, Imputer, Normalizer, FeatureVectorizer and OneHotEncoder."""
from case import INF, NAN, case, i64, join, text


def cases():
    return join(
        case("extract", "ai.onnx.ml.ArrayFeatureExtractor", [[[1, -2, 3], [0, 5, -6]], i64([2, 0, 2])]),
        case("extract_string", "ai.onnx.ml.ArrayFeatureExtractor", [text(["a", "b"]), i64([1])]),
        case("threshold", "ai.onnx.ml.Binarizer", [[[1, -2, 3], [0, 5, -6]]], threshold=1.0),
        case("int64", "ai.onnx.ml.Binarizer", [i64([-1, 0, 2])]),
        case(
            "per_feature", "ai.onnx.ml.Scaler", [[[1, -2, 3], [0, 5, -6]]], offset=[1.0, 2.0, 3.0],
            scale=[2.0, 0.5, -1.0], by="reference",
        ),
        case("one_for_all", "ai.onnx.ml.Scaler", [i64([[1, 2]])], offset=[1.0], scale=[0.5], by="onnxruntime"),
        case(
            "value", "ai.onnx.ml.Imputer", [[[1, -2, 3], [0, 5, -6]]], imputed_value_floats=[9.0, 8.0, 7.0],
            replaced_value_float=5.0, by="reference",
        ),
        case(
            "nan", "ai.onnx.ml.Imputer", [[[1, NAN]]], imputed_value_floats=[4.0], replaced_value_float=NAN,
            by="reference",
        ),
        case(
            "imputer_int64", "ai.onnx.ml.Imputer", [i64([[-1, 3]])], imputed_value_int64s=[7],
            replaced_value_int64=-1,
        ),
        case("max", "ai.onnx.ml.Normalizer", [[[1, -2, 3], [0, 5, 6]]], norm="MAX", by="reference"),
        case("l1", "ai.onnx.ml.Normalizer", [[[1, -2, 3], [0, 5, 6]]], norm="L1", by="reference"),
        case("l2", "ai.onnx.ml.Normalizer", [[[1, -2, 3], [0, 5, 6]]], norm="L2", by="reference"),
        case("zeros", "ai.onnx.ml.Normalizer", [[[0, 0]]], norm="L2", by="reference"),
        case(
            "two", "ai.onnx.ml.FeatureVectorizer", [[[1, -2, 3], [0, 5, -6]], [[7], [8]]], inputdimensions=[3, 1],
            by="reference",
        ),
        case("one_hot_encoder_int64", "ai.onnx.ml.OneHotEncoder", [i64([1, 3, 9])], cats_int64s=[3, 1, 2]),
        case(
            "floats_that_are_no_integers_are_no_categories", "ai.onnx.ml.OneHotEncoder", [[3, 1e+30, NAN, -INF]],
            cats_int64s=[3, -9223372036854775808],
        ),
        case("string", "ai.onnx.ml.OneHotEncoder", [text([["b", "c"]])], cats_strings=["a", "b"]),
    )
