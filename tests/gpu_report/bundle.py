"""Makes the bundle of scripts/gpu_report: a directory, or an archive of it."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPENDENCIES = pathlib.Path(os.environ.get("ONWARD_DEPS", pathlib.Path.home() / ".cache/onward"))

# Every machine has its own glibc, and a GPU machine its own CUDA.
GLIBC = re.compile(r"^(ld-linux.*|lib(c|m|dl|rt|pthread|resolv|util|mvec|anl))\.so")
CUDA = re.compile(r"^lib(cuda|cudart|cublas|cublasLt|cudnn|nccl|nvrtc|nvJitLink)[._]")
# Put on the path only where the machine's own are older.
TOOLCHAIN = re.compile(r"^lib(stdc\+\+|gcc_s)\.so")

# Zoo models whose expected outputs are small; filled with weights on the other machine.
MODELS = ("mlp_tiny", "resnet50", "resnet50_fp16", "mobilenet_v2", "efficientnet_b0", "convnext_tiny", "vit_b_16",
          "bert_base", "minilm_l6", "minilm_fp16", "minilm_bf16", "gpt2_decode", "llama_tiny_decode",
          "t5_small_encoder", "unet_segmentation")
# What the tests labelled gpu read of the sources.
SOURCES = ("examples/mnist/mnist-8.onnx", "examples/mnist/digits", "tests/cases")


def output(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))} ended with {done.returncode}: {done.stderr.strip()[-400:]}")
    return done.stdout


def built():
    """Builds by the preset cuda what the bundle holds."""
    targets = ("onward", "onward_cuda", "onward_emulated_cuda", "onward_cuda_test")
    subprocess.run([ROOT / "scripts/build", "cuda", *targets], check=True)
    return ROOT / "build/cuda"


def gpu_tests(build):
    """Programs of the tests labelled gpu."""
    listed = json.loads(output("ctest", "--test-dir", build, "-L", "^gpu$", "--show-only=json-v1"))
    programs = {test["command"][0] for test in listed["tests"] if test.get("command")}
    if not programs:
        raise RuntimeError(f"{build} has no tests labelled gpu: build the target onward_cuda_test")
    return [pathlib.Path(program) for program in sorted(programs)]


def put_binary(source, directory):
    directory.mkdir(parents=True, exist_ok=True)
    target = directory / source.name
    if subprocess.run(["strip", "--strip-unneeded", "-o", target, source], check=False).returncode != 0:
        shutil.copy2(source, target)
    return target


def put_libraries(binaries, directory):
    """Copies what the binaries link to; returns CUDA's libraries among them, which stay behind."""
    left = set()
    for binary in binaries:
        for name, path in re.findall(r"^\s*(\S+) => (\S+)", output("ldd", binary), re.MULTILINE):
            if CUDA.match(name):
                left.add(name)
                continue
            if GLIBC.match(name) or name.startswith("libonward_"):
                continue
            if path == "not":
                raise RuntimeError(f"{binary} needs {name}, which is not found")
            folder = directory / "toolchain" if TOOLCHAIN.match(name) else directory
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, folder / name)
    return sorted(left)


def put_zoo(zoo, directory):
    (directory / "graphs").mkdir(parents=True)
    shutil.copy2(zoo / "fill.py", directory)
    for name in MODELS:
        if not (zoo / "graphs" / f"{name}.json").is_file():
            continue
        for suffix in (".onnx", ".json"):
            shutil.copy2(zoo / "graphs" / f"{name}{suffix}", directory / "graphs")
        shutil.copytree(zoo / "references" / name, directory / "references" / name)


def the_cases(given):
    """The standard's cases, made first where they are missing, as scripts/test does."""
    if given or os.environ.get("ONWARD_CONFORMANCE"):
        return pathlib.Path(given or os.environ["ONWARD_CONFORMANCE"])
    cases = DEPENDENCIES / "conformance-1.23.2"
    if not (cases / ".ready").exists():
        output(DEPENDENCIES / "python-1.23.2/bin/python", ROOT / "scripts/conformance", cases)
        (cases / ".ready").touch()
    return cases


def the_zoo(given):
    if given:
        return given
    data = os.environ.get("ONWARD_DATA_DIR")
    return pathlib.Path(data) / "zoo" if data else None


def fill(directory, arguments):
    build = arguments.build.resolve() if arguments.build else built()
    module, program = build / "libonward_cuda.so", build / "onward"
    for file in (module, program):
        if not file.is_file():
            raise RuntimeError(f"{file} is missing: build the targets onward and onward_cuda where nvcc is found")
    tests = gpu_tests(build)
    binaries = [put_binary(file, directory / "bin") for file in (program, *tests)]
    put_binary(module, directory / "cuda")
    emulated = sorted((build / "emulated_cuda").glob("libonward_*.so"))
    for library in emulated:
        put_binary(library, directory / "emulated_cuda")
    needs = put_libraries([module, program, *tests, *emulated], directory / "lib")
    for source in SOURCES:
        copy = shutil.copytree if (ROOT / source).is_dir() else shutil.copy2
        (directory / source).parent.mkdir(parents=True, exist_ok=True)
        copy(ROOT / source, directory / source)
    shutil.copytree(the_cases(arguments.cases), directory / "cases", ignore=shutil.ignore_patterns(".ready"))
    shutil.copy2(ROOT / "tests/emulated_cuda/gaps.txt", directory)
    zoo = the_zoo(arguments.zoo)
    if zoo and zoo.is_dir():
        put_zoo(zoo, directory / "zoo")
    else:
        print("note: the page will have no models: --zoo and ONWARD_DATA_DIR name no zoo", file=sys.stderr)
    shutil.copy2(ROOT / "scripts/gpu_report", directory)
    shutil.copytree(pathlib.Path(__file__).parent, directory / "report",
                    ignore=shutil.ignore_patterns("__pycache__", "*_test.py", "README.md"))
    manifest = {"onward": json.loads(output(binaries[0], "version", "--json")), "cuda_libraries": needs,
                "tests": [test.name for test in tests], "emulated": bool(emulated)}
    (directory / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")


def make(arguments):
    target = arguments.target
    if target.suffix not in (".xz", ".zst"):
        if target.exists() and not (target / "manifest.json").is_file():
            raise RuntimeError(f"{target} exists and is not a bundle: name another directory")
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        fill(target, arguments)
        return 0
    with tempfile.TemporaryDirectory(prefix="onward_gpu_report_") as scratch:
        directory = pathlib.Path(scratch) / "gpu_report"
        directory.mkdir()
        fill(directory, arguments)
        if target.suffix == ".xz":
            with tarfile.open(target, "w:xz", preset=6) as archive:
                archive.add(directory, "gpu_report")
        else:
            output("tar", "-C", scratch, "--use-compress-program=zstd -q -19", "-cf", target.resolve(), "gpu_report")
    print(f"{target}: {target.stat().st_size / 1e6:.1f} MB; unpack it there and start gpu_report/gpu_report run")
    return 0
