"""Cases of graph/microsoft/gather_scatter.cc."""
import numpy as np
from make_cases import Case


def cases():
    rng = np.random.default_rng(7)
    data = rng.standard_normal((2, 3, 4)).astype(np.float32)
    for dtype in (np.int32, np.int64):
        indices = np.array([[0, 1], [1, -1]], dtype)
        yield Case(f"gather_nd_{np.dtype(dtype).name}", "y = com.microsoft.GatherND (x, i)",
                   {"x": data, "i": indices}, ["y"], dims={"x": "a,b,c"} if dtype == np.int32 else {})
    yield Case("gather_nd_elements", "y = com.microsoft.GatherND (x, i)",
               {"x": data, "i": np.array([[[0, 1, 2]], [[1, 2, 3]]], np.int64)}, ["y"])
    weight, indices = data[0], np.array([[2, 0], [1, 1]], np.int64)
    yield Case("torch_embedding", "y = com.microsoft.TorchEmbedding (w, i, p)",
               {"w": weight, "i": indices, "p": np.array(1, np.int64)}, ["y"],
               expected={"y": weight[indices]})
    ids = np.array([[3, 1, 2, 1, 2, 3, 1], [0, 0, 0, 0, 0, 0, 0]], np.int64)
    scores = rng.standard_normal((2, 5)).astype(np.float32)
    for n in (1, 2, 3, 7, 9):
        yield Case(f"ngram_{n}", f"y = com.microsoft.NGramRepeatBlock <ngram_size: int = {n}> (i, s)",
                   {"i": ids, "s": scores}, ["y"],
                   dims={"i": "batch,length", "s": "batch,words"} if n == 3 else {})
