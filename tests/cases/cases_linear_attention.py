"""LinearAttention and CausalConvWithState."""
from case import case, f32, join, spread


def cases():
    return join(
        case(
            "linear", "LinearAttention",
            [
                spread((1, 3, 4), 1, -64, 65, 0.015625), spread((1, 3, 4), 2, -64, 65, 0.015625),
                spread((1, 3, 6), 3, -64, 65, 0.015625),
            ],
            kv_num_heads=2, q_num_heads=2, update_rule="linear", outputs=2, atol=2e-06,
        ),
        case(
            "linear_past", "LinearAttention",
            [
                spread((1, 3, 4), 1, -64, 65, 0.015625), spread((1, 3, 4), 2, -64, 65, 0.015625),
                spread((1, 3, 6), 3, -64, 65, 0.015625), spread((1, 2, 2, 3), 4, -64, 65, 0.015625),
            ],
            kv_num_heads=2, q_num_heads=2, scale=0.5, update_rule="linear", outputs=2, atol=2e-06,
        ),
        case(
            "gated_per_head", "LinearAttention",
            [
                spread((1, 3, 4), 1, -64, 65, 0.015625), spread((1, 3, 4), 2, -64, 65, 0.015625),
                spread((1, 3, 6), 3, -64, 65, 0.015625), spread((1, 2, 2, 3), 4, -64, 65, 0.015625),
                spread((1, 3, 2), 5, -64, 65, 0.015625),
            ],
            kv_num_heads=2, q_num_heads=2, update_rule="gated", outputs=2, atol=2e-06,
        ),
        case(
            "gated_per_key", "LinearAttention",
            [
                spread((1, 3, 4), 1, -64, 65, 0.015625), spread((1, 3, 4), 2, -64, 65, 0.015625),
                spread((1, 3, 6), 3, -64, 65, 0.015625), None, spread((1, 3, 4), 6, -64, 65, 0.015625),
            ],
            kv_num_heads=2, q_num_heads=2, update_rule="gated", outputs=2, atol=2e-06,
        ),
        case(
            "delta", "LinearAttention",
            [
                spread((1, 3, 4), 1, -64, 65, 0.015625), spread((1, 3, 4), 2, -64, 65, 0.015625),
                spread((1, 3, 6), 3, -64, 65, 0.015625), spread((1, 2, 2, 3), 4, -64, 65, 0.015625), None,
                [[[-0.953125, 0.09375], [-0.375, 0.84375], [-0.78125, 0.421875]]],
            ],
            kv_num_heads=2, q_num_heads=2, update_rule="delta", outputs=2, atol=2e-06,
        ),
        case(
            "delta_shared_beta", "LinearAttention",
            [
                spread((1, 3, 4), 1, -64, 65, 0.015625), spread((1, 3, 4), 2, -64, 65, 0.015625),
                spread((1, 3, 6), 3, -64, 65, 0.015625), spread((1, 2, 2, 3), 4, -64, 65, 0.015625), None,
                [[[0.546875], [0.453125], [0.1875]]],
            ],
            kv_num_heads=2, q_num_heads=2, update_rule="delta", outputs=2, atol=2e-06,
        ),
        case(
            "gated_delta", "LinearAttention",
            [
                spread((1, 3, 4), 1, -64, 65, 0.015625), spread((1, 3, 4), 2, -64, 65, 0.015625),
                spread((1, 3, 6), 3, -64, 65, 0.015625), spread((1, 2, 2, 3), 4, -64, 65, 0.015625),
                [[[-0.875, -0.90625], [-1, 0.796875], [0.15625, -0.34375]]],
                spread((1, 3, 2), 10, -64, 65, 0.015625),
            ],
            kv_num_heads=2, q_num_heads=2, outputs=2, atol=2e-06,
        ),
        case(
            "gated_delta_grouped", "LinearAttention",
            [
                spread((2, 2, 8), 11, -64, 65, 0.015625), spread((2, 2, 4), 12, -64, 65, 0.015625),
                spread((2, 2, 2), 13, -64, 65, 0.015625), None, spread((2, 2, 4), 14, -64, 65, 0.015625),
                spread((2, 2, 2), 15, -64, 65, 0.015625),
            ],
            kv_num_heads=2, q_num_heads=4, outputs=2, atol=2e-06,
        ),
        case(
            "exact", "LinearAttention",
            [spread((1, 2, 4), 16, -3, 4), spread((1, 2, 4), 17, -3, 4), [[[-1, 2], [-2, -2]]]], kv_num_heads=2,
            q_num_heads=2, scale=1.0, update_rule="linear", outputs=2, types="f32 f16 bf16", rtol=1e-05, atol=2e-06,
        ),
        case(
            "linear_attention_no_steps", "LinearAttention",
            [f32([], (1, 0, 4)), f32([], (1, 0, 4)), f32([], (1, 0, 6)), spread((1, 2, 2, 3), 4, -64, 65, 0.015625)],
            kv_num_heads=2, q_num_heads=2, update_rule="linear", outputs=2,
        ),
        case(
            "causal_plain", "CausalConvWithState", [spread((2, 3, 4), 20, -3, 4), spread((3, 1, 3), 21, -3, 4)],
            outputs=2, types="f32 f16 bf16", rtol=1e-05,
        ),
        case(
            "causal_bias_state", "CausalConvWithState",
            [spread((2, 3, 4), 20, -3, 4), spread((3, 1, 3), 21, -3, 4), [3, -2, 0], spread((2, 3, 2), 23, -3, 4)],
            outputs=2, types="f32 f16 bf16", rtol=1e-05,
        ),
        case(
            "causal_silu", "CausalConvWithState",
            [spread((2, 3, 4), 20, -3, 4), spread((3, 1, 3), 21, -3, 4), None, spread((2, 3, 2), 23, -3, 4)],
            activation="silu", outputs=2,
        ),
        case(
            "causal_one_tap", "CausalConvWithState", [spread((2, 3, 4), 20, -3, 4), [[[0]], [[-3]], [[0]]]],
            outputs=2,
        ),
        case(
            "causal_step", "CausalConvWithState",
            [[[[-2], [1]]], spread((2, 1, 4), 26, -3, 4), [3, 2], [[[3, -1, 3], [-2, 0, 1]]]], activation="swish",
            outputs=2,
        ),
        case("causal_short", "CausalConvWithState", [[[[-2], [1]]], spread((2, 1, 4), 26, -3, 4)], outputs=2),
    )
