"""How fast the provider is, beside cuBLASLt, PyTorch and ONNX Runtime with CUDA on the same GPU."""
import dataclasses
import json
import pathlib
import re
import statistics
import tempfile

import chains
from bundle import MODELS
from chains import Step

ROUNDS = 2
ABSENT = "-"


@dataclasses.dataclass
class Measured:
    """Of one operator, on the device. why: what keeps it from there."""
    seconds: float = 0
    kernels: float = 0  # on the device for one operator: below 1 where several were fused
    why: str = ""


def chain(machine, clock, step, dtype, dims, options=(), rounds=1):
    """The time of one operator: the difference of a long and a short chain, in the median of rounds."""
    # So many that they take longer than the copies beside them vary.
    lengths = (1, 3) if machine.emulated else (4, 260)
    with tempfile.TemporaryDirectory(prefix="onward_chain_") as scratch:
        folder = pathlib.Path(scratch)
        for length in lengths:
            (folder / f"{length}.onnx").write_bytes(chains.model(step, dtype, dims, length))
        plan, why = machine.json(clock, "explain", folder / f"{lengths[1]}.onnx", "--provider", "cuda", *options)
        if plan is None:
            return Measured(why=why)
        on_gpu = sum(node["provider"] == "cuda" and not is_copy(node) and not is_view(node) for node in plan["nodes"])
        on_cpu = sum(node["provider"] == "cpu" for node in plan["nodes"])
        if on_gpu == 0 or on_cpu >= lengths[1]:
            return Measured(why="not on the GPU")
        given = list(options)
        for i, each in enumerate(step.inputs):
            file = folder / f"i{i}.pb"
            file.write_bytes(chains.tensor(f"i{i}", dtype, each, chains.elements(dtype, each, i)))
            given += ["--input", f"i{i}={file}"]
        differences = []
        for _ in range(1 if machine.emulated else rounds):
            times = [bench(machine, clock, folder / f"{length}.onnx", *given) for length in lengths]
            for time, why in times:
                if time is None:
                    return Measured(why=why)
            differences.append((times[1][0] - times[0][0]) / (lengths[1] - lengths[0]))
    return Measured(statistics.median(differences), on_gpu / lengths[1])


def bench(machine, clock, model, *options):
    """Median seconds of a run, copies of inputs and outputs included; None and why where it does not run."""
    seconds = "0.01" if machine.emulated else "0.4"
    document, why = machine.json(clock, "bench", model, "--provider", "cuda", "--duration", seconds, *options)
    return (document["latency_ms"]["median"] / 1e3, "") if document else (None, why)


def peer(machine, clock, name, *words, text=None, limit=60):
    """What a script of a peer prints, as JSON; {"absent": why} where the peer is not there."""
    if machine.emulated:
        return {"absent": "not asked on the emulated device"}
    done = machine.script(clock, name, *words, text=text, limit=limit)
    try:
        return json.loads(done.out)
    except ValueError:
        return {"absent": done.why()}


