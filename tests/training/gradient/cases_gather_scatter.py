"""Cases of training/gradient/gather_scatter.cc."""
import numpy as np
import torch
from make_cases import Case


def cases():
    rng = np.random.default_rng(0)

    def numbers(*dims):
        return rng.standard_normal(dims)

    i = np.array([[0, 2], [-1, 2]])
    wrapped = {3: np.array([[0, 2], [2, 2]]), 4: np.array([[0, 2], [3, 2]])}
    yield Case("gather_rows", "y = Gather (x, i)", {"x": numbers(3, 2), "i": i}, lambda x, i: x[i], data=("i",))
    yield Case("gather_constant", "y = Gather (x, i)", {"x": numbers(3, 2), "i": i}, lambda x, i: x[i])
    yield Case("gather_columns", "y = Gather <axis = 1> (x, i)", {"x": numbers(2, 3, 2), "i": i}, lambda x, i: x[:, i], data=("i",))
    yield Case("gather_last", "y = Gather <axis = -1> (x, i)", {"x": numbers(2, 2, 4), "i": i}, lambda x, i: x[:, :, i], data=("i",))
    yield Case("gather_scalar", "y = Gather <axis = 1> (x, i)", {"x": numbers(2, 3), "i": np.array(-2)}, lambda x, i: x[:, 1], data=("i",))
    yield Case("gather_vector", "y = Gather (x, i)", {"x": numbers(4), "i": np.array([3, 3, 0, 3])}, lambda x, i: x[i], data=("i",))
    yield Case("gather_int32", "y = Gather (x, i)", {"x": numbers(4, 2), "i": np.array([1, -1], np.int32)},
               lambda x, i: x[[1, 3]], data=("i",))
    yield Case("gather_empty", "y = Gather (x, i)", {"x": numbers(4, 2), "i": np.zeros(0, np.int64)}, lambda x, i: x[i], data=("i",))
    e = np.array([[0, -1], [1, 1], [0, 0]])
    at = torch.from_numpy(np.where(e < 0, e + 3, e))
    yield Case("gather_elements", "y = GatherElements (x, i)", {"x": numbers(3, 2), "i": e}, lambda x, i: x.gather(0, at), data=("i",))
    yield Case("gather_elements_last", "y = GatherElements <axis = -1> (x, i)", {"x": numbers(3, 4), "i": np.abs(e)},
               lambda x, i: x.gather(1, i), data=("i",))
    n = np.array([[0, 1], [-1, 2], [0, 1]])
    yield Case("gather_nd", "y = GatherND (x, i)", {"x": numbers(2, 3, 2), "i": n}, lambda x, i: x[i[:, 0], i[:, 1]], data=("i",))
    yield Case("gather_nd_full", "y = GatherND (x, i)", {"x": numbers(2, 3), "i": n}, lambda x, i: x[i[:, 0], i[:, 1]], data=("i",))
    yield Case("gather_nd_batch", "y = GatherND <batch_dims = 1> (x, i)", {"x": numbers(2, 3, 2), "i": np.array([[2], [0]])},
               lambda x, i: torch.stack([x[0, 2], x[1, 0]]), data=("i",))
    yield Case("gather_nd_batch_many", "y = GatherND <batch_dims = 1> (x, i)",
               {"x": numbers(2, 3, 2), "i": np.array([[[2, 0], [1, 1]], [[0, 0], [0, 0]]])},
               lambda x, i: torch.stack([x[b, i[b, :, 0], i[b, :, 1]] for b in range(2)]), data=("i",))

    reduce = {"none": None, "add": "sum", "mul": "prod", "max": "amax", "min": "amin"}
    for onnx_name, torch_name in reduce.items():
        unique = np.array([[2, 0], [1, 2]])
        repeated = np.array([[0, 0], [1, 0], [0, 1]])
        index = unique if torch_name is None else repeated
        if torch_name is None:
            f = lambda x, i, u: x.scatter(0, i, u)
        else:
            f = lambda x, i, u, r=torch_name: x.scatter_reduce(0, i, u, r)
        call = f'y = ScatterElements <reduction = "{onnx_name}"> (x, i, u)'
        yield Case(f"scatter_elements_{onnx_name}", call, {"x": numbers(3, 2), "i": index, "u": numbers(*index.shape)}, f, data=("i",))
        if onnx_name in ("max", "min"):
            yield Case(f"scatter_elements_{onnx_name}_ties", call,
                       {"x": np.ones((3, 2)), "i": repeated, "u": np.array([[1.0, 1], [2, 0], [1, 0]])}, f, data=("i",), smooth=False)
        if onnx_name == "mul":
            yield Case("scatter_elements_mul_zeros", call,
                       {"x": np.array([[0.0, 2], [3, 4], [0, 1]]), "i": repeated, "u": np.array([[0.0, 0], [5, 0], [3, 2]])},
                       f, data=("i",))
        rows = np.array([[2], [0]]) if torch_name is None else np.array([[0], [1], [0], [-2]])
        count = len(rows)
        if torch_name is None:
            g = lambda x, i, u: x.index_put((i[:, 0],), u)
        else:
            g = lambda x, i, u, r=torch_name: x.index_reduce(0, i[:, 0] % 3, u, r) if r != "sum" else x.index_add(0, i[:, 0] % 3, u)
        yield Case(f"scatter_nd_{onnx_name}", f'y = ScatterND <reduction = "{onnx_name}"> (x, i, u)',
                   {"x": numbers(3, 2), "i": rows, "u": numbers(count, 2)}, g, data=("i",))
    yield Case("scatter_elements_axis", "y = ScatterElements <axis = 1> (x, i, u)",
               {"x": numbers(2, 4), "i": np.array([[1, -1], [0, 2]]), "u": numbers(2, 2)},
               lambda x, i, u: x.scatter(1, i % 4, u), data=("i",))
    yield Case("scatter_nd_elements", "y = ScatterND (x, i, u)", {"x": numbers(2, 3), "i": np.array([[0, 1], [1, 2]]), "u": numbers(2)},
               lambda x, i, u: x.index_put((i[:, 0], i[:, 1]), u), data=("i",))
    for mode in ("linear", "circular"):
        def scatter(x, u, w, mode=mode):
            y = x.clone()
            for b in range(2):
                for k in range(2):
                    y[b, :, (int(w[b]) + k) % 4] = u[b, :, k]
            return y
        yield Case(f"tensor_scatter_{mode}", f'y = TensorScatter <mode = "{mode}"> (x, u, w)',
                   {"x": numbers(2, 2, 4, 3), "u": numbers(2, 2, 2, 3), "w": np.array([1, 3 if mode == "circular" else 2])},
                   scatter, data=("w",))
    yield Case("tensor_scatter_start", "y = TensorScatter <axis = 1> (x, u)", {"x": numbers(2, 4, 3), "u": numbers(2, 2, 3)},
               lambda x, u: torch.cat([u, x[:, 2:]], 1))
    k = np.array([2])
    yield Case("topk", "y, i = TopK (x, k)", {"x": numbers(3, 5), "k": k}, lambda x, k: torch.topk(x, 2), outputs=("y", "i"))
    yield Case("topk_smallest", "y, i = TopK <axis = 0, largest = 0> (x, k)", {"x": numbers(4, 3), "k": k},
               lambda x, k: torch.topk(x, 2, 0, largest=False)[0])
    yield Case("topk_input", "y, i = TopK (x, k)", {"x": numbers(3, 5), "k": k}, lambda x, k: torch.topk(x, 2), outputs=("y", "i"),
               data=("k",))
    yield Case("one_hot", "y = OneHot (i, depth, v)", {"i": np.array([1, 0, 5]), "depth": np.array(3), "v": np.array([0.25, 2.0])},
               lambda i, d, v: torch.where(i[:, None] == torch.arange(3), v[1], v[0]), data=("i",))
