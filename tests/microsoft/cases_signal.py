"""Cases of graph/microsoft/signal.cc; ONNX Runtime's CPU provider has no kernel, NumPy has."""
import numpy as np
from make_cases import Case


def pairs(z, dtype):
    return np.stack([z.real, z.imag], -1).astype(dtype)


def cases():
    rng = np.random.default_rng(9)
    for dtype in (np.float32, np.float64, np.float16):
        kind = np.dtype(dtype).name
        x = rng.standard_normal((2, 3, 8)).astype(dtype)
        wide = x.astype(np.float64)
        yield Case(f"rfft_{kind}", "y = com.microsoft.Rfft <signal_ndim: int = 1> (x)", {"x": x}, ["y"],
                   expected={"y": pairs(np.fft.rfft(wide), dtype)})
        z = np.fft.rfft(wide)
        back = pairs(z, dtype)
        again = back[..., 0].astype(np.float64) + 1j * back[..., 1]
        yield Case(f"irfft_{kind}", "y = com.microsoft.Irfft <signal_ndim: int = 1> (x)", {"x": back},
                   ["y"], expected={"y": np.fft.irfft(again).astype(dtype)})
    x = rng.standard_normal((2, 4, 6)).astype(np.float32)
    z = np.fft.rfft2(x)
    yield Case("rfft2", "y = com.microsoft.Rfft <signal_ndim: int = 2, onesided: int = 1> (x)", {"x": x},
               ["y"], expected={"y": pairs(z, np.float32)}, dims={"x": "b,h,w"})
    yield Case("irfft2", "y = com.microsoft.Irfft <signal_ndim: int = 2> (x)",
               {"x": pairs(z, np.float32)}, ["y"], expected={"y": x})
    z = np.fft.rfftn(x)
    yield Case("irfft3", "y = com.microsoft.Irfft <signal_ndim: int = 3> (x)",
               {"x": pairs(z, np.float32)}, ["y"], expected={"y": x})
