"""Cases of training/gradient/normalization.cc and batch_normalization.cc."""
import numpy as np
import torch
import torch.nn.functional as F
from make_cases import Case

EPSILON = float(np.float32(1e-5))


def cases():
    rng = np.random.default_rng(0)

    def numbers(*dims):
        return rng.standard_normal(dims)

    def layer_norm(x, w, b, axis=-1, eps=EPSILON):
        return F.layer_norm(x, x.shape[axis:], w, b, eps)

    def moments(x, dims):
        mean = x.mean(dims, keepdim=True)
        return mean, ((x - mean) ** 2).mean(dims, keepdim=True)

    for name, axis, dims in (("last", -1, (2, 3, 4)), ("two", 1, (2, 3, 4)), ("matrix", -1, (3, 5))):
        shape = dims[axis:]
        yield Case(f"layer_{name}", f"y = LayerNormalization <axis = {axis}> (x, w, b)",
                   {"x": numbers(*dims), "w": numbers(*shape), "b": numbers(*shape)},
                   lambda x, w, b, axis=axis: layer_norm(x, w, b, axis))
    yield Case("layer_no_bias", "y = LayerNormalization <epsilon = 0.125> (x, w)", {"x": numbers(2, 4), "w": numbers(4)},
               lambda x, w: layer_norm(x, w, None, eps=0.125))
    yield Case("layer_scalar_scale", "y = LayerNormalization (x, w, b)", {"x": numbers(2, 4), "w": numbers(1), "b": numbers(1)},
               lambda x, w, b: layer_norm(x, None, None) * w + b)
    yield Case("layer_broadcast_scale", "y = LayerNormalization <axis = 1> (x, w, b)",
               {"x": numbers(2, 3, 4), "w": numbers(3, 1), "b": numbers(4)}, lambda x, w, b: F.layer_norm(x, (3, 4), None, None, EPSILON) * w + b)

    def with_statistics(x, w, b):
        mean, variance = moments(x, (1, 2))
        inverse = (variance + EPSILON).rsqrt()
        return (x - mean) * inverse * w + b, mean.float(), inverse.float()
    for skip in ("", "y", "m i", "y i"):
        yield Case(f"layer_statistics{'_without_' + skip.replace(' ', '_') if skip else ''}",
                   "y, m, i = LayerNormalization <axis = 1> (x, w, b)",
                   {"x": numbers(2, 3, 4), "w": numbers(3, 4), "b": numbers(3, 4)}, with_statistics, outputs=("y", "m", "i"), skip=skip,
                   rtol=1e-6, smooth=False, floats=False)
    for name, axis, dims in (("last", -1, (2, 3, 4)), ("two", 1, (2, 3, 4))):
        yield Case(f"rms_{name}", f"y = RMSNormalization <axis = {axis}> (x, w)", {"x": numbers(*dims), "w": numbers(*dims[axis:])},
                   lambda x, w: F.rms_norm(x, w.shape, w, EPSILON))
    yield Case("rms_large_epsilon", "y = RMSNormalization <epsilon = 0.5> (x, w)", {"x": numbers(2, 4), "w": numbers(4)},
               lambda x, w: F.rms_norm(x, (4,), w, 0.5))
    for name, dims in (("1d", (2, 3, 5)), ("2d", (2, 3, 3, 2)), ("3d", (2, 2, 2, 3, 2))):
        channels = dims[1]
        yield Case(f"instance_{name}", "y = InstanceNormalization (x, w, b)",
                   {"x": numbers(*dims), "w": numbers(channels), "b": numbers(channels)},
                   lambda x, w, b: F.instance_norm(x, weight=w, bias=b, eps=EPSILON))
        yield Case(f"batch_inference_{name}", "y = BatchNormalization (x, w, b, m, v)",
                   {"x": numbers(*dims), "w": numbers(channels), "b": numbers(channels), "m": numbers(channels),
                    "v": rng.uniform(0.5, 2, channels)},
                   lambda x, w, b, m, v: F.batch_norm(x, m.detach(), v.detach(), w, b, False, 0.1, EPSILON), wrt=("x", "w", "b"))
        yield Case(f"batch_training_{name}", "y, rm, rv = BatchNormalization <training_mode = 1> (x, w, b, m, v)",
                   {"x": numbers(*dims), "w": numbers(channels), "b": numbers(channels), "m": numbers(channels),
                    "v": rng.uniform(0.5, 2, channels)},
                   lambda x, w, b, m, v: F.batch_norm(x, None, None, w, b, True, 0.1, EPSILON), wrt=("x", "w", "b"))
    batch = {"x": numbers(6, 3), "w": numbers(3), "b": numbers(3), "m": numbers(3), "v": rng.uniform(0.5, 2, 3)}
    yield Case("batch_matrix", "y = BatchNormalization <epsilon = 0.25> (x, w, b, m, v)", batch,
               lambda x, w, b, m, v: (x - m) / torch.sqrt(v + 0.25) * w + b)

    def trained(x, w, b, m, v):
        mean, variance = moments(x, (0,))
        y = (x - mean) / torch.sqrt(variance + EPSILON) * w + b
        return y, m * 0.75 + mean[0] * 0.25, v * 0.75 + variance[0] * 0.25
    for skip in ("", "y", "rm", "rm rv"):
        yield Case(f"batch_running{'_without_' + skip.replace(' ', '_') if skip else ''}",
                   "y, rm, rv = BatchNormalization <training_mode = 1, momentum = 0.75> (x, w, b, m, v)", batch, trained,
                   outputs=("y", "rm", "rv"), skip=skip)
    for groups in (1, 2, 4):
        yield Case(f"group_{groups}", f"y = GroupNormalization <num_groups = {groups}> (x, w, b)",
                   {"x": numbers(2, 4, 3, 2), "w": numbers(4), "b": numbers(4)},
                   lambda x, w, b, groups=groups: F.group_norm(x, groups, w, b, EPSILON))
    yield Case("group_1d", "y = GroupNormalization <num_groups = 2, epsilon = 0.125> (x, w, b)",
               {"x": numbers(2, 4, 5), "w": numbers(4), "b": numbers(4)}, lambda x, w, b: F.group_norm(x, 2, w, b, 0.125))

    def mean_variance(x, axes):
        mean, variance = moments(x, axes)
        return (x - mean) / (variance.sqrt() + 1e-9)
    yield Case("mean_variance", "y = MeanVarianceNormalization (x)", {"x": numbers(2, 3, 2, 2)}, lambda x: mean_variance(x, (0, 2, 3)),
               rtol=1e-7)
    yield Case("mean_variance_axes", "y = MeanVarianceNormalization <axes = [1]> (x)", {"x": numbers(2, 5)},
               lambda x: mean_variance(x, (1,)), rtol=1e-7)
    for p in (1, 2):
        for axis in (-1, 1):
            yield Case(f"lp_{p}_{axis % 3}", f"y = LpNormalization <p = {p}, axis = {axis}> (x)", {"x": numbers(2, 3, 4)},
                       lambda x, p=p, axis=axis: x / torch.linalg.vector_norm(x, p, axis, keepdim=True))
        yield Case(f"lp_{p}_zeros", f"y = LpNormalization <p = {p}> (x)", {"x": np.array([[0.0, 0, 0], [1, 0, 2]])},
                   lambda x, p=p: torch.stack([x[0] * 0, x[1] / torch.linalg.vector_norm(x[1], p)]), smooth=False, twice=True)
    for size in (1, 2, 3, 5):
        def lrn(x, size=size):
            padded = F.pad(x * x, (0, 0, 0, 0, (size - 1) // 2, size // 2))
            sums = sum(padded[:, k:k + x.shape[1]] for k in range(size))
            return x / (1.5 + 0.25 / size * sums) ** 0.75
        yield Case(f"lrn_{size}", f"y = LRN <size = {size}, alpha = 0.25, bias = 1.5> (x)", {"x": numbers(2, 4, 3, 2)}, lrn)
    yield Case("lrn_default", "y = LRN <size = 3> (x)", {"x": numbers(2, 4, 3, 2)},
               lambda x: F.local_response_norm(x, 3, float(np.float32(1e-4))))
