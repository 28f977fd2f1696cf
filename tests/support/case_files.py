"""What the make_cases.py of several rooms share."""
import onnx


def array_type(array, dims=None):
    """The array's type in ONNX's text syntax; `dims` in place of its own: "" of any rank."""
    name = onnx.TensorProto.DataType.Name(onnx.helper.np_dtype_to_tensor_dtype(array.dtype)).lower()
    if dims is None and array.ndim == 0:
        return name
    return f"{name}[{','.join(map(str, array.shape)) if dims is None else dims}]"


def families(directory, wanted):
    """The families that are wanted, else all that have a table in the directory."""
    return wanted or sorted(path.stem[len("cases_"):] for path in directory.glob("cases_*.py"))
