"""Dropout."""
from case import b, case, f16, f64, join, ramp


def cases():
    return join(
        case("dropout", "Dropout", [[1, -2, 3]], types="f32 f64 f16 bf16 f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz"),
        case("mask", "Dropout", [[[1, 2]], 0.5], outputs=2),
        case("mode_false", "Dropout", [[1, 2], 0.9, b(0)], outputs=2),
        case("ratio_zero", "Dropout", [[1, 2], 0, b(1)], outputs=2),
        case("empty", "Dropout", [[]]),
        # numpy.random.RandomState(seed).uniform(0, 1, 6) >= ratio.
        case("seed_0", "Dropout", [ramp((6,), 1), 0.5, b(1)], seed=0, outputs=2),
        case("seed_7", "Dropout", [f16(ramp((6,), 3, 3)), f64(0.25), b(1)], seed=7, outputs=2, rtol=1e-05),
    )
