#!/usr/bin/env python3
"""Makes the models of this folder: whole networks as PyTorch's exporters write them, with the
gradients that PyTorch's autograd gives in double precision.

Usage: make_models.py [MODEL...] with the Python of `scripts/peers torch`. Each model's first output
is its loss. Written are <model>.onnx (double precision) and <model>.npz: "in/<input>", "out/<output>" and
"grad/<parameter or input>"; of MODELS also <model>_float.onnx (the same network in float), of networks.py also
<model>_optimized, which is what the exporter's optimizer leaves.
"""
import io
import logging
import pathlib
import sys
import warnings
import zipfile

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from networks import NETWORKS
from torch import nn

HERE = pathlib.Path(__file__).resolve().parent


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 5), nn.SiLU(), nn.Linear(5, 3))

    def forward(self, x, target):
        logits = self.layers(x)
        return F.cross_entropy(logits, target), logits


class Cnn(nn.Module):
    """Convolutions with batch norm in training mode, pooling, a residual connection."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(4)
        self.depthwise = nn.Conv2d(4, 4, 3, padding=1, groups=4)
        self.down = nn.Conv2d(4, 6, 3, stride=2, padding=1)
        self.head = nn.Linear(6, 3)

    def forward(self, x, target):
        y = F.max_pool2d(F.relu(self.norm(self.stem(x))), 2)
        y = y + F.hardswish(self.depthwise(y))
        y = F.adaptive_avg_pool2d(F.relu(self.down(y)), 1).flatten(1)
        return F.cross_entropy(self.head(y), target), y


class Encoder(nn.Module):
    """A transformer's encoder layer, its q, k and v from one product."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, 8)
        self.norm1, self.norm2 = nn.LayerNorm(8), nn.LayerNorm(8)
        self.qkv, self.out = nn.Linear(8, 24), nn.Linear(8, 8)
        self.up, self.down = nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, ids, target):
        x = self.embed(ids)
        b, t, c = x.shape
        q, k, v = self.qkv(self.norm1(x)).split(c, dim=2)
        q, k, v = (z.view(b, t, 2, c // 2).transpose(1, 2) for z in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, c))
        x = x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))
        return F.mse_loss(x.mean(1), target), x


class Gpt(nn.Module):
    """A causal block whose head is its embedding."""

    def __init__(self):
        super().__init__()
        self.embed, self.position = nn.Embedding(13, 8), nn.Embedding(6, 8)
        self.norm, self.last = nn.LayerNorm(8), nn.LayerNorm(8)
        self.qkv, self.out = nn.Linear(8, 24, bias=False), nn.Linear(8, 8)
        self.register_buffer("mask", torch.tril(torch.ones(6, 6, dtype=torch.bool)))

    def forward(self, ids, target):
        b, t = ids.shape
        x = self.embed(ids) + self.position(torch.arange(t))
        q, k, v = self.qkv(self.norm(x)).chunk(3, dim=2)
        q, k, v = (z.view(b, t, 2, 4).transpose(1, 2) for z in (q, k, v))
        scores = (q @ k.transpose(2, 3)) / 2.0
        scores = scores.masked_fill(~self.mask[:t, :t], float("-inf"))
        y = (scores.softmax(-1) @ v).transpose(1, 2).reshape(b, t, 8)
        logits = self.last(x + self.out(y)) @ self.embed.weight.t()
        return F.cross_entropy(logits.view(-1, 13), target.view(-1)), logits


class LstmModel(nn.Module):
    """A language model: embedding, two layers of LSTM, a head."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, 5)
        self.lstm = nn.LSTM(5, 6, num_layers=2, batch_first=True)
        self.head = nn.Linear(6, 11)

    def forward(self, ids, target):
        y, _ = self.lstm(self.embed(ids))
        logits = self.head(y)
        return F.cross_entropy(logits.flatten(0, 1), target.flatten()), logits


class UNet(nn.Module):
    """Down, up by bilinear resizing and by a transposed convolution, with skips."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(2, 4, 3, padding=1)
        self.down = nn.Conv2d(4, 6, 3, stride=2, padding=1)
        self.middle = nn.Conv2d(6, 6, 3, padding=1)
        self.norm = nn.GroupNorm(2, 6)
        self.up = nn.ConvTranspose2d(6, 4, 2, stride=2)
        self.last = nn.Conv2d(14, 1, 1)

    def forward(self, x, target):
        first = F.leaky_relu(self.first(x), 0.125)
        down = F.silu(self.norm(self.down(first)))
        middle = F.elu(self.middle(F.avg_pool2d(down, 2)))
        wide = F.interpolate(middle, scale_factor=4.0, mode="bilinear", align_corners=False)
        y = self.last(torch.cat([first, self.up(down), wide], 1))
        return F.binary_cross_entropy_with_logits(y, target), y


class Block(nn.Module):
    def forward(self, x, scale, shift, weight, bias):
        return x + torch.tanh(F.linear(F.layer_norm(x, (6,), scale, shift), weight, bias))


