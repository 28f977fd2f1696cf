"""Cases of training/gradient/resize.cc, grid_sample.cc, deform_conv.cc, roi.cc and col2im.cc."""
import itertools

import numpy as np
import onnx
import torch
import torch.nn.functional as F
import torchvision
from cases_conv import attributes
from make_cases import Case
from onnx.reference import ReferenceEvaluator


def by_standard(call, shape, others):
    """The linear function that the standard's reference computes of an input x, as a matrix."""
    names = ", ".join(f"{'int64' if v.dtype == np.int64 else 'float'}[{len(v)}] {k}" for k, v in others.items())
    text = f'<ir_version: 10, opset_import: ["": 22]>\nf (double[{",".join(map(str, shape))}] x{", " if names else ""}{names}) => (double y) {{ {call} }}'
    model = onnx.parser.parse_model(text)
    run = ReferenceEvaluator(model)
    columns = []
    for i in range(int(np.prod(shape))):
        unit = np.zeros(shape)
        unit.flat[i] = 1
        columns.append(run.run(None, {"x": unit} | others)[0])
    matrix = torch.from_numpy(np.stack([c.reshape(-1) for c in columns], 1).astype(np.float64))
    return lambda x, *_: (matrix @ x.reshape(-1)).reshape(columns[0].shape)