def products(machine, section, clock):
    wanted = [{"dtype": dtype, "m": m, "n": n, "k": n} for dtype, m, n in (
        [("float32", 24, 16), ("bfloat16", 16, 16)] if machine.emulated else
        [("bfloat16", 8192, 8192), ("bfloat16", 4096, 4096), ("bfloat16", 64, 8192), ("float16", 8192, 8192),
         ("tf32", 8192, 8192), ("float32", 4096, 4096)])]
    section.say("TFLOP/s of one row-major product, without copies to and from the host. Best: the fastest of "
                "cuBLASLt's first 16 algorithms; first: the one that its heuristic names. Onward: a long chain of "
                "products less a short one.")
    libraries = [machine.linked("cudart"), machine.linked("cublasLt")]
    done = machine.script(clock, "cuda_library.py", "products", *libraries, "0.001" if machine.emulated else "0.05",
                          text=json.dumps(wanted), bundled=True, limit=60)
    try:
        library = json.loads(done.out)
    except ValueError:
        library = [{"why": done.why()}] * len(wanted)
        section.say(f"cuBLASLt was not measured: {done.why()}.")
    torch = peer(machine, clock, "torch_peer.py", "products", text=json.dumps(wanted))
    section.row("type", "m x n x k", "cuBLASLt best", "first", "PyTorch", "Onward", "Onward / best")
    reached = []
    for i, (product, theirs) in enumerate(zip(wanted, library)):
        m, n, k = product["m"], product["n"], product["k"]
        fast = ("--precision", "fast") if product["dtype"] == "tf32" else ()
        dtype = "float32" if product["dtype"] == "tf32" else product["dtype"]
        ours = chain(machine, clock, Step("MatMul", inputs=[(k, n)]), dtype, (m, k), fast, ROUNDS)
        flops = 2 * m * n * k
        share = theirs["best"] / ours.seconds if "best" in theirs and ours.seconds > 0 else None
        if share and product["dtype"] == "bfloat16":
            reached.append(share)
        section.row(product["dtype"], f"{m} x {n} x {k}", theirs.get("why") or teraflops(flops, theirs["best"]),
                    ABSENT if "why" in theirs else teraflops(flops, theirs["first"]),
                    ABSENT if "absent" in torch else teraflops(flops, torch["seconds"][i]),
                    ours.why or teraflops(flops, ours.seconds), f"{share:.2f}" if share else ABSENT)
    note_absent(section, "PyTorch", torch)
    if not reached:
        return "no bfloat16 product of Onward was measured"
    return f"bfloat16: {max(reached):.2f} of cuBLASLt's best"


def teraflops(flops, seconds):
    """In text; a peer gives the reason where it has no time."""
    if isinstance(seconds, str):
        return seconds
    return f"{flops / seconds / 1e12:.1f}" if seconds > 0 else "below the noise"


def note_absent(section, name, answer):
    if "absent" in answer:
        section.say(f"{name}: {answer['absent']}.")


DECODERS = ("gpt2_decode", "llama_tiny_decode")

# Zoo models whose network PyTorch has, with the dims of their first input.
NETWORKS = {
    **{name: (name, "float32", (1, 3, 224, 224)) for name in
       ("resnet50", "mobilenet_v2", "efficientnet_b0", "convnext_tiny", "vit_b_16")},
    "resnet50_fp16": ("resnet50", "float16", (1, 3, 224, 224)),
    "bert_base": ("bert", "float32", (1, 128)),
}


def torch_models(machine, section, clock):
    """PyTorch's times by the model's name."""
    answer = peer(machine, clock, "torch_peer.py", "models", limit=120, text=json.dumps(
        [{"network": network, "dtype": dtype, "dims": dims} for network, dtype, dims in NETWORKS.values()]))
    note_absent(section, "PyTorch", answer)
    return dict(zip(NETWORKS, answer.get("seconds", [])))


def milliseconds(times, way):
    """In text; a peer gives the reason where it has no times."""
    return times if isinstance(times, str) else f"{1e3 * times[way]:.3f}" if times else ABSENT


def models(machine, section, clock):
    names = ("mlp_tiny",) if machine.emulated else MODELS
    there = peer(machine, clock, "onnxruntime_peer.py", "--available")
    torch = torch_models(machine, section, clock)
    section.say("Milliseconds of a run on the inputs of the model's first data set, copies of inputs and outputs "
                "included; nodes: on the GPU, copies among them, on the CPU. Right: data sets whose outputs are within "
                "the model's tolerances. Kept: the same runs, whose inputs and outputs stay on the GPU. PyTorch: its "
                "own network of that name with random weights, without TF32 as here, float16 with channels last; "
                "called from Python, and as a CUDA graph.")
    section.row("model", "right", "nodes: GPU (copies) / CPU", "Onward ms", "kept ms", "PyTorch ms",
                "PyTorch graph ms", "ONNX Runtime CUDA ms", "ONNX Runtime / Onward")
    measured, wrong = 0, 0
    for name in names:
        if clock.left() < 5:
            section.row(name, "no time was left")
            continue
        directory, why = machine.filled(clock, name)
        if directory is None:
            section.row(name, why)
            continue
        right, verdict = checked(machine, clock, directory)
        wrong += not right
        ours, theirs, ratio, why = beside(machine, clock, directory, "absent" not in there)
        measured += ours is not None
        kept, why_not = bench(machine, clock, directory / "model.onnx", *inputs(machine, clock, directory),
                              "--on-device", "*")
        section.row(name, verdict, placed(machine, clock, directory), f"{1e3 * ours:.3f}" if ours else why,
                    f"{1e3 * kept:.3f}" if kept else why_not,
                    milliseconds(torch.get(name), "called"), milliseconds(torch.get(name), "graph"),
                    theirs if isinstance(theirs, str) else f"{1e3 * theirs:.3f}", f"{ratio:.2f}" if ratio else ABSENT)
    note_absent(section, "ONNX Runtime", there)
    for name in DECODERS:
        if name in names:
            section.say(f"{name} generates {generated(machine, clock, name)}.")
    verdict = f"{measured} of {len(names)} measured, {wrong} wrong"
    return f"FAILED: {verdict}" if wrong else verdict


