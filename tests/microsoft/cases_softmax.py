"""Cases of graph/microsoft/softmax.cc; ONNX Runtime's CPU provider has no kernel."""
import numpy as np
from make_cases import Case


def softmax_from(x, axis):
    rows = x.reshape(int(np.prod(x.shape[:axis])), -1).astype(np.float64)
    e = np.exp(rows - rows.max(axis=1, keepdims=True))
    return (e / e.sum(axis=1, keepdims=True)).reshape(x.shape).astype(x.dtype)


def cases():
    rng = np.random.default_rng(3)

    def case(name, x_dims, bias_dims, axis, inner, dtype=np.float32, **more):
        x = rng.standard_normal(x_dims).astype(dtype)
        bias = rng.standard_normal(bias_dims).astype(dtype)
        y = softmax_from(x + bias, axis % x.ndim)
        return Case(name, f"y = com.microsoft.BiasSoftmax <axis: int = {axis},"
                    f" is_inner_broadcast: int = {inner}> (x, b)", {"x": x, "b": bias}, ["y"],
                    expected={"y": y}, **more)

    yield case("inner", (2, 3, 4, 5), (2, 1, 1, 5), 3, 1)
    yield case("outer", (2, 3, 4, 5), (1, 1, 4, 5), -1, 0)
    yield case("outer_short", (2, 3, 4, 5), (4, 5), 3, 0)
    yield case("many_axes", (2, 3, 4, 5), (1, 1, 4, 5), 2, 0)
    yield case("all_but_one", (3, 4, 5), (3, 4, 5), 1, 0)
    yield case("half", (2, 3, 4, 5), (2, 1, 1, 5), 3, 1, np.float16)
    yield case("double", (2, 3, 4), (3, 4), 2, 0, np.float64)
    yield case("dynamic", (2, 3, 4, 5), (2, 1, 1, 5), 2, 1, dims={"x": "b,3,s,t", "b": "b,1,1,t"})
