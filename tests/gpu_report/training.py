"""Training steps on the GPU: GPT-2 of 124M parameters and ResNet-50 under bfloat16 autocast, beside PyTorch."""
import dataclasses
import json
import pathlib
import random
import statistics
import struct
import tempfile
import zipfile

from speed import note_absent, peer

STEPS, FIRST = 30, 10  # steps of a training, and those before its graph and caches are warm

GPT = """built {{
  name: "gpt"
  options {{ key: "vocabulary" value: {vocabulary} }}
  options {{ key: "layers" value: {layers} }}
  options {{ key: "width" value: {width} }}
  options {{ key: "heads" value: {heads} }}
  options {{ key: "context" value: {length} }}
}}
loss {{ cross_entropy {{ class_axis: -1 }} }}
optimizer {{ adamw {{ lr: 3e-4 beta2: 0.95 weight_decay: 0.1 }} }}
clip {{ global_norm: 1 }}
precision {{ autocast: BFLOAT16 }}
data {{ text {{ path: "tokens.bin" tokens: UINT16 window: {length} random: true }} }}
"""

RESNET = """built {{
  name: "resnet50"
  options {{ key: "size" value: {size} }}
  options {{ key: "width" value: {width} }}
  options {{ key: "classes" value: 1000 }}
}}
loss {{ cross_entropy {{}} }}
optimizer {{ sgd {{ lr: 0.01 momentum: 0.9 }} }}
precision {{ autocast: BFLOAT16 }}
data {{ npz {{ path: "images.npz" }} }}
"""


@dataclasses.dataclass
class Training:
    name: str
    config: str
    sizes: dict
    batch: int
    of_example: int  # units of an example
    unit: str


def trainings(tiny):
    gpt = {"vocabulary": 50304, "layers": 12, "width": 768, "heads": 12, "length": 1024}
    resnet = {"size": 224, "width": 64}
    if tiny:
        gpt = {"vocabulary": 70, "layers": 1, "width": 16, "heads": 2, "length": 8}
        resnet = {"size": 32, "width": 2}
    return [Training("gpt2_124M", GPT, gpt, 2 if tiny else 16, gpt["length"], "tokens/s"),
            Training("resnet50", RESNET, resnet, 2 if tiny else 128, 1, "images/s")]


def array(dtype, dims, data):
    """A .npy file."""
    head = str({"descr": dtype, "fortran_order": False, "shape": dims}).encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data


def put_data(folder, training):
    """Tokens or images, random but for the sign of a class."""
    draw, sizes = random.Random(1), training.sizes
    if "length" in sizes:
        count = 4 * training.batch * (sizes["length"] + 1)
        tokens = [min(int(draw.expovariate(0.002)), sizes["vocabulary"] - 1) for _ in range(count)]
        (folder / "tokens.bin").write_bytes(struct.pack(f"<{count}H", *tokens))
        return
    count, pixels = 2 * training.batch, 3 * sizes["size"] ** 2
    # Floats of either sign between 0.5 and 2 in magnitude, whose other bits are random.
    data = bytearray(draw.randbytes(4 * count * pixels))
    data[3::4] = bytes(byte & 0x80 | 0x3F for byte in data[3::4])
    labels = struct.pack(f"<{count}q", *(draw.randrange(1000) for _ in range(count)))
    with zipfile.ZipFile(folder / "images.npz", "w") as file:
        file.writestr("image.npy", array("<f4", (count, 3, sizes["size"], sizes["size"]), bytes(data)))
        file.writestr("label.npy", array("<i8", (count,), labels))


def ours(machine, clock, training):
    """Median seconds of a step, the loss after the last, the peak of memory in bytes; and why there are none."""
    steps, first = (3, 1) if machine.emulated else (STEPS, FIRST)
    with tempfile.TemporaryDirectory(prefix="onward_training_") as scratch:
        folder = pathlib.Path(scratch)
        put_data(folder, training)
        config = folder / "train.textproto"
        config.write_text(training.config.format(**training.sizes) +
                          f"batch_size: {training.batch}\nsteps: {steps}\n")
        document, why = machine.json(clock, "train", config, "--provider", "cuda", "--output-dir", folder / "out")
        if document is None:
            return None, why
        lines = (folder / "out/metrics.jsonl").read_text().splitlines()
        made = [each for each in map(json.loads, lines) if "examples" in each and "seconds" in each]
        seconds = statistics.median(each["seconds"] for each in made[first:])
        return (seconds, made[-1]["loss"], document["peak_bytes"]), ""


def measured(machine, section, clock):
    section.say("A step with its update, under autocast in bfloat16, data from the host included; GPT-2 with batches of "
                "16 x 1,024 tokens and clipping, ResNet-50 with batches of 128 images of 224 x 224. PyTorch: the same "
                "steps, images with channels last, the optimizer fused; by torch.compile, too.")
    section.row("training", "unit", "Onward", "ms a step", "loss", "GB", "PyTorch", "PyTorch compiled",
                "Onward / compiled")
    there, notes = 0, {}
    for training in trainings(machine.emulated):
        result, why = ours(machine, clock, training)
        row = {"name": training.name, "batch": training.batch, **training.sizes}
        theirs = peer(machine, clock, "torch_training_peer.py", text=json.dumps(row), limit=100)
        notes.update({key: value for key, value in theirs.items() if key == "absent"})
        units = training.batch * training.of_example
        rates = [f"{units / theirs[way]:.0f}" if isinstance(theirs.get(way), float) else theirs.get(way, "-")
                 for way in ("eager", "compiled")]
        if result is None:
            section.row(training.name, training.unit, why, "", "", "", *rates, "")
            continue
        there += 1
        seconds, loss, peak = result
        ratio = theirs["compiled"] / seconds if isinstance(theirs.get("compiled"), float) else None
        section.row(training.name, training.unit, f"{units / seconds:.0f}", f"{1e3 * seconds:.2f}", f"{loss:.3f}",
                    f"{peak / 1e9:.1f}", *rates, f"{ratio:.2f}" if ratio else "-")
    note_absent(section, "PyTorch", notes)
    return f"{there} of {len(trainings(machine.emulated))} measured"