class Functions(nn.Module):
    """Blocks that are a function of the model."""

    def __init__(self):
        super().__init__()
        for i in range(2):
            for name, dims in (("scale", (6,)), ("shift", (6,)), ("weight", (6, 6)), ("bias", (6,))):
                setattr(self, f"{name}{i}", nn.Parameter(torch.zeros(dims)))

    def forward(self, x, target):
        block = Block()
        for i in range(2):
            x = block(x, *(getattr(self, f"{name}{i}") for name in ("scale", "shift", "weight", "bias")))
        return F.mse_loss(x, target), x


class Branches(nn.Module):
    """One of two ways, chosen by a flag."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x, flag):
        y = torch.cond(flag, lambda x: torch.sin(self.a(x)) * x, lambda x: self.b(x).exp(), (x,))
        return (y * y).mean(), y


def inputs_of(name, rng):
    ids = lambda high, *dims: torch.from_numpy(rng.integers(0, high, dims))
    numbers = lambda *dims: torch.from_numpy(rng.standard_normal(dims))
    return {
        "mlp": lambda: {"x": numbers(4, 6), "target": ids(3, 4)},
        "cnn": lambda: {"x": numbers(4, 3, 8, 8), "target": ids(3, 4)},
        "encoder": lambda: {"ids": ids(11, 2, 5), "target": numbers(2, 8)},
        "gpt": lambda: {"ids": ids(13, 2, 6), "target": ids(13, 2, 6)},
        "lstm": lambda: {"ids": ids(11, 3, 4), "target": ids(11, 3, 4)},
        "unet": lambda: {"x": numbers(2, 2, 8, 8), "target": torch.from_numpy(rng.random((2, 1, 8, 8)))},
        "functions": lambda: {"x": numbers(3, 6), "target": numbers(3, 6)},
        "branches": lambda: {"x": numbers(3, 4), "flag": torch.tensor(True)},
    }[name]()


# Model, how it is exported, and which axes are dynamic.
MODELS = {
    "mlp": (Mlp, {"dynamo": True, "optimize": True}, {"x": {0: "batch"}, "target": {0: "batch"}}),
    "cnn": (Cnn, {"dynamo": False, "training": torch.onnx.TrainingMode.TRAINING, "opset_version": 17},
            {"x": {0: "batch"}, "target": {0: "batch"}}),
    "encoder": (Encoder, {"dynamo": True, "optimize": False}, {"ids": {0: "batch", 1: "time"}, "target": {0: "batch"}}),
    "gpt": (Gpt, {"dynamo": True, "optimize": False}, {}),
    "lstm": (LstmModel, {"dynamo": True, "optimize": False}, {}),
    "unet": (UNet, {"dynamo": True, "optimize": False}, {}),
    "functions": (Functions, {"dynamo": False, "opset_version": 17}, {"x": {0: "batch"}, "target": {0: "batch"}}),
    "branches": (Branches, {"dynamo": True, "optimize": False}, {}),
}


def export(model, inputs, options, dynamic):
    options = dict(options)
    arguments = tuple(inputs.values())
    if options["dynamo"]:
        dims = {}
        shapes = {k: {axis: dims.setdefault(name, torch.export.Dim(name, min=2)) for axis, name in dynamic.get(k, {}).items()}
                  for k in inputs} if dynamic else None
        program = torch.onnx.export(model, arguments, input_names=list(inputs), output_names=["loss", "y"],
                                    dynamic_shapes=shapes, verbose=False, **options)
        return program.model_proto
    if isinstance(model, Functions):
        return export_functions(model, inputs, options, dynamic)
    return export_onnx(model, inputs, dynamic, ["loss", "y"], options)


def export_functions(model, inputs, options, dynamic):
    """Exports the block and the loss, and calls the block twice as a function of the model."""
    x, target = inputs["x"], inputs["target"]
    parameters = [list(model.parameters())[4 * i:4 * i + 4] for i in range(2)]
    names = ["h", "scale", "shift", "weight", "bias"]
    block = export_onnx(Block(), dict(zip(names, (x, *parameters[0]))), {"h": {0: "batch"}}, ["block_y"], options).graph
    constants = [onnx.helper.make_node("Constant", [], [i.name], value=i) for i in block.initializer]
    function = onnx.helper.make_function("blocks", "Block", names, ["block_y"], constants + list(block.node),
                                         [onnx.helper.make_opsetid("", options["opset_version"])])

    class Loss(nn.Module):
        def forward(self, y, target):
            return F.mse_loss(y, target)
    loss = export_onnx(Loss(), {"y": x, "target": target}, dynamic, ["loss"], options)
    graph, kind = loss.graph, onnx.helper.np_dtype_to_tensor_dtype(x.numpy().dtype)
    calls = [onnx.helper.make_node("Block", ["x" if i == 0 else "x1", *(f"{n}{i}" for n in names[1:])], ["x1" if i == 0 else "y"],
                                   domain="blocks", name=f"block{i}") for i in range(2)]
    nodes = calls + list(graph.node)
    weights = [onnx.numpy_helper.from_array(p.detach().numpy(), n) for n, p in model.named_parameters()]
    made = onnx.helper.make_graph(
        nodes, "functions", [onnx.helper.make_tensor_value_info("x", kind, ["batch", 6]), *(i for i in graph.input if i.name == "target")],
        [*graph.output, onnx.helper.make_tensor_value_info("y", kind, ["batch", 6])], weights + list(graph.initializer))
    return onnx.helper.make_model(made, functions=[function], ir_version=loss.ir_version,
                                  opset_imports=[*loss.opset_import, onnx.helper.make_opsetid("blocks", 1)])


def export_onnx(model, inputs, dynamic, outputs, options):
    buffer = io.BytesIO()
    torch.onnx.export(model, tuple(inputs.values()), buffer, input_names=list(inputs), output_names=outputs, dynamic_axes=dynamic,
                      do_constant_folding=False, **options)
    return onnx.load_from_string(buffer.getvalue())


def to(dtype, inputs):
    return {k: v.to(dtype) if v.is_floating_point() else v for k, v in inputs.items()}


def make(name):
    rng = np.random.default_rng(7)
    torch.manual_seed(11)
    make_model, options, dynamic = MODELS[name]
    model = make_model().double().train()
    inputs = inputs_of(name, rng)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.from_numpy(rng.standard_normal(parameter.shape)) * 0.1)
    (HERE / f"{name}.onnx").write_bytes(export(model, inputs, options, dynamic).SerializeToString())
    single = make_model().float().train()
    single.load_state_dict({k: v.float() if v.is_floating_point() else v for k, v in model.state_dict().items()})
    (HERE / f"{name}_float.onnx").write_bytes(export(single, to(torch.float, inputs), options, dynamic).SerializeToString())
    given = {k: v.clone().requires_grad_(v.is_floating_point()) for k, v in inputs.items()}
    outputs = model(*given.values())
    wrt = dict(model.named_parameters()) | {k: v for k, v in given.items() if v.is_floating_point()}
    gradients = torch.autograd.grad(outputs[0], list(wrt.values()), allow_unused=True)
    arrays = {f"in/{k}": v.numpy() for k, v in inputs.items()}
    arrays |= {f"out/{k}": v.detach().numpy() for k, v in zip(("loss", "y"), outputs)}
    arrays |= {f"grad/{k}": (torch.zeros_like(wrt[k]) if v is None else v).numpy() for k, v in zip(wrt, gradients)}
    write_npz(name, arrays)


def write_npz(name, arrays):
    with zipfile.ZipFile(HERE / f"{name}.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        for key, array in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{key}.npy"), "w") as file:
                np.lib.format.write_array(file, np.asanyarray(array), allow_pickle=False)
    print(name, (HERE / f"{name}.onnx").stat().st_size)


def make_network(name):
    torch.manual_seed(3)
    make_module, make_inputs = NETWORKS[name]
    module = make_module().double().eval()
    with torch.no_grad():
        for parameter in module.parameters():  # the exporter merges equal ones
            parameter += torch.randn_like(parameter) * 0.1
    for buffer in module.buffers():
        if buffer.is_floating_point():
            buffer.uniform_(0.5, 1.5)
    inputs = tuple(x.double() if x.is_floating_point() else x for x in make_inputs())
    loss = module(*inputs)
    parameters = dict(module.named_parameters())
    gradients = dict(zip(parameters, torch.autograd.grad(loss, list(parameters.values()))))
    arrays = {"in/x": inputs[0].numpy(), "in/t": inputs[1].numpy(), "out/loss": loss.detach().numpy()}
    folds = any(isinstance(part, nn.BatchNorm2d) for part in module.modules())  # into convolutions
    for optimize in (False,) if folds else (False, True):
        model = torch.onnx.export(module, inputs, dynamo=True, verbose=False, output_names=["loss"],
                                  input_names=["x", "t"], optimize=optimize).model_proto
        for part in [model, *model.graph.node, *model.graph.value_info, *model.graph.initializer, *model.graph.input,
                     *model.graph.output]:
            del part.metadata_props[:]
        written = f"{name}{'_optimized' if optimize else ''}"
        (HERE / f"{written}.onnx").write_bytes(model.SerializeToString())
        # The exporter's optimizer folds some parameters into others.
        kept = {i.name for i in model.graph.initializer} & parameters.keys()
        if optimize:
            kept -= {"tokens.weight"} if name == "gpt_causal" else set()  # tied: its transpose becomes another one
        write_npz(written, arrays | {f"grad/{key}": gradients[key].numpy() for key in sorted(kept)})


def main():
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    for name in sys.argv[1:] or [*MODELS, *NETWORKS]:
        make(name) if name in MODELS else make_network(name)


if __name__ == "__main__":
    main()