def generated(machine, clock, name):
    """Tokens a second of one row whose caches stay on the GPU, in text: a long text less a short one, which has the
    making of plans and graphs, too."""
    directory, why = machine.filled(clock, name)
    if directory is None:
        return f"nothing: {why}"
    lengths, taken = (2, 4) if machine.emulated else (50, 250), []
    for length in lengths:
        document, why = machine.json(clock, "generate", directory / "model.onnx", "--provider", "cuda", "--prompt-ids",
                                     "1,2,3,4,5,6,7,8", "--max-new-tokens", str(length), limit=30)
        if document is None:
            return f"nothing: {why}"
        taken.append(length / document["tokens_per_s"])
    more = taken[1] - taken[0]
    return f"{(lengths[1] - lengths[0]) / more:.0f} tokens/s" if more > 0 else "within the noise"


def beside(machine, clock, directory, with_peer):
    """Seconds of Onward and of ONNX Runtime, taking turns, the median ratio of the rounds, and why Onward has none."""
    given, pairs = inputs(machine, clock, directory), []
    for _ in range(ROUNDS if with_peer else 1):
        ours, why = bench(machine, clock, directory / "model.onnx", *given)
        if ours is None:
            return None, ABSENT, None, why
        theirs = peer(machine, clock, "onnxruntime_peer.py", directory, "0.4") if with_peer else {}
        if "seconds" not in theirs:
            return ours, theirs.get("absent", ABSENT), None, ""
        pairs.append((ours, theirs["seconds"]))
    middle = [statistics.median(pair[i] for pair in pairs) for i in (0, 1)]
    return *middle, statistics.median(theirs / ours for ours, theirs in pairs), ""


def checked(machine, clock, directory):
    document, why = machine.json(clock, "conformance", directory, "--provider", "cuda")
    if document is None:
        return False, why
    case = document["cases"][0]
    return case["status"] == "passed", "yes" if case["status"] == "passed" else case["reason"]


def is_copy(node):
    return re.match(r"\[(onward\.)?Copy ", node["node"]) is not None


def is_view(node):
    return re.match(rf"\[({'|'.join(chains.VIEWS)})\b", node["node"]) is not None


def placed(machine, clock, directory):
    plan, why = machine.json(clock, "explain", directory / "model.onnx", "--provider", "cuda")
    if plan is None:
        return why
    on_gpu = [node for node in plan["nodes"] if node["provider"] == "cuda"]
    copies = sum(map(is_copy, on_gpu))
    return f"{len(on_gpu)} ({copies}) / {len(plan['nodes']) - len(on_gpu)}"


def inputs(machine, clock, directory):
    document, _ = machine.json(clock, "inspect", directory / "model.onnx")
    names = [value["name"] for value in document["inputs"] if not value["optional"]] if document else []
    return [word for i, name in enumerate(names)
            for word in ("--input", f"{name}={directory}/test_data_set_0/input_{i}.pb")]


