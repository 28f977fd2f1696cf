#!/usr/bin/env python3
"""Makes the models of this folder: networks.py as torch.onnx.export(dynamo=True) writes them, with
optimize=False (<name>.onnx) and as it does by default (<name>_optimized.onnx), in double precision,
and what PyTorch's autograd says (<name>.npz): "in/x", "in/t", "out/loss" and "grad/<parameter>".

Usage: make_exports.py [NETWORK...] with the Python of `scripts/peers torch`.
"""
import logging
import pathlib
import sys
import warnings
import zipfile

import numpy as np
import torch
from networks import NETWORKS

HERE = pathlib.Path(__file__).resolve().parent


def without_paths(model):
    """Stack traces name files of the machine."""
    for node in model.graph.node:
        kept = [each for each in node.metadata_props if not each.key.endswith("stack_trace")]
        del node.metadata_props[:]
        node.metadata_props.extend(kept)
    return model


def make(name):
    torch.manual_seed(3)
    make_module, make_inputs = NETWORKS[name]
    module = make_module().double().eval()
    inputs = tuple(x.double() if x.is_floating_point() else x for x in make_inputs())
    loss = module(*inputs)
    for suffix, optimize in (("_optimized", True), ("", False)):
        program = torch.onnx.export(
            module, inputs, dynamo=True, optimize=optimize, verbose=False, input_names=["x", "t"], output_names=["loss"]
        )
        path = HERE / f"{name}{suffix}.onnx"
        path.write_bytes(without_paths(program.model_proto).SerializeToString(deterministic=True))
        print(path.name, path.stat().st_size)
    # Of one under several names, the exporter takes one.
    names = {each.name for each in program.model_proto.graph.initializer}
    parameters = {key: each for key, each in module.named_parameters(remove_duplicate=False) if key in names}
    gradients = torch.autograd.grad(loss, list(parameters.values()))
    arrays = {"in/x": inputs[0].numpy(), "in/t": inputs[1].numpy(), "out/loss": loss.detach().numpy()}
    arrays |= {f"grad/{key}": gradient.numpy() for key, gradient in zip(parameters, gradients)}
    with zipfile.ZipFile(HERE / f"{name}.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        for key, array in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{key}.npy"), "w") as file:
                np.lib.format.write_array(file, np.asanyarray(array), allow_pickle=False)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    for each in sys.argv[1:] or NETWORKS:
        make(each)
