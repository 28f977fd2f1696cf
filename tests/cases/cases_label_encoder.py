"""LabelEncoder and CategoryMapper."""
from case import NAN, array, case, i64, join, text


def cases():
    return join(
        case(
            "string_int64", "ai.onnx.ml.LabelEncoder", [text(["a", "d", "c"])], default_int64=42,
            keys_strings=["a", "b", "c"], values_int64s=[0, 1, 2],
        ),
        case(
            "int64_string", "ai.onnx.ml.LabelEncoder", [i64([5, 1, 0])], keys_int64s=[1, 5],
            values_strings=["one", "five"],
        ),
        case(
            "float_nan", "ai.onnx.ml.LabelEncoder", [[NAN, 1, 2]], default_float=-1.0, keys_floats=[1.0, NAN],
            values_floats=[5.0, 6.0], by="onnxruntime",
        ),
        case(
            "tensors", "ai.onnx.ml.LabelEncoder", [text(["y", "z"])], default_tensor=array([9], "i16"),
            keys_tensor=text(["x", "y"]), values_tensor=array([3, 4], "i16"),
        ),
        case(
            "strings", "ai.onnx.ml.CategoryMapper", [text(["v", "w"])], cats_int64s=[7, 8], cats_strings=["u", "v"],
            default_int64=-5, by="onnxruntime",
        ),
        case(
            "numbers", "ai.onnx.ml.CategoryMapper", [i64([8, 1])], cats_int64s=[7, 8], cats_strings=["u", "v"],
            default_string="none", by="onnxruntime",
        ),
    )
