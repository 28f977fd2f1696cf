"""Einsum."""
from case import FLOATS, case, f32, i64, join, spread


def cases():
    return join(
        case(
            "matmul", "Einsum", [spread((2, 3), 1, -3, 4), spread((3, 4), 2, -3, 4)], equation="ij,jk->ik",
            types="f32 f64 f16 bf16 i8 i16 i32 i64", rtol=1e-05,
        ),
        case(
            "unsigned", "Einsum", [[[1, 3, 4], [2, 0, 0]], [[0, 1], [2, 3], [4, 1]]], equation="ij,jk->ik",
            types="f32 u8 u16 u32 u64",
        ),
        case("implicit", "Einsum", [spread((2, 3), 1, -3, 4), spread((3, 4), 2, -3, 4)], equation="ij,jk"),
        case("implicit_sorted", "Einsum", [spread((2, 3), 1, -3, 4)], equation="ba"),
        case(
            "transpose", "Einsum", [spread((2, 3), 1, -3, 4)], equation="ij->ji",
            types="f32 f64 f16 bf16 i8 i16 i32 i64", rtol=1e-05,
        ),
        case(
            "sum_all", "Einsum", [spread((2, 3), 1, -3, 4)], equation="ij->",
            types="f32 f64 f16 bf16 i8 i16 i32 i64", rtol=1e-05,
        ),
        case("sum_axis", "Einsum", [spread((2, 3), 1, -3, 4)], equation="ij->i"),
        case("trace", "Einsum", [spread((3, 3), 3, -3, 4)], equation="ii->"),
        case("diagonal", "Einsum", [spread((3, 3), 3, -3, 4)], equation="ii->i"),
        case("diagonal_and_sum", "Einsum", [spread((2, 2, 3), 4, -3, 4)], equation="iij->j"),
        case("inner", "Einsum", [[2, -3, 1, -3], [-1, -1, 0, -1]], equation="i,i->"),
        case("outer", "Einsum", [[2, -3], [-1, -1, 0]], equation="i,j->ij"),
        case(
            "batched", "Einsum", [spread((2, 2, 3), 7, -3, 4), spread((2, 3, 2), 8, -3, 4)],
            equation="bij,bjk->bik", types="f32 f64 f16 bf16 i8 i16 i32 i64", rtol=1e-05,
        ),
        case(
            "attention_scores", "Einsum", [spread((1, 2, 2, 3), 9, -3, 4), spread((1, 3, 2, 3), 10, -3, 4)],
            equation="bqhd,bkhd->bhqk",
        ),
        case(
            "attention_context", "Einsum", [spread((1, 2, 2, 3), 11, -3, 4), spread((1, 3, 2, 2), 12, -3, 4)],
            equation="bhqk,bkhd->bqhd",
        ),
        case("hadamard", "Einsum", [spread((2, 3), 1, -3, 4), [[2, 0, 3], [-3, 1, 1]]], equation="ij,ij->ij"),
        case(
            "summed_before_product", "Einsum", [spread((2, 3), 1, -3, 4), spread((3, 4), 2, -3, 4)],
            equation="ij,kl->ik",
        ),
        case(
            "ellipsis", "Einsum", [spread((2, 1, 2, 2), 14, -3, 4), spread((3, 2, 2), 15, -3, 4)],
            equation="...ij,...jk->...ik", by="reference",
        ),
        case(
            "ellipsis_implicit", "Einsum", [spread((2, 3), 16, -3, 4), spread((2, 3), 17, -3, 4)],
            equation="...i,...i",
        ),
        case("ellipsis_sum", "Einsum", [spread((2, 2, 3), 18, -3, 4)], equation="...i->..."),
        case("ellipsis_middle", "Einsum", [spread((2, 3, 2), 19, -3, 4)], equation="a...b->b...a"),
        case("ellipsis_empty", "Einsum", [[2, 0, 3, -2], [1, 2, -1, -3]], equation="i...,i...->i..."),
        case(
            "three", "Einsum", [spread((2, 3), 1, -3, 4), spread((3, 4), 2, -3, 4), spread((4, 2), 22, -3, 4)],
            equation="ij,jk,kl->il", types=FLOATS, rtol=1e-05,
        ),
        case("four", "Einsum", [[1, -1, 2], [0, -3, 0], [-2, 1, -1], [-2, -1, 3]], equation="i,i,i,i->i"),
        case("broadcast_one", "Einsum", [[[3, 2, 3]], [[3, -1, 3], [-2, 0, 1]]], equation="ij,ij->ij"),
        case("spaces", "Einsum", [spread((2, 3), 1, -3, 4), spread((3, 4), 2, -3, 4)], equation=" ij , jk -> ik "),
        case("upper_case", "Einsum", [spread((2, 3), 1, -3, 4), spread((3, 4), 2, -3, 4)], equation="Ab,bC->AC"),
        case("scalar_operand", "Einsum", [3, [0, -3, 3]], equation=",i->i"),
        case(
            "repeated_in_both", "Einsum", [spread((2, 2, 3), 30, -3, 4), spread((3, 3), 31, -3, 4)],
            equation="iij,jj->i",
        ),
        case("empty_inner", "Einsum", [[[], []], f32([], (0, 3))], equation="ij,jk->ik"),
        case("empty_outer", "Einsum", [f32([], (0, 3)), spread((3, 4), 2, -3, 4)], equation="ij,jk->ik"),
        case("wraps_int8", "Einsum", [[100, 100], [3, 3]], equation="i,i->", types="i8"),
        case("empty_inner_int64", "Einsum", [[[], []], i64([], (0, 3))], equation="ij,jk->ik", types="i64"),
    )
