"""HannWindow, HammingWindow, BlackmanWindow and MelWeightMatrix."""
from case import case, f32, i32, i64, join


def cases():
    return join(
        case("hannwindow_0", "HannWindow", [i32(6)], periodic=0),
        case("hannwindow_1", "HannWindow", [i64(6)], periodic=1),
        case("hannwindow_zero", "HannWindow", [i64(0)]),
        # A window of one element is 1, as in NumPy and PyTorch.
        case("hannwindow_one", "HannWindow", [i64(1)], periodic=0, expected=[[1]]),
        case("hannwindow_double", "HannWindow", [i64(6)], output_datatype=11),
        case("hammingwindow_0", "HammingWindow", [i32(6)], periodic=0),
        case("hammingwindow_1", "HammingWindow", [i64(6)], periodic=1),
        case("hammingwindow_zero", "HammingWindow", [i64(0)]),
        # A window of one element is 1, as in NumPy and PyTorch.
        case("hammingwindow_one", "HammingWindow", [i64(1)], periodic=0, expected=[[1]]),
        case("hammingwindow_double", "HammingWindow", [i64(6)], output_datatype=11),
        case("blackmanwindow_0", "BlackmanWindow", [i32(6)], periodic=0),
        case("blackmanwindow_1", "BlackmanWindow", [i64(6)], periodic=1),
        case("blackmanwindow_zero", "BlackmanWindow", [i64(0)]),
        # A window of one element is 1, as in NumPy and PyTorch.
        case("blackmanwindow_one", "BlackmanWindow", [i64(1)], periodic=0, expected=[[1]]),
        case("blackmanwindow_double", "BlackmanWindow", [i64(6)], output_datatype=11),
        case("hann_float16", "HannWindow", [i64(4)], output_datatype=10),
        case("mel_0", "MelWeightMatrix", [8, 16, 8192, f32(0), f32(4096)], types="i64"),
        case("mel_1", "MelWeightMatrix", [4, 32, 16000, f32(125), f32(7600)], types="i64"),
        case("mel_2", "MelWeightMatrix", [2, 8, 8000, f32(0), f32(4000)], types="i64"),
    )