def resizes(numbers):
    def by_sizes(name, call, dims, sizes, f, **flags):
        return Case(name, f"y = Resize {call} (x, , , sizes)", {"x": numbers(*dims), "sizes": np.array(sizes)},
                    lambda x, s: f(x), **flags)

    spatial = {"up": (7, 9), "down": (3, 2), "mixed": (8, 3)}
    for name, size in spatial.items():
        full = (1, 2, *size)
        yield by_sizes(f"resize_nearest_{name}",
                       '<coordinate_transformation_mode = "asymmetric", nearest_mode = "floor">', (1, 2, 4, 5), full,
                       lambda x, size=size: F.interpolate(x, size, mode="nearest"))
        yield by_sizes(f"resize_nearest_exact_{name}", '<mode = "nearest", nearest_mode = "round_prefer_ceil">', (1, 2, 4, 5), full,
                       lambda x, size=size: F.interpolate(x, size, mode="nearest-exact"))
        yield by_sizes(f"resize_linear_{name}", '<mode = "linear">', (1, 2, 4, 5), full,
                       lambda x, size=size: F.interpolate(x, size, mode="bilinear"), rtol=1e-6)
        yield by_sizes(f"resize_linear_corners_{name}", '<mode = "linear", coordinate_transformation_mode = "align_corners">',
                       (1, 2, 4, 5), full, lambda x, size=size: F.interpolate(x, size, mode="bilinear", align_corners=True), rtol=1e-6)
        yield by_sizes(f"resize_cubic_{name}", '<mode = "cubic">', (1, 2, 4, 5), full,
                       lambda x, size=size: F.interpolate(x, size, mode="bicubic"), rtol=1e-6)
        yield by_sizes(f"resize_cubic_corners_{name}", '<mode = "cubic", coordinate_transformation_mode = "align_corners">',
                       (1, 2, 4, 5), full, lambda x, size=size: F.interpolate(x, size, mode="bicubic", align_corners=True), rtol=1e-6)
        yield by_sizes(f"resize_linear_antialias_{name}", '<mode = "linear", antialias = 1, exclude_outside = 1>', (1, 2, 4, 5), full,
                       lambda x, size=size: F.interpolate(x, size, mode="bilinear", antialias=True), rtol=1e-6)
        yield by_sizes(f"resize_cubic_antialias_{name}", '<mode = "cubic", antialias = 1, cubic_coeff_a = -0.5, exclude_outside = 1>',
                       (1, 2, 4, 5), full, lambda x, size=size: F.interpolate(x, size, mode="bicubic", antialias=True), rtol=1e-6)
    yield by_sizes("resize_trilinear", '<mode = "linear">', (1, 1, 2, 3, 2), (1, 1, 3, 2, 4),
                   lambda x: F.interpolate(x, (3, 2, 4), mode="trilinear"), rtol=1e-6)
    yield by_sizes("resize_one_axis", '<mode = "linear">', (2, 3, 4), (2, 3, 6), lambda x: F.interpolate(x, 6, mode="linear"), rtol=1e-6)
    yield by_sizes("resize_axes", '<mode = "linear", axes = [-1, 2]>', (1, 2, 3, 4), (6, 5),
                   lambda x: F.interpolate(x, (5, 6), mode="bilinear"), rtol=1e-6)
    yield by_sizes("resize_channels_too", '<mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor">',
                   (2, 3, 2, 2), (2, 6, 4, 2), lambda x: F.interpolate(x[None], (6, 4, 2))[0])
    yield Case("resize_scales", 'y = Resize <mode = "linear"> (x, , scales)',
               {"x": numbers(1, 2, 4, 4), "scales": np.array([1, 1, 1.5, 2], np.float32)},
               lambda x, s: F.interpolate(x, scale_factor=(1.5, 2), mode="bilinear"), rtol=1e-6)
    yield Case("resize_scales_input", 'y = Resize <mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"> (x, , scales)',
               {"x": numbers(1, 2, 3, 4), "scales": np.array([1, 1, 2, 2], np.float32)},
               lambda x, s: F.interpolate(x, scale_factor=2), data=("scales",))
    for mode, coordinates in itertools.product(("nearest", "linear", "cubic"), ("half_pixel_symmetric", "pytorch_half_pixel", "asymmetric")):
        if (mode, coordinates) == ("cubic", "half_pixel_symmetric"):
            continue  # at whole positions the reference takes the element before
        call = f'y = Resize <mode = "{mode}", coordinate_transformation_mode = "{coordinates}"> (x, , scales)'
        others = {"scales": np.array([0.75, 2.25], np.float32)}
        yield Case(f"resize_{mode}_{coordinates}", call, {"x": numbers(4, 5)} | others,
                   by_standard(call, (4, 5), others), rtol=1e-6)
    for rounding in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
        call = f'y = Resize <mode = "nearest", nearest_mode = "{rounding}"> (x, , , sizes)'
        others = {"sizes": np.array([3, 8])}
        yield Case(f"resize_{rounding}", call, {"x": numbers(4, 5)} | others, by_standard(call, (4, 5), others))
    crop = {"roi": np.array([0.25, -0.25, 0.75, 1.25], np.float32), "sizes": np.array([3, 6])}
    call = 'y = Resize <mode = "linear", coordinate_transformation_mode = "tf_crop_and_resize"> (x, roi, , sizes)'
    yield Case("resize_crop", call, {"x": numbers(4, 5)} | crop, by_standard(call, (4, 5), crop), rtol=1e-6)
    for policy in ("not_larger", "not_smaller"):
        call = f'y = Resize <mode = "linear", axes = [2, 1], keep_aspect_ratio_policy = "{policy}"> (x, , , sizes)'
        others = {"sizes": np.array([7, 6])}
        yield Case(f"resize_{policy}", call, {"x": numbers(2, 3, 4)} | others, by_standard(call, (2, 3, 4), others), rtol=1e-6)


