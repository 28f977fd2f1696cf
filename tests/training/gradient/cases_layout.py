"""Cases of training/gradient/layout.cc."""
import numpy as np
import torch
import torch.nn.functional as F
from make_cases import Case


def ints(*values):
    return np.array(values, np.int64)


def slices():
    full = {"plain": ((1, 0), (3, 2), None, None), "negative": ((-2,), (-1,), (1,), None),
            "beyond": ((-100, 1), (100, 1000), (0, 2), None), "steps": ((0, 1), (4, 4), (0, 2), (2, 2)),
            "reversed": ((-1,), (-100,), (1,), (-1,)), "reversed_steps": ((3, 2), (-100, 0), (0, 2), (-2, -1)),
            "empty": ((2,), (2,), (1,), None), "past_end": ((7,), (9,), (0,), None),
            "ones": ((1,), (2,), (-1,), (1,))}
    for name, (starts, ends, axes, steps) in full.items():
        index = [np.arange(d) for d in (4, 3, 5)]
        for k, (start, end) in enumerate(zip(starts, ends)):
            axis = k if axes is None else axes[k]
            index[axis] = index[axis][start:(None if end == -100 else end):(1 if steps is None else steps[k])]
        yield name, starts, ends, axes, steps, index


def pads():
    yield "both", "constant", (1, 0, 0, 2), lambda x: F.pad(x, (0, 2, 1, 0))
    yield "negative", "constant", (-1, 1, 0, -2), lambda x: F.pad(x, (1, -2, -1, 0))
    yield "reflect", "reflect", (1, 2, 1, 2), lambda x: F.pad(x[None, None], (2, 2, 1, 1), "reflect")[0, 0]
    yield "edge", "edge", (1, 2, 2, 0), lambda x: F.pad(x[None, None], (2, 0, 1, 2), "replicate")[0, 0]
    yield "wrap", "wrap", (1, 2, 2, 0), lambda x: F.pad(x[None, None], (2, 0, 1, 2), "circular")[0, 0]


