"""Cases of graph/microsoft/conv.cc."""
import numpy as np
from make_cases import Case


def cases():
    rng = np.random.default_rng(2)

    def numbers(*dims):
        return rng.standard_normal(dims).astype(np.float32)

    x, w, b = numbers(2, 3, 8, 7), numbers(4, 3, 3, 3), numbers(4)
    yield Case("fused_conv", "y = com.microsoft.FusedConv <kernel_shape: ints = [3, 3]> (x, w, b)",
               {"x": x, "w": w, "b": b}, ["y"])
    for activation, parameters in (("Relu", ""), ("LeakyRelu", "0.3"), ("Tanh", ""), ("Sigmoid", ""),
                                   ("Clip", "-0.5, 1.5"), ("HardSigmoid", "0.3, 0.4")):
        more = f", activation_params: floats = [{parameters}]" if parameters else ""
        yield Case(f"fused_conv_{activation.lower()}",
                   f'y = com.microsoft.FusedConv <activation: string = "{activation}"{more}> (x, w, b)',
                   {"x": x, "w": w, "b": b}, ["y"])
    yield Case("fused_conv_sum",
               'y = com.microsoft.FusedConv <activation: string = "Relu"> (x, w, b, z)',
               {"x": x, "w": w, "b": b, "z": numbers(2, 4, 6, 5)}, ["y"])
    yield Case("fused_conv_attributes",
               'y = com.microsoft.FusedConv <activation: string = "Relu", pads: ints = [1, 2, 0, 1],'
               " strides: ints = [2, 1], dilations: ints = [1, 2], group: int = 3> (x, w)",
               {"x": x, "w": numbers(6, 1, 3, 2)}, ["y"])
    yield Case("fused_conv_same",
               'y = com.microsoft.FusedConv <activation: string = "Tanh",'
               ' auto_pad: string = "SAME_UPPER"> (x, w, b)', {"x": x, "w": w, "b": b}, ["y"],
               dims={"x": "batch,3,height,width"})
    x, w, b = numbers(1, 2, 5, 4), numbers(2, 3, 3, 3), numbers(3)
    pads = np.array([1, 0, 1, 2], np.int64)
    yield Case("conv_transpose_dynamic_pads",
               "y = com.microsoft.ConvTransposeWithDynamicPads <strides: ints = [2, 2]>"
               " (x, w, pads, b)", {"x": x, "w": w, "pads": pads, "b": b}, ["y"])
    yield Case("conv_transpose_zero_pads",
               "y = com.microsoft.ConvTransposeWithDynamicPads <strides: ints = [2, 1],"
               " output_padding: ints = [1, 0]> (x, w, pads)",
               {"x": x, "w": w, "pads": np.zeros(4, np.int64)}, ["y"])
    yield Case("conv_transpose_pads_output_padding",
               "y = com.microsoft.ConvTransposeWithDynamicPads <strides: ints = [2, 3],"
               " output_padding: ints = [1, 1], dilations: ints = [2, 1]> (x, w, pads)",
               {"x": x, "w": w, "pads": pads}, ["y"], dims={"x": "batch,2,height,width"})
