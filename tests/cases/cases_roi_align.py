"""RoiAlign."""
from case import case, f32, i64, join, wave

X1 = wave((2, 1, 5, 6))


def cases():
    return join(
        case(
            "adaptive", "RoiAlign", [X1, [[0, 0, 5, 4], [1, 2, 4, 3.5]], i64([0, 1])], output_height=2,
            output_width=3, rtol=0.0001, atol=1e-05,
        ),
        case(
            "ratio", "RoiAlign", [X1, [[0, 0, 5, 4], [1, 2, 4, 3.5]], i64([1, 1])], output_height=2, output_width=2,
            sampling_ratio=2, spatial_scale=0.5, rtol=0.0001, atol=1e-05,
        ),
        case(
            "output_half_pixel", "RoiAlign", [X1, [[-2, -2, 9, 9]], i64([0])],
            coordinate_transformation_mode="output_half_pixel", output_height=3, output_width=3, sampling_ratio=2,
            rtol=0.0001, atol=1e-05,
        ),
        case(
            "malformed", "RoiAlign", [X1, [[4, 4, 1, 1]], i64([0])],
            coordinate_transformation_mode="output_half_pixel", output_height=2, output_width=2, rtol=0.0001,
            atol=1e-05,
        ),
        case(
            "max", "RoiAlign",
            [
                [
                    [
                        [
                            [0, 0.84, 0.91, 0.14, 0.76, 0.96], [0.28, 0.66, 0.99, 0.41, 0.54, 1],
                            [0.54, 0.42, 0.99, 0.65, 0.29, 0.96], [0.75, 0.15, 0.91, 0.84, 0.01, 0.85],
                            [0.91, 0.13, 0.76, 0.96, 0.27, 0.66],
                        ],
                    ],
                    [
                        [
                            [0.99, 0.4, 0.55, 1, 0.53, 0.43], [0.99, 0.64, 0.3, 0.96, 0.75, 0.16],
                            [0.92, 0.83, 0.02, 0.85, 0.9, 0.12], [0.77, 0.95, 0.26, 0.67, 0.99, 0.4],
                            [0.56, 1, 0.52, 0.44, 0.99, 0.64],
                        ],
                    ],
                ],
                [[1, 1, 5, 5]], i64([1]),
            ],
            mode="max", output_height=2, output_width=2, sampling_ratio=2, rtol=0.0001, atol=1e-05,
        ),
        case("no_regions", "RoiAlign", [X1, f32([], (0, 4)), i64([])], output_height=2, output_width=2),
    )