def grids(numbers, rng):
    # Coordinates are computed in float32: finite differences say nothing.
    for mode, torch_mode in (("linear", "bilinear"), ("nearest", "nearest"), ("cubic", "bicubic")):
        for padding, corners in itertools.product(("zeros", "border", "reflection"), (0, 1)):
            yield Case(f"grid_{mode}_{padding}_{corners}",
                       f'y = GridSample <mode = "{mode}", padding_mode = "{padding}", align_corners = {corners}> (x, g)',
                       {"x": numbers(2, 2, 4, 5), "g": rng.uniform(-1.4, 1.4, (2, 3, 4, 2))},
                       lambda x, g, m=torch_mode, p=padding, c=bool(corners): F.grid_sample(x, g, m, p, c),
                       smooth=False, rtol=5e-6)
    for padding in ("zeros", "border", "reflection"):
        yield Case(f"grid_volume_{padding}", f'y = GridSample <padding_mode = "{padding}"> (x, g)',
                   {"x": numbers(1, 2, 3, 2, 4), "g": rng.uniform(-1.4, 1.4, (1, 2, 3, 2, 3))},
                   lambda x, g, p=padding: F.grid_sample(x, g, "bilinear", p, False), smooth=False, rtol=5e-6)
    yield Case("grid_one_pixel", 'y = GridSample <padding_mode = "reflection", align_corners = 1> (x, g)',
               {"x": numbers(1, 2, 1, 3), "g": rng.uniform(-1.4, 1.4, (1, 2, 2, 2))},
               lambda x, g: F.grid_sample(x, g, "bilinear", "reflection", True), smooth=False, rtol=5e-6)
    for corners in (0, 1):
        yield Case(f"affine_grid_{corners}", f"y = AffineGrid <align_corners = {corners}> (t, size)",
                   {"t": numbers(2, 2, 3), "size": np.array([2, 3, 4, 5])},
                   lambda t, s, c=bool(corners): F.affine_grid(t, (2, 3, 4, 5), c), rtol=1e-6)
    yield Case("affine_grid_volume", "y = AffineGrid (t, size)", {"t": numbers(1, 3, 4), "size": np.array([1, 1, 2, 3, 2])},
               lambda t, s: F.affine_grid(t, (1, 1, 2, 3, 2), False), rtol=1e-6)


