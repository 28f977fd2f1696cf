"""Cases of training/gradient/matmul.cc and einsum.cc."""
import numpy as np
import torch
from make_cases import Case


def cases():
    rng = np.random.default_rng(0)

    def numbers(*dims):
        return rng.standard_normal(dims)

    shapes = {"matrices": ((2, 3), (3, 4)), "batch": ((2, 2, 3), (2, 3, 4)), "batch_shared": ((5, 2, 3), (3, 4)),
              "batch_broadcast": ((2, 1, 2, 3), (5, 3, 4)), "left_vector": ((3,), (3, 4)), "right_vector": ((2, 3), (3,)),
              "vectors": ((3,), (3,)), "left_vector_batch": ((3,), (2, 3, 4)), "right_vector_batch": ((5, 2, 3), (3,)),
              "left_shared": ((2, 3), (5, 3, 4)), "one_by_one": ((1, 1), (1, 1)), "empty": ((0, 3), (3, 2))}
    for name, (a, b) in shapes.items():
        yield Case(f"matmul_{name}", "y = MatMul (a, b)", {"a": numbers(*a), "b": numbers(*b)}, torch.matmul)
    yield Case("matmul_self", "t = Transpose (a)\ny = MatMul (a, t)", {"a": numbers(2, 3)}, lambda a: a @ a.T)
    for ta in (0, 1):
        for tb in (0, 1):
            yield Case(f"gemm_{ta}{tb}", f"y = Gemm <transA = {ta}, transB = {tb}, alpha = 0.5, beta = 2.0> (a, b, c)",
                       {"a": numbers(*((3, 2) if ta else (2, 3))), "b": numbers(*((4, 3) if tb else (3, 4))), "c": numbers(4)},
                       lambda a, b, c, ta=ta, tb=tb: 0.5 * (a.T if ta else a) @ (b.T if tb else b) + 2 * c)
    for name, c in (("scalar", ()), ("row", (1, 4)), ("column", (2, 1)), ("full", (2, 4))):
        yield Case(f"gemm_{name}", "y = Gemm (a, b, c)", {"a": numbers(2, 3), "b": numbers(3, 4), "c": numbers(*c)},
                   lambda a, b, c: a @ b + c)
    yield Case("gemm_no_bias", "y = Gemm (a, b)", {"a": numbers(2, 3), "b": numbers(3, 4)}, torch.matmul)

    equations = {
        "matmul": ("ij,jk->ik", (2, 3), (3, 4)), "implicit": ("ij,jk", (2, 3), (3, 4)),
        "implicit_sorted": ("ba,cb", (2, 3), (4, 2)),
        "batch": ("bij,bjk->bik", (2, 3, 4), (2, 4, 2)), "attention": ("bqhd,bkhd->bhqk", (2, 3, 2, 4), (2, 5, 2, 4)),
        "transpose": ("ij->ji", (2, 3)), "trace": ("ii->", (3, 3)), "diagonal": ("ii->i", (3, 3)),
        "batch_diagonal": ("...ii->...i", (2, 3, 3)), "triple_diagonal": ("iii->i", (3, 3, 3)),
        "sum": ("ij->", (2, 3)), "row_sums": ("ij->i", (2, 3)), "sum_both": ("ij,k->", (2, 3), (4,)),
        "outer": ("i,j->ij", (2,), (3,)), "inner": ("i,i->", (3,), (3,)), "bilinear": ("i,ij,j->", (2,), (2, 3), (3,)),
        "three": ("ab,bc,cd->ad", (2, 3), (3, 4), (4, 2)), "ellipsis": ("...ij,...jk->...ik", (2, 1, 2, 3), (2, 5, 3, 4)),
        "ellipsis_middle": ("i...j,j->i...", (2, 5, 3), (3,)), "ellipsis_implicit": ("...i,i", (2, 3), (3,)),
        "ellipsis_one": ("...i,i->...", (4, 2, 3), (3,)), "broadcast_one": ("ij,ij->ij", (2, 3), (2, 3)),
        "hadamard": ("ij,ij,ij->ij", (2, 3), (2, 3), (2, 3)), "upper": ("Ab,bC->AC", (2, 3), (3, 4)),
        "spaces": (" i j , j k -> i k ", (2, 3), (3, 4)), "scalar": (",i->i", (), (3,)),
        "diagonal_product": ("ii,i->i", (3, 3), (3,)), "ones": ("bi,ij->bj", (1, 3), (3, 1)),
    }
    for name, (equation, *dims) in equations.items():
        names = "abc"[:len(dims)]
        yield Case(f"einsum_{name}", f'y = Einsum <equation = "{equation}"> ({", ".join(names)})',
                   {n: numbers(*d) for n, d in zip(names, dims)},
                   lambda *x, equation=equation: torch.einsum(equation, *x), static=name == "ellipsis")
