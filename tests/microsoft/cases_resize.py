"""Cases of graph/microsoft/resize.cc."""
import numpy as np
from make_cases import Case


def cases():
    rng = np.random.default_rng(8)
    x = rng.standard_normal((2, 3, 5, 6)).astype(np.float32)
    grid = rng.uniform(-1.3, 1.3, (2, 4, 3, 2)).astype(np.float32)
    for mode in ("bilinear", "nearest", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            for align in (0, 1):
                yield Case(f"grid_sample_{mode}_{padding}_{align}",
                           f'y = com.microsoft.GridSample <mode: string = "{mode}",'
                           f' padding_mode: string = "{padding}", align_corners: int = {align}> (x, g)',
                           {"x": x, "g": grid}, ["y"])
    yield Case("grid_sample_dynamic", "y = com.microsoft.GridSample (x, g)", {"x": x, "g": grid}, ["y"],
               dims={"x": "n,c,h,w", "g": "n,a,b,2"})
    boxes = np.array([[0, 0, 1, 1], [0.2, 0.1, 0.7, 0.9], [-0.3, 0.2, 0.6, 1.2], [0.9, 0.8, 0.1, 0.3]],
                     np.float32)
    images = np.array([0, 1, 1, 0], np.int32)
    for mode in ("bilinear", "nearest"):
        for name, size in (("crop", (4, 3)), ("one", (1, 1)), ("large", (7, 9))):
            yield Case(f"crop_and_resize_{mode}_{name}",
                       f'y = com.microsoft.CropAndResize <mode: string = "{mode}",'
                       " extrapolation_value: float = 9.0> (x, b, i, s)",
                       {"x": x, "b": boxes, "i": images, "s": np.array(size, np.int32)}, ["y"])
    yield Case("crop_and_resize_dynamic", "y = com.microsoft.CropAndResize (x, b, i, s)",
               {"x": x, "b": boxes, "i": images, "s": np.array((2, 5), np.int32)}, ["y"],
               dims={"x": "n,c,h,w", "b": "boxes,4"})
