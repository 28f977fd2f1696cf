"""Cases of training/gradient/signal.cc and det.cc."""
import numpy as np
import torch
from make_cases import Case


def cases():
    rng = np.random.default_rng(0)

    def numbers(*dims):
        return rng.standard_normal(dims)

    def pairs(z):
        return torch.view_as_real(z.resolve_conj())

    def complex_of(x):
        return torch.view_as_complex(x) if x.shape[-1] == 2 else x[..., 0]

    for parts in (1, 2):
        for n in (6, 5):
            x = numbers(2, n, 3, parts)
            kind = f"{'complex' if parts == 2 else 'real'}_{n}"
            axis = np.array(1)
            yield Case(f"dft_{kind}", "y = DFT (x, , axis)", {"x": x, "axis": axis}, lambda x, a: pairs(torch.fft.fft(complex_of(x), dim=1)),
                       sizes=("x",))
            yield Case(f"idft_{kind}", "y = DFT <inverse = 1> (x, , axis)", {"x": x, "axis": axis},
                       lambda x, a: pairs(torch.fft.ifft(complex_of(x), dim=1)), sizes=("x",))
            for length in (4, 8):
                yield Case(f"dft_{kind}_{length}", "y = DFT (x, length, axis)", {"x": x, "length": np.array(length), "axis": axis},
                           lambda x, l, a, length=length: pairs(torch.fft.fft(complex_of(x), length, 1)), sizes=("x",))
    for n in (6, 5):
        yield Case(f"rdft_{n}", "y = DFT <onesided = 1> (x)", {"x": numbers(2, n, 1)}, lambda x: pairs(torch.fft.rfft(x[..., 0], dim=1)))
        for length in (4, 9):
            yield Case(f"rdft_{n}_{length}", "y = DFT <onesided = 1> (x, length)", {"x": numbers(2, n, 1), "length": np.array(length)},
                       lambda x, l, length=length: pairs(torch.fft.rfft(x[..., 0], length, 1)))
    for n, length in ((4, None), (4, 6), (4, 7), (3, 8), (5, 4)):
        inputs = {"x": numbers(2, n, 2)} | ({} if length is None else {"length": np.array(length)})
        yield Case(f"irdft_{n}_{length}", f"y = DFT <onesided = 1, inverse = 1> ({', '.join(inputs)})", inputs,
                   lambda x, l=None, length=length: torch.fft.irfft(torch.view_as_complex(x), length, 1)[..., None], sizes=("x",))
    yield Case("dft_axis_input", "y = DFT (x, , axis)", {"x": numbers(4, 3, 2), "axis": np.array(0)},
               lambda x, a: pairs(torch.fft.fft(complex_of(x), dim=0)), data=("axis",), sizes=("x",))

    def frames(x, step, length, window=None, onesided=True):
        cut = complex_of(x).unfold(1, length, step)
        cut = cut if window is None else cut * window
        return pairs(torch.fft.rfft(cut) if onesided else torch.fft.fft(cut))
    step, length, window = np.array(3), np.array(5), rng.uniform(0.5, 1, 5)
    yield Case("stft", "y = STFT <onesided = 1> (x, step, w, length)", {"x": numbers(2, 12, 1), "step": step, "w": window, "length": length},
               lambda x, s, w, l: frames(x, 3, 5, w))
    yield Case("stft_no_window", "y = STFT <onesided = 1> (x, step, , length)", {"x": numbers(2, 12, 1), "step": step, "length": length},
               lambda x, s, l: frames(x, 3, 5))
    yield Case("stft_window_length", "y = STFT <onesided = 1> (x, step, w)", {"x": numbers(2, 12, 1), "step": step, "w": window},
               lambda x, s, w: frames(x, 3, 5, w), sizes=("w",))
    yield Case("stft_two_sided", "y = STFT <onesided = 0> (x, step, w, length)",
               {"x": numbers(2, 12, 2), "step": step, "w": window, "length": length}, lambda x, s, w, l: frames(x, 3, 5, w, False),
               sizes=("x",))
    for n in (1, 2, 3, 5):
        yield Case(f"det_{n}", "y = Det (x)", {"x": numbers(2, n, n)}, torch.linalg.det, sizes=("x",))
    yield Case("det_matrix", "y = Det (x)", {"x": numbers(3, 3)}, torch.linalg.det, sizes=("x",))
    yield Case("det_batches", "y = Det (x)", {"x": numbers(2, 1, 3, 3)}, torch.linalg.det, sizes=("x",))
    yield Case("det_zeros", "y = Det (x)", {"x": np.zeros((3, 3))}, torch.linalg.det, sizes=("x",), smooth=False)
    singular = np.array([[1.0, 2, 3], [2, 4, 6], [1, 0, 1]])
    # torch's det of a singular matrix returns cofactors too; here in closed form.
    yield Case("det_singular", "y = Det (x)", {"x": singular},
               lambda x: (x[0] * torch.linalg.cross(x[1], x[2])).sum(), sizes=("x",))
    yield Case("inverse", "y = com.microsoft.Inverse (x)", {"x": numbers(2, 3, 3)}, torch.linalg.inv)
