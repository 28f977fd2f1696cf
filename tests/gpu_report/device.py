"""What the machine is: the GPU, its driver, CUDA's libraries, the program."""
import json

from machine import processor, start


def describe(machine, section, clock):
    section.row("what", "value")
    section.row("onward", f"{machine.manifest['onward']['version']} ({machine.manifest['onward']['revision']}), built "
                f"with CUDA {machine.manifest['onward']['cuda']}")
    section.row("processor", processor())
    if machine.emulated:
        section.row("GPU", "none: the emulated device")
    else:
        gpu(section, clock)
    missing = machine.missing()
    for name in machine.manifest["cuda_libraries"]:
        section.row(name, "not found" if name in missing else "emulated" if machine.emulated else "found")
    for name, value in facts(machine, clock).items():
        section.row(name, value)
    if missing:
        section.say(f"Without {', '.join(missing)} the provider does not load: install them, or the nvidia packages "
                    "of the Python that runs this, or name their directory in LD_LIBRARY_PATH.")
        return f"FAILED: {', '.join(missing)} not found"
    mnist = machine.directory / "examples/mnist/mnist-8.onnx"
    done = machine.onward(clock, "run", mnist, "--random", "--provider", "cuda", limit=40)
    if done.code != 0:
        section.say(f"The provider does not run: {done.why()}")
        return "FAILED: the provider does not run"
    return "the provider runs"


def gpu(section, clock):
    fields = ("name", "driver_version", "memory.total", "compute_cap", "clocks.max.sm", "clocks.max.memory")
    done = start(["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader"], min(20, clock.left()))
    if done.code != 0:
        section.row("GPU", f"nvidia-smi: {done.why()}")
        return
    values = done.out.splitlines()[0].split(", ")
    for field, value in zip(("GPU", "driver", "memory", "compute capability", "highest SM clock",
                             "highest memory clock"), values):
        section.row(field, value)


def facts(machine, clock):
    """Versions and sizes, from CUDA's libraries themselves."""
    libraries = [machine.linked(stem) for stem in ("cudart", "cublasLt", "cudnn")]
    done = machine.script(clock, "cuda_library.py", "facts", *libraries, bundled=True, limit=40)
    try:
        return json.loads(done.out)
    except ValueError:
        return {"CUDA": done.why()}