def cases():
    rng = np.random.default_rng(0)

    def numbers(*dims):
        return rng.standard_normal(dims)

    yield Case("reshape", "y = Reshape (x, shape)", {"x": numbers(2, 6), "shape": ints(3, -1)}, lambda x, s: x.reshape(3, 4))
    yield Case("reshape_zero", "y = Reshape (x, shape)", {"x": numbers(2, 6), "shape": ints(0, 2, 3)}, lambda x, s: x.reshape(2, 2, 3))
    yield Case("reshape_empty", "y = Reshape <allowzero = 1> (x, shape)", {"x": numbers(0, 6), "shape": ints(3, 0)},
               lambda x, s: x.reshape(3, 0))
    yield Case("reshape_input", "y = Reshape (x, shape)", {"x": numbers(2, 6), "shape": ints(3, 4)}, lambda x, s: x.reshape(3, 4),
               data=("shape",))
    yield Case("flatten", "y = Flatten <axis = 2> (x)", {"x": numbers(2, 3, 4)}, lambda x: x.reshape(6, 4))
    yield Case("squeeze", "y = Squeeze (x, axes)", {"x": numbers(1, 3, 1), "axes": ints(0, -1)}, lambda x, a: x.reshape(3))
    yield Case("squeeze_all", "y = Squeeze (x)", {"x": numbers(1, 3, 1)}, lambda x: x.reshape(3))
    yield Case("unsqueeze", "y = Unsqueeze (x, axes)", {"x": numbers(3), "axes": ints(0, 2)}, lambda x, a: x.reshape(1, 3, 1))
    yield Case("transpose", "y = Transpose <perm = [2, 0, 1]> (x)", {"x": numbers(2, 3, 4)}, lambda x: x.permute(2, 0, 1))
    yield Case("transpose_default", "y = Transpose (x)", {"x": numbers(2, 3, 4)}, lambda x: x.permute(2, 1, 0))
    yield Case("expand", "y = Expand (x, shape)", {"x": numbers(3, 1), "shape": ints(2, 1, 4)}, lambda x, s: x.expand(2, 3, 4))
    yield Case("expand_scalar", "y = Expand (x, shape)", {"x": np.array(2.0), "shape": ints(2, 2)}, lambda x, s: x.expand(2, 2))
    yield Case("expand_input", "y = Expand (x, shape)", {"x": numbers(3, 1), "shape": ints(2, 3, 4)}, lambda x, s: x.expand(2, 3, 4),
               data=("shape",))
    yield Case("expand_none", "y = Expand (x, shape)", {"x": numbers(3, 2), "shape": ints(1, 1)}, lambda x, s: x * 1)
    yield Case("tile", "y = Tile (x, repeats)", {"x": numbers(2, 3), "repeats": ints(2, 3)}, lambda x, r: x.tile(2, 3))
    yield Case("tile_input", "y = Tile (x, repeats)", {"x": numbers(2, 3), "repeats": ints(1, 2)}, lambda x, r: x.tile(1, 2),
               data=("repeats",))
    yield Case("tile_none", "y = Tile (x, repeats)", {"x": numbers(2, 3), "repeats": ints(2, 0)}, lambda x, r: x.tile(2, 0))
    yield Case("concat", "y = Concat <axis = 1> (a, b, c)", {"a": numbers(2, 3), "b": numbers(2, 1), "c": numbers(2, 4)},
               lambda *x: torch.cat(x, 1))
    yield Case("concat_negative", "y = Concat <axis = -2> (a, b)", {"a": numbers(2, 3), "b": numbers(1, 3)}, lambda *x: torch.cat(x, 0))
    yield Case("concat_one", "y = Concat <axis = 0> (a)", {"a": numbers(2, 3)}, lambda a: a * 1)
    yield Case("concat_twice", "y = Concat <axis = 0> (a, b, a)", {"a": numbers(2, 3), "b": numbers(1, 3)},
               lambda a, b: torch.cat([a, b, a], 0))
    yield Case("split", "y, z = Split <axis = 1> (x, split)", {"x": numbers(2, 5), "split": ints(2, 3)},
               lambda x, s: torch.split(x, [2, 3], 1), outputs=("y", "z"))
    yield Case("split_part", "y, z = Split <axis = -1> (x, split)", {"x": numbers(2, 5), "split": ints(2, 3)},
               lambda x, s: torch.split(x, [2, 3], 1), outputs=("y", "z"), skip="z")
    yield Case("split_omitted", "a, y, b = Split <num_outputs = 3> (x)", {"x": numbers(6, 2)}, lambda x: x[2:4])
    yield Case("split_uneven", "y, z, w = Split <num_outputs = 3> (x)", {"x": numbers(7, 2)},
               lambda x: torch.split(x, [3, 3, 1]), outputs=("y", "z", "w"))
    for name, starts, ends, axes, steps, index in slices():
        inputs = {"x": numbers(4, 3, 5), "starts": ints(*starts), "ends": ints(*ends)}
        inputs |= {} if axes is None else {"axes": ints(*axes)}
        inputs |= {} if steps is None else {"steps": ints(*steps)}
        f = lambda x, *_, index=index: x[np.ix_(*(i.copy() for i in index))]
        yield Case(f"slice_{name}", f"y = Slice ({', '.join(inputs)})", inputs, f)
        if name in ("plain", "negative", "steps"):
            yield Case(f"slice_{name}_input", f"y = Slice ({', '.join(inputs)})", inputs, f, data=("starts", "ends"))
    yield Case("slice_int32", "y = Slice (x, starts, ends, axes)",
               {"x": numbers(4, 3), "starts": np.array([-3], np.int32), "ends": np.array([-1], np.int32), "axes": np.array([-2], np.int32)},
               lambda x, *_: x[1:3])
    for name, mode, amounts, f in pads():
        yield Case(f"pad_{name}", f'y = Pad <mode = "{mode}"> (x, pads)', {"x": numbers(3, 4), "pads": ints(*amounts)},
                   lambda x, p, f=f: f(x))
    yield Case("pad_value", "y = Pad (x, pads, v)", {"x": numbers(3, 4), "pads": ints(1, 0, 0, 2), "v": np.array(0.5)},
               lambda x, p, v: torch.where(F.pad(torch.ones(3, 4, dtype=bool), (0, 2, 1, 0)), F.pad(x, (0, 2, 1, 0)), v))
    yield Case("pad_value_negative", "y = Pad (x, pads, v)", {"x": numbers(3, 4), "pads": ints(-1, 2, 0, -1), "v": np.array(0.5)},
               lambda x, p, v: torch.cat([v.expand(2, 2), x[1:, :3]], 1))
    yield Case("pad_axes", "y = Pad (x, pads, , axes)", {"x": numbers(3, 4), "pads": ints(1, 2), "axes": ints(-1)},
               lambda x, p, a: F.pad(x, (1, 2)))
    yield Case("pad_input", "y = Pad (x, pads)", {"x": numbers(3, 4), "pads": ints(1, 0, 0, 2)}, lambda x, p: F.pad(x, (0, 2, 1, 0)),
               data=("pads",))
    yield Case("pad_reflect_axes", 'y = Pad <mode = "reflect"> (x, pads, , axes)',
               {"x": numbers(2, 4), "pads": ints(3, 1), "axes": ints(1)}, lambda x, p, a: F.pad(x, (3, 1), "reflect"))
    for mode in ("DCR", "CRD"):
        def depth_to_space(x, mode=mode):
            if mode == "CRD":
                return F.pixel_shuffle(x, 2)
            n, c, h, w = x.shape
            return x.reshape(n, 2, 2, c // 4, h, w).permute(0, 3, 4, 1, 5, 2).reshape(n, c // 4, 2 * h, 2 * w)
        yield Case(f"depth_to_space_{mode.lower()}", f'y = DepthToSpace <blocksize = 2, mode = "{mode}"> (x)',
                   {"x": numbers(2, 8, 2, 3)}, depth_to_space)

    def space_to_depth(x):
        n, c, h, w = x.shape
        return x.reshape(n, c, h // 2, 2, w // 2, 2).permute(0, 3, 5, 1, 2, 4).reshape(n, 4 * c, h // 2, w // 2)
    yield Case("space_to_depth", "y = SpaceToDepth <blocksize = 2> (x)", {"x": numbers(2, 2, 4, 6)}, space_to_depth)
    yield Case("space_to_depth_crd", 'y = SpaceToDepth <blocksize = 2, mode = "CRD"> (x)', {"x": numbers(2, 2, 4, 6)},
               lambda x: F.pixel_unshuffle(x, 2))
    yield Case("triu", "y = Trilu (x)", {"x": numbers(2, 3, 4)}, torch.triu)
    yield Case("tril", "y = Trilu <upper = 0> (x, k)", {"x": numbers(3, 4), "k": np.array(1)}, lambda x, k: x.tril(1))
    yield Case("triu_negative", "y = Trilu (x, k)", {"x": numbers(3, 4), "k": np.array(-1)}, lambda x, k: x.triu(-1), data=("k",))

    def reversed_rows(x, n):
        return torch.stack([torch.cat([x[:k, i].flip(0), x[k:, i]]) for i, k in enumerate(n.tolist())], 1)
    yield Case("reverse_sequence", "y = ReverseSequence (x, n)", {"x": numbers(4, 3, 2), "n": ints(1, 4, 3)}, reversed_rows, data=("n",))
    yield Case("reverse_sequence_batch", "y = ReverseSequence <batch_axis = 0, time_axis = 1> (x, n)",
               {"x": numbers(3, 4), "n": ints(1, 4, 3)}, lambda x, n: reversed_rows(x.T, n).T, data=("n",))
    yield Case("center_crop_pad", "y = CenterCropPad (x, shape)", {"x": numbers(5, 4), "shape": ints(2, 7)},
               lambda x, s: F.pad(x[1:3], (1, 2)))
    yield Case("center_crop_pad_axes", "y = CenterCropPad <axes = [1]> (x, shape)", {"x": numbers(2, 6, 2), "shape": ints(3)},
               lambda x, s: x[:, 1:4])
    mask = np.array([True, False, True, True])
    yield Case("compress", "y = Compress <axis = 1> (x, c)", {"x": numbers(2, 4), "c": mask}, lambda x, c: x[:, c], data=("c",))
    yield Case("compress_flat", "y = Compress (x, c)", {"x": numbers(2, 4), "c": mask}, lambda x, c: x.reshape(-1)[:4][c], data=("c",))
    yield Case("compress_short", "y = Compress <axis = -1> (x, c)", {"x": numbers(2, 4), "c": mask[:3]}, lambda x, c: x[:, :3][:, c])
