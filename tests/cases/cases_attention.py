"""Attention."""
from case import FLOATS, INF, b, case, f32, full, i64, join, spread

QKV = [
    spread((1, 2, 3, 2), 1, -64, 65, 0.03125),
    spread((1, 2, 4, 2), 2, -64, 65, 0.03125),
    spread((1, 2, 4, 3), 3, -64, 65, 0.015625),
]
MASKED = [*QKV, spread((3, 4), 4, -64, 65, 0.015625)]


def cases():
    return join(
        case("plain", "Attention", QKV, atol=2e-06),
        case("scale", "Attention", QKV, scale=0.25, atol=2e-06),
        case("softcap", "Attention", QKV, softcap=0.5, atol=2e-06),
        case("causal", "Attention", QKV, is_causal=1, atol=2e-06),
        case("window", "Attention", QKV, left_window_size=1, right_window_size=0, atol=2e-06),
        case("causal_window", "Attention", QKV, is_causal=1, left_window_size=1, right_window_size=2, atol=2e-06),
        case("mask_bool_rank2", "Attention", [*QKV, b([[1, 0, 1, 1], [0, 1, 1, 0], [0, 0, 0, 0]])], atol=2e-06),
        case("mask_float_rank2", "Attention", MASKED, by="reference", atol=2e-06),
        case("mask_rank1", "Attention", [*QKV, b([1, 0, 1, 1])], atol=2e-06),
        case("mask_rank3_heads", "Attention", [*QKV, spread((2, 1, 4), 5, -64, 65, 0.015625)], atol=2e-06),
        case("mask_rank4", "Attention", [*QKV, spread((1, 1, 3, 4), 6, -64, 65, 0.015625)], is_causal=1, atol=2e-06),
        case(
            "mask_short", "Attention", [*QKV, [[-0.953125, 0.09375], [-0.375, 0.84375], [-0.78125, 0.421875]]],
            atol=2e-06,
        ),
        case(
            "mask_infinite", "Attention", [*QKV, [[-INF, 0, 0, 0], [-INF, -INF, -INF, -INF], [0, -INF, 0, 1]]],
            atol=2e-06,
        ),
        case(
            "grouped", "Attention",
            [
                spread((2, 4, 2, 2), 8, -64, 65, 0.03125), spread((2, 2, 3, 2), 9, -64, 65, 0.03125),
                spread((2, 2, 3, 2), 10, -64, 65, 0.015625),
            ],
            atol=2e-06,
        ),
        case(
            "shared_head", "Attention",
            [
                spread((2, 4, 2, 2), 8, -64, 65, 0.03125), spread((2, 1, 3, 2), 9, -64, 65, 0.03125),
                spread((2, 1, 3, 2), 10, -64, 65, 0.015625),
            ],
            atol=2e-06,
        ),
        case(
            "packed", "Attention",
            [
                spread((2, 2, 4), 11, -64, 65, 0.03125), spread((2, 3, 2), 12, -64, 65, 0.03125),
                spread((2, 3, 4), 13, -64, 65, 0.015625),
            ],
            kv_num_heads=1, q_num_heads=2, by="reference", atol=2e-06,
        ),
        case(
            "packed_grouped_causal", "Attention",
            [
                spread((1, 2, 8), 14, -64, 65, 0.03125), spread((1, 2, 4), 15, -64, 65, 0.03125),
                spread((1, 2, 4), 16, -64, 65, 0.015625),
            ],
            is_causal=1, kv_num_heads=2, q_num_heads=4, atol=2e-06,
        ),
        case(
            "decode", "Attention",
            [
                [[[[0.15625, -0.9375]], [[-0.96875, -1.53125]]]], [[[[0.0625, -0.28125]], [[-1.375, 1.40625]]]],
                spread((1, 2, 1, 3), 20, -64, 65, 0.015625), None, spread((1, 2, 2, 2), 17, -64, 65, 0.03125),
                spread((1, 2, 2, 3), 18, -64, 65, 0.015625),
            ],
            is_causal=1, outputs=3, atol=2e-06,
        ),
        case(
            "decode_packed", "Attention",
            [
                [[[-1.71875, 1.34375, 0.84375, 0.875]]], [[[0.375, -0.71875, -0.25, -0.5625]]],
                [[[-0.15625, 0.234375, -0.09375, -0.625, -0.75, -0.015625]]], None,
                spread((1, 2, 2, 2), 17, -64, 65, 0.03125), spread((1, 2, 2, 3), 18, -64, 65, 0.015625),
            ],
            is_causal=1, kv_num_heads=2, q_num_heads=2, outputs=3, atol=2e-06,
        ),
        case(
            "decode_empty_past", "Attention",
            [
                [[[[0.15625, -0.9375]], [[-0.96875, -1.53125]]]], [[[[0.0625, -0.28125]], [[-1.375, 1.40625]]]],
                spread((1, 2, 1, 3), 20, -64, 65, 0.015625), None, f32([], (1, 2, 0, 2)), f32([], (1, 2, 0, 3)),
            ],
            is_causal=1, outputs=3, atol=2e-06,
        ),
        case(
            "prefill_past_window", "Attention",
            [
                spread((1, 2, 3, 2), 1, -64, 65, 0.03125), spread((1, 2, 3, 2), 25, -64, 65, 0.015625),
                spread((1, 2, 3, 3), 26, -64, 65, 0.015625), None, spread((1, 2, 2, 2), 17, -64, 65, 0.03125),
                spread((1, 2, 2, 3), 18, -64, 65, 0.015625),
            ],
            is_causal=1, left_window_size=2, outputs=3, atol=2e-06,
        ),
        case(
            "scores_mode0", "Attention", MASKED, qk_matmul_output_mode=0, softcap=0.0, outputs="1001", by="reference",
            atol=2e-06,
        ),
        case("scores_mode1", "Attention", MASKED, qk_matmul_output_mode=1, softcap=1.5, outputs="1001", atol=2e-06),
        case("scores_mode2", "Attention", MASKED, qk_matmul_output_mode=2, softcap=1.5, outputs="1001", atol=2e-06),
        case("scores_mode3", "Attention", MASKED, qk_matmul_output_mode=3, softcap=1.5, outputs="1001", atol=2e-06),
        case(
            "nonpad", "Attention",
            [
                spread((2, 1, 2, 2), 27, -64, 65, 0.03125), spread((2, 1, 3, 2), 28, -64, 65, 0.03125),
                spread((2, 1, 3, 2), 29, -64, 65, 0.015625), None, None, None, i64([2, 3]),
            ],
            atol=2e-06,
        ),
        case(
            "nonpad_causal", "Attention",
            [
                spread((2, 1, 2, 2), 27, -64, 65, 0.03125), spread((2, 1, 3, 2), 28, -64, 65, 0.03125),
                spread((2, 1, 3, 2), 29, -64, 65, 0.015625), None, None, None, i64([1, 3]),
            ],
            is_causal=1, atol=2e-06,
        ),
        case("softmax_precision_double", "Attention", QKV, softmax_precision=11, atol=2e-06),
        case(
            "wide_head", "Attention",
            [
                spread((1, 1, 2, 36), 30, -64, 65, 0.015625), spread((1, 1, 5, 36), 31, -64, 65, 0.015625),
                spread((1, 1, 5, 3), 32, -64, 65, 0.015625),
            ],
            atol=2e-06,
        ),
        case(
            "many_keys", "Attention",
            [
                [[[[-1.53125, 0.71875], [-1.6875, 0.28125]]]], spread((1, 1, 70, 2), 34, -64, 65, 0.03125),
                spread((1, 1, 70, 1), 35, -64, 65, 0.015625), None, [[[[-0.609375, -0.578125]]]], [[[[-0.328125]]]],
            ],
            is_causal=1, atol=2e-06,
        ),
        case(
            "uniform", "Attention",
            [[[[[0, 0], [0, 0]]]], full((1, 1, 4, 2), 0), [[[[4, 4], [4, -8], [-8, 4], [-4, -12]]]]], types=FLOATS,
            rtol=1e-05, atol=2e-06,
        ),
        case(
            "attention_empty_batch", "Attention",
            [f32([], (0, 2, 3, 2)), f32([], (0, 2, 4, 2)), f32([], (0, 2, 4, 3))],
        ),
        case(
            "attention_double_scores", "Attention", [[[[[1, 0]]]], [[[[0, 1], [0, 2]]]], [[[[2], [4]]]]], scale=1.0,
            types="f64",
        ),
    )
