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
    words = np.array(["", "a", "ab", "abc", "abcd", "the quick brown fox"])
    values = {"string": words, "int32": np.array([[0, -1], [5, 77]], np.int32),
              "uint32": np.array([3, 2 ** 32 - 1], np.uint32), "int64": np.array([-9, 2 ** 40], np.int64),
              "uint64": np.array([2 ** 63], np.uint64), "float32": np.array([0.5, -1], np.float32),
              "float64": np.array([0.5, 1e300], np.float64)}
    for kind, x in values.items():
        yield Case(f"murmur_hash_{kind}", "y = com.microsoft.MurmurHash3 (x)", {"x": x}, ["y"],
                   types={"y": "uint32"})
        yield Case(f"murmur_hash_{kind}_signed",
                   "y = com.microsoft.MurmurHash3 <positive: int = 0, seed: int = 42> (x)", {"x": x}, ["y"],
                   types={"y": "int32"})