def deforms(numbers):
    settings = {"plain": {}, "strides": dict(strides=[2, 1], pads=[1, 1, 1, 1]), "dilations": dict(dilations=[2, 1], pads=[1, 0, 1, 0]),
                "groups": dict(group=2, pads=[1, 1, 1, 1]), "offset_groups": dict(offset_group=2, pads=[1, 1, 1, 1])}
    for name, given in settings.items():
        stride, pad, dilation = given.get("strides", [1, 1]), given.get("pads", [0] * 4)[:2], given.get("dilations", [1, 1])
        groups, offset_groups = given.get("group", 1), given.get("offset_group", 1)
        x, w = numbers(2, 4, 5, 6), numbers(4, 4 // groups, 3, 2)
        out = [(x.shape[2 + i] + 2 * pad[i] - (w.shape[2 + i] - 1) * dilation[i] - 1) // stride[i] + 1 for i in (0, 1)]
        offset = numbers(2, 12 * offset_groups, *out)
        inputs = {"x": x, "w": w, "o": offset}
        names = "x, w, o"
        if name not in ("plain", "dilations"):
            inputs |= {"b": numbers(4), "m": numbers(2, 6 * offset_groups, *out)}
            names = "x, w, o, b, m"

        def f(x, w, o, b=None, m=None, stride=stride, pad=pad, dilation=dilation):
            return torchvision.ops.deform_conv2d(x, o, w, b, stride, pad, dilation, m)
        yield Case(f"deform_{name}", f"y = DeformConv {attributes(**given)} ({names})", inputs, f, sizes=("w",), narrow=False)


def cases():
    rng = np.random.default_rng(0)

    def numbers(*dims):
        return rng.standard_normal(dims)

    yield from resizes(numbers)
    yield from grids(numbers, rng)
    yield from deforms(numbers)
    rois = np.array([[0.3, 0.2, 5.1, 4.4], [1.2, 2.1, 3.3, 6.2], [-1.0, -2.0, 8.2, 7.3]])
    batch = np.array([0, 1, 1])
    for ratio, scale in ((2, 1.0), (0, 1.0), (1, 0.5), (0, 0.5)):
        for coordinates in ("half_pixel", "output_half_pixel"):
            yield Case(f"roi_align_{ratio}_{'half' if scale == 0.5 else 'full'}_{coordinates}",
                       f'y = RoiAlign <output_height = 2, output_width = 3, sampling_ratio = {ratio}, spatial_scale = {scale}, '
                       f'coordinate_transformation_mode = "{coordinates}"> (x, r, b)',
                       {"x": numbers(2, 2, 6, 7), "r": rois, "b": batch},
                       lambda x, r, b, ratio=ratio, scale=scale, aligned=coordinates == "half_pixel": torchvision.ops.roi_align(
                           x, torch.cat([b[:, None].double(), r], 1), (2, 3), scale, ratio if ratio else -1, aligned),
                       wrt=("x",), data=("b",))

    yield Case("roi_align_regions", 'y = RoiAlign <output_height = 2, output_width = 3, sampling_ratio = 2> (x, r, b)',
               {"x": numbers(2, 2, 6, 7), "r": rois, "b": batch},
               lambda x, r, b: torchvision.ops.roi_align(x, torch.cat([b[:, None].double(), r.detach()], 1), (2, 3), 1.0, 2, True),
               smooth=False, data=("b",))

    def greatest(x, r, b):
        """The standard's maximum: over the four weighted neighbours of every sample."""
        rows = []
        for region, image in zip(r, b):
            left, top, right, bottom = (region - 0.5).tolist()
            bins = []
            for py in range(2):
                for px in range(2):
                    parts = []
                    for i, j in itertools.product(range(2), range(2)):
                        at_y = top + (bottom - top) / 2 * (py + (i + 0.5) / 2)
                        at_x = left + (right - left) / 2 * (px + (j + 0.5) / 2)
                        y0, x0 = min(int(max(at_y, 0)), 5), min(int(max(at_x, 0)), 6)
                        fy, fx = min(max(at_y, 0), 5) - y0, min(max(at_x, 0), 6) - x0
                        for dy, dx in itertools.product((0, 1), (0, 1)):
                            weight = (fy if dy else 1 - fy) * (fx if dx else 1 - fx)
                            parts.append(weight * x[image, :, min(y0 + dy, 5), min(x0 + dx, 6)])
                    bins.append(torch.stack(parts).amax(0))
            rows.append(torch.stack(bins, 1).reshape(-1, 2, 2))
        return torch.stack(rows)
    yield Case("roi_align_max", 'y = RoiAlign <output_height = 2, output_width = 2, sampling_ratio = 2, mode = "max"> (x, r, b)',
               {"x": numbers(2, 2, 6, 7), "r": rois[:2], "b": batch[:2]}, greatest, wrt=("x",), data=("b",))
    pooled = np.array([[0, 0, 0, 5, 4], [1, 2, 1, 3, 5], [1, 1, 2, 9, 9]], float)
    for scale in (1.0, 0.5):
        yield Case(f"max_roi_pool_{'half' if scale == 0.5 else 'full'}",
                   f"y = MaxRoiPool <pooled_shape = [2, 3], spatial_scale = {scale}> (x, r)",
                   {"x": numbers(2, 2, 6, 7), "r": pooled},
                   lambda x, r, scale=scale: torchvision.ops.roi_pool(x, r, (2, 3), scale), wrt=("x",))
    blocks = {"plain": ((5, 6), (2, 3), {}), "strides": ((6, 5), (2, 2), dict(strides=[2, 1])),
              "pads": ((5, 5), (3, 2), dict(pads=[1, 1, 1, 1], strides=[2, 2])), "dilations": ((6, 6), (2, 2), dict(dilations=[2, 3]))}
    for name, (image, block, given) in blocks.items():
        own = (given.get("dilations", 1), given.get("pads", [0, 0])[:2], given.get("strides", 1))
        count = F.unfold(torch.zeros(1, 1, *image), block, *own).shape[2]
        yield Case(f"col2im_{name}", f"y = Col2Im {attributes(**given)} (x, image, block)",
                   {"x": numbers(2, 2 * block[0] * block[1], count), "image": np.array(image), "block": np.array(block)},
                   lambda x, i, b, image=image, block=block, own=own: F.fold(x, image, block, *own))
    yield Case("col2im_line", "y = Col2Im <strides = [2]> (x, image, block)",
               {"x": numbers(2, 6, 3), "image": np.array([7]), "block": np.array([3])},
               lambda x, i, b: F.fold(x, (1, 7), (1, 3), stride=(1, 2))[:, :, 0])
