"""Cases of graph/microsoft/matmul.cc."""
import numpy as np
from make_cases import Case


def cases():
    rng = np.random.default_rng(1)

    def numbers(*dims, dtype=np.float32):
        return rng.standard_normal(dims).astype(dtype)

    def fused(name, attributes, a, b, op="FusedMatMul", **more):
        return Case(name, f"y = com.microsoft.{op} <{attributes}> (a, b)", {"a": a, "b": b}, ["y"],
                    **more)

    yield Case("fused_matmul", "y = com.microsoft.FusedMatMul (a, b)",
               {"a": numbers(2, 3, 4), "b": numbers(4, 5)}, ["y"])
    yield fused("fused_matmul_trans_a", "transA: int = 1, alpha: float = 0.5", numbers(4, 3),
                numbers(4, 5))
    yield fused("fused_matmul_trans_b", "transB: int = 1, alpha: float = -2.0", numbers(2, 3, 4),
                numbers(2, 5, 4))
    yield fused("fused_matmul_trans_both", "transA: int = 1, transB: int = 1", numbers(2, 4, 3),
                numbers(5, 4))
    yield fused("fused_matmul_batch_a", "transBatchA: int = 1", numbers(3, 2, 4), numbers(2, 4, 5))
    yield fused("fused_matmul_batch_b", "transBatchB: int = 1, transB: int = 1", numbers(2, 3, 4),
                numbers(5, 2, 4))
    yield fused("fused_matmul_batch_both",
                "transBatchA: int = 1, transBatchB: int = 1, transA: int = 1, alpha: float = 0.25",
                numbers(4, 2, 6, 3), numbers(4, 2, 6, 5))
    yield fused("fused_matmul_vector", "transA: int = 1, alpha: float = 3.0", numbers(4),
                numbers(4, 5))
    yield fused("fused_matmul_double", "transB: int = 1", numbers(3, 4, dtype=np.float64),
                numbers(5, 4, dtype=np.float64))
    yield fused("fused_matmul_dynamic", "transB: int = 1, alpha: float = 0.125", numbers(2, 3, 7, 4),
                numbers(2, 3, 9, 4), dims={"a": "batch,heads,rows,4", "b": "batch,heads,keys,4"})
    yield fused("transpose_matmul", "transA: int = 1, alpha: float = 0.5", numbers(2, 4, 3),
                numbers(2, 4, 5), op="TransposeMatMul")
    a, b, c = numbers(3, 4), numbers(4, 5), numbers(5)
    for activation, parameters in (("Relu", ""), ("LeakyRelu", ", activation_alpha: float = 0.3"),
                                   ("Tanh", ""), ("Sigmoid", ""),
                                   ("HardSigmoid", ", activation_alpha: float = 0.3, activation_beta: float = 0.4"),
                                   ("Selu", ", activation_alpha: float = 1.5, activation_gamma: float = 1.1"),
                                   ("Elu", ", activation_alpha: float = 0.7"), ("Softplus", "")):
        yield Case(f"fused_gemm_{activation.lower()}",
                   f'y = com.microsoft.FusedGemm <activation: string = "{activation}"{parameters}>'
                   " (a, b, c)", {"a": a, "b": b, "c": c}, ["y"])
    yield Case("fused_gemm_no_c",
               'y = com.microsoft.FusedGemm <activation: string = "Relu", transA: int = 1,'
               ' transB: int = 1, alpha: float = 0.5> (a, b)',
               {"a": numbers(4, 3), "b": numbers(5, 4)}, ["y"])
    yield Case("fused_gemm_beta",
               'y = com.microsoft.FusedGemm <activation: string = "Relu", beta: float = 2.0> (a, b, c)',
               {"a": a, "b": b, "c": numbers(3, 1)}, ["y"])
    x, w, bias = numbers(2, 3, 4), numbers(4, 5), numbers(5)
    z = x @ w + bias
    fast_gelu = (0.5 * z * (1 + np.tanh(0.7978845608 * (z + 0.044715 * z ** 3)))).astype(np.float32)
    yield Case("gemm_fast_gelu", "y = com.microsoft.GemmFastGelu (x, w, b)",
               {"x": x, "w": w, "b": bias}, ["y"], expected={"y": fast_gelu})
    b = numbers(5, 4)
    product = x @ b.T
    yield Case("fused_matmul_activation",
               'y = com.microsoft.FusedMatMulActivation <activation: string = "LeakyRelu",'
               ' activation_alpha: float = 0.2, transB: int = 1> (a, b)', {"a": x, "b": b}, ["y"],
               expected={"y": np.where(product < 0, np.float32(0.2) * product, product)})
    a, b = numbers(5, 3), numbers(4, 3)
    for metric in ("euclidean", "sqeuclidean"):
        yield Case(f"cdist_{metric}", f'c = com.microsoft.CDist <metric: string = "{metric}"> (a, b)',
                   {"a": a, "b": b}, ["c"])
    yield Case("cdist_double", 'c = com.microsoft.CDist (a, b)',
               {"a": a.astype(np.float64), "b": b.astype(np.float64)}, ["c"], dims={"a": "m,3", "b": "k,3"})
    for dtype in (np.float32, np.float64, np.float16):
        x = numbers(2, 3, 4, 4, dtype=dtype) + 3 * np.eye(4, dtype=dtype)
        yield Case(f"inverse_{np.dtype(dtype).name}", "y = com.microsoft.Inverse (x)", {"x": x}, ["y"],
                   dims={"x": "a,b,n,n"} if dtype == np.float64 else {})
    yield Case("inverse_empty", "y = com.microsoft.Inverse (x)", {"x": numbers(0, 3, 3)}, ["y"])
    yield Case("inverse_pivots", "y = com.microsoft.Inverse (x)",
               {"x": np.array([[0, 2, 0], [0, 0, -1], [4, 0, 0]], np.float32)}, ["y"])