# (name, step, dims, tensors moved through the device's memory, floating-point operations)
def operator_rows(tiny):
    wide, rows = ((16, 32), (8, 16)) if tiny else ((8192, 4096), (8192, 2048))
    image = (1, 4, 8, 8) if tiny else (32, 64, 56, 56)
    heads = (1, 2, 8, 4) if tiny else (8, 16, 1024, 64)
    channels, last = image[1], rows[-1:]
    pixels = image[0] * image[2] * image[3]
    window = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    norms = [last]
    return [
        ("Add", Step("Add", inputs=[wide], apart=True), wide, 3, 0),
        ("Sigmoid", Step("Sigmoid", apart=True), wide, 2, 0),
        ("Tanh", Step("Tanh", apart=True), wide, 2, 0),
        ("Gelu", Step("Gelu", apart=True), wide, 2, 0),
        ("Softmax", Step("Softmax"), rows, 2, 0),
        ("LayerNormalization", Step("LayerNormalization", weights=norms * 2), rows, 2, 0),
        ("RMSNormalization", Step("RMSNormalization", weights=norms), rows, 2, 0),
        ("MaxPool 3x3", Step("MaxPool", attributes=window), image, 2, 0),
        ("Conv 3x3", Step("Conv", weights=[(channels, channels, 3, 3)], attributes=window), image, 2,
         2 * pixels * channels * channels * 9),
        ("Attention", Step("Attention", inputs=[heads, heads]), heads, 4,
         4 * heads[0] * heads[1] * heads[2] * heads[2] * heads[3]),
    ]


def operators(machine, section, clock):
    table = operator_rows(machine.emulated)
    dtypes = ("float32",) if machine.emulated else ("float32", "bfloat16")
    rates = copy_rates(machine, section, clock)
    torch = peer(machine, clock, "torch_peer.py", "operators", text=json.dumps(
        [{"op": name, "dtype": dtype, "dims": dims} for dtype in dtypes for name, _, dims, _, _ in table]))
    section.say("Microseconds of one operator on the device, a long chain less a short one, and what that is in bytes "
                "(each input read once, each output written once) or operations a second.")
    section.row("operator", "type", "dims", "Onward us", "kernels", "TB/s", "of the copy", "TFLOP/s", "PyTorch us")
    there, index = 0, -1
    for dtype in dtypes:
        for name, step, dims, moved, flops in table:
            index += 1
            shown = " x ".join(map(str, dims))
            theirs = ABSENT if "absent" in torch else torch["seconds"][index]
            theirs = f"{1e6 * theirs:.1f}" if isinstance(theirs, float) else theirs
            if clock.left() < 5:
                section.row(name, dtype, shown, "no time was left", "", "", "", "", theirs)
                continue
            ours = chain(machine, clock, step, dtype, dims)
            if ours.why or ours.seconds <= 0:
                section.row(name, dtype, shown, ours.why or "below the noise", "", "", "", "", theirs)
                continue
            there += 1
            size = moved * (4 if dtype == "float32" else 2)
            for dim in dims:
                size *= dim
            section.row(name, dtype, shown, f"{1e6 * ours.seconds:.1f}", f"{ours.kernels:.2g}",
                        f"{size / ours.seconds / 1e12:.2f}",
                        f"{size / ours.seconds / rates['within the device']:.2f}" if rates else ABSENT,
                        f"{flops / ours.seconds / 1e12:.1f}" if flops else ABSENT, theirs)
    note_absent(section, "PyTorch", torch)
    return f"{there} of {len(table) * len(dtypes)} on the GPU"


def copy_rates(machine, section, clock):
    size = 1 << 16 if machine.emulated else 1 << 30
    done = machine.script(clock, "cuda_library.py", "copies", machine.linked("cudart"), size, bundled=True, limit=40)
    try:
        rates = json.loads(done.out)
    except ValueError:
        section.say(f"Copies were not measured: {done.why()}.")
        return None
    section.row("copies of 1 GiB" if not machine.emulated else "copies", "GB/s")
    for name, rate in rates.items():
        section.row(name, f"{rate / 1e9:.1f}")
    return rates
