"""RotaryEmbedding."""
from case import case, f32, i64, join, spread


def cases():
    return join(
        case(
            "rotary", "RotaryEmbedding",
            [
                spread((1, 2, 3, 4), 42, -64, 65, 0.015625), spread((4, 2), 40, -64, 65, 0.015625),
                spread((4, 2), 41, -64, 65, 0.015625), i64([[0, 2, 3]]),
            ],
        ),
        case(
            "rotary_interleaved", "RotaryEmbedding",
            [
                spread((1, 2, 3, 4), 42, -64, 65, 0.015625), spread((4, 2), 40, -64, 65, 0.015625),
                spread((4, 2), 41, -64, 65, 0.015625), i64([[0, 2, 3]]),
            ],
            interleaved=1,
        ),
        case(
            "rotary_packed", "RotaryEmbedding",
            [
                spread((1, 3, 8), 43, -64, 65, 0.015625), spread((4, 2), 40, -64, 65, 0.015625),
                spread((4, 2), 41, -64, 65, 0.015625), i64([[0, 2, 3]]),
            ],
            num_heads=2,
        ),
        case(
            "rotary_partial", "RotaryEmbedding",
            [
                spread((1, 1, 3, 6), 44, -64, 65, 0.015625), spread((4, 2), 40, -64, 65, 0.015625),
                spread((4, 2), 41, -64, 65, 0.015625), i64([[0, 2, 3]]),
            ],
            rotary_embedding_dim=4,
        ),
        case(
            "rotary_partial_interleaved", "RotaryEmbedding",
            [
                spread((1, 3, 4), 45, -64, 65, 0.015625), [[0.625], [0.375], [0.5625], [0.84375]],
                [[0.375], [0.203125], [-0.890625], [-0.734375]], i64([[0, 2, 3]]),
            ],
            interleaved=1, num_heads=1, rotary_embedding_dim=2,
        ),
        case(
            "rotary_no_ids", "RotaryEmbedding",
            [
                spread((2, 1, 2, 4), 48, -64, 65, 0.015625), spread((2, 2, 2), 49, -64, 65, 0.015625),
                spread((2, 2, 2), 50, -64, 65, 0.015625),
            ],
        ),
        case(
            "rotary_exact", "RotaryEmbedding",
            [spread((1, 1, 2, 4), 51, -3, 4), [[0, 1], [2, 2]], [[0, 2], [0, 1]], i64([[1, 0]])],
            types="f32 f16 bf16", rtol=1e-05,
        ),
        case(
            "rotary_empty_batch", "RotaryEmbedding",
            [
                f32([], (0, 2, 3, 4)), spread((4, 2), 40, -64, 65, 0.015625), spread((4, 2), 41, -64, 65, 0.015625),
                i64([], (0, 3)),
            ],
        ),
    )
