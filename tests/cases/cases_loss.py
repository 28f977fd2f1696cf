"""SoftmaxCrossEntropyLoss and NegativeLogLikelihoodLoss."""
from case import bf16, case, f64, i32, i64, join

X1 = [[-0.227, -0.221, 0.11, -1.593], [-0.235, -0.854, 0.885, -0.771], [0.577, 1.524, -0.314, -0.602]]
X2 = [
    [[[0.191, -0.002], [-0.994, 0.461], [2.016, -0.258]], [[-0.203, -1.045], [0.319, -1.247], [-1.107, 1.28]]],
    i64([[0, 2], [1, 1]]),
]
X3 = [
    [[[0.191, -0.002], [-0.994, 0.461], [2.016, -0.258]], [[-0.203, -1.045], [0.319, -1.247], [-1.107, 1.28]]],
    i32([[0, 2], [1, 1]]),
]
X4 = [
    [[[0.191, -0.002], [-0.994, 0.461], [2.016, -0.258]], [[-0.203, -1.045], [0.319, -1.247], [-1.107, 1.28]]],
    i64([[0, 2], [1, 1]]), [0.5, 1, 2],
]
X5 = [
    [[[0.191, -0.002], [-0.994, 0.461], [2.016, -0.258]], [[-0.203, -1.045], [0.319, -1.247], [-1.107, 1.28]]],
    i32([[0, 2], [1, 1]]), [0.5, 1, 2],
]


def cases():
    return join(
        case("sce", "SoftmaxCrossEntropyLoss", [X1, i64([0, 3, 1])], types="f32 f16"),
        case(
            "sce_f64", "SoftmaxCrossEntropyLoss",
            [
                f64(
                    [
                        [-0.22699999809265137, -0.22100000083446503, 0.10999999940395355, -1.593000054359436],
                        [-0.23499999940395355, -0.8539999723434448, 0.8849999904632568, -0.7710000276565552],
                        [0.5770000219345093, 1.5240000486373901, -0.3140000104904175, -0.6019999980926514],
                    ],
                ),
                i64([0, 3, 1]),
            ],
        ),
        case(
            "sce_bf16", "SoftmaxCrossEntropyLoss",
            [
                bf16(
                    [
                        [-0.226562, -0.220703, 0.109863, -1.59375], [-0.235352, -0.855469, 0.886719, -0.769531],
                        [0.578125, 1.52344, -0.314453, -0.601562],
                    ],
                ),
                i64([0, 3, 1]),
            ],
        ),
        case("sce_none_0_False", "SoftmaxCrossEntropyLoss", X2, reduction="none", outputs=2),
        case("nll_none_0_False", "NegativeLogLikelihoodLoss", X3, reduction="none"),
        case("sce_none_0_True", "SoftmaxCrossEntropyLoss", X2, ignore_index=1, reduction="none", outputs=2),
        case("nll_none_0_True", "NegativeLogLikelihoodLoss", X3, ignore_index=1, reduction="none"),
        case("sce_none_1_False", "SoftmaxCrossEntropyLoss", X4, reduction="none", outputs=2),
        case("nll_none_1_False", "NegativeLogLikelihoodLoss", X5, reduction="none"),
        case("sce_none_1_True", "SoftmaxCrossEntropyLoss", X4, ignore_index=1, reduction="none", outputs=2),
        case("nll_none_1_True", "NegativeLogLikelihoodLoss", X5, ignore_index=1, reduction="none"),
        case("sce_sum_0_False", "SoftmaxCrossEntropyLoss", X2, reduction="sum", outputs=2),
        case("nll_sum_0_False", "NegativeLogLikelihoodLoss", X3, reduction="sum"),
        case("sce_sum_0_True", "SoftmaxCrossEntropyLoss", X2, ignore_index=1, reduction="sum", outputs=2),
        case("nll_sum_0_True", "NegativeLogLikelihoodLoss", X3, ignore_index=1, reduction="sum"),
        case("sce_sum_1_False", "SoftmaxCrossEntropyLoss", X4, reduction="sum", outputs=2),
        case("nll_sum_1_False", "NegativeLogLikelihoodLoss", X5, reduction="sum"),
        case("sce_sum_1_True", "SoftmaxCrossEntropyLoss", X4, ignore_index=1, reduction="sum", outputs=2),
        case("nll_sum_1_True", "NegativeLogLikelihoodLoss", X5, ignore_index=1, reduction="sum"),
        case("sce_mean_0_False", "SoftmaxCrossEntropyLoss", X2, reduction="mean", outputs=2),
        case("nll_mean_0_False", "NegativeLogLikelihoodLoss", X3, reduction="mean"),
        case("sce_mean_0_True", "SoftmaxCrossEntropyLoss", X2, ignore_index=1, reduction="mean", outputs=2),
        case("nll_mean_0_True", "NegativeLogLikelihoodLoss", X3, ignore_index=1, reduction="mean"),
        case("sce_mean_1_False", "SoftmaxCrossEntropyLoss", X4, reduction="mean", outputs=2),
        case("nll_mean_1_False", "NegativeLogLikelihoodLoss", X5, reduction="mean"),
        case("sce_mean_1_True", "SoftmaxCrossEntropyLoss", X4, ignore_index=1, reduction="mean", outputs=2),
        case("nll_mean_1_True", "NegativeLogLikelihoodLoss", X5, ignore_index=1, reduction="mean"),
        case("ignore_outside", "SoftmaxCrossEntropyLoss", [X1, i64([-1, 3, 1])], ignore_index=-1),
        case("ignore_all", "SoftmaxCrossEntropyLoss", [X1, i64([-1, -1, -1])], ignore_index=-1),
    )
