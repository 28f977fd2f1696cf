"""The machine that a bundle runs on: its libraries, its tools, and processes with a limit of time."""
import concurrent.futures
import contextlib
import dataclasses
import functools
import glob
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

ENDS_WITHIN = 5  # seconds that a process has to end after a signal
FILLED_AT_ONCE = 5  # models, ahead of the part that needs them


@dataclasses.dataclass
class Done:
    """What became of a process. code: None where its time was over."""
    code: int
    out: str
    err: str

    @property
    def ended(self):
        return self.code is not None and self.code >= 0

    def why(self):
        """What kept the process from ending well, in a line."""
        lines = [line for line in self.err.strip().splitlines() if line.strip()]
        last = lines[-1].strip()[:200] if lines else ""
        if self.code is None:
            return f"did not end in time{': ' + last if last else ''}"
        if self.code < 0:
            return f"ended by {signal.Signals(-self.code).name}{': ' + last if last else ''}"
        return last or f"ended with {self.code}"


def start(command, limit, environment=None, text=None):
    """Runs a command; ends it and all that it started when the limit, in seconds, is over."""
    try:
        process = subprocess.Popen([str(word) for word in command], env=environment, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                                   start_new_session=True)
    except OSError as error:
        return Done(127, "", str(error))
    for limit, sign in ((max(1, limit), signal.SIGTERM), (ENDS_WITHIN, signal.SIGKILL), (ENDS_WITHIN, None)):
        try:
            out, err = process.communicate(text or "", timeout=limit)
            return Done(process.returncode if sign == signal.SIGTERM else None, out, err)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, sign or signal.SIGKILL)
    return Done(None, "", "it cannot be ended: it hangs in the driver")


class Clock:
    """What is left of the time of a part, or of all of them."""

    def __init__(self, seconds, whole=None):
        self.end = time.monotonic() + seconds
        if whole is not None:
            self.end = min(self.end, whole.end)

    def left(self):
        return self.end - time.monotonic()


class Machine:
    def __init__(self, directory, emulated):
        self.directory = directory.resolve()
        if not (self.directory / "manifest.json").is_file():
            raise RuntimeError(f"{directory} is not a bundle: it has no manifest.json")
        self.manifest = json.loads((self.directory / "manifest.json").read_text())
        if emulated and not self.manifest["emulated"]:
            raise RuntimeError(f"{directory} has no emulated device: build the target onward_emulated_cuda")
        self.emulated = emulated
        self.ahead = {}
        self.program = self.directory / "bin/onward"
        self.toolchain = []
        if start([self.program, "version"], 60, self.environment()).code != 0:
            self.toolchain = [self.directory / "lib/toolchain"]

    @functools.cached_property
    def cuda_directories(self):
        """Where CUDA's libraries may lie, those of Python's packages first."""
        found = os.environ.get("LD_LIBRARY_PATH", "").split(":")
        for path in sys.path:
            found += sorted(glob.glob(f"{path}/nvidia/*/lib"))
        found += ["/usr/local/cuda/lib64", "/usr/local/cuda/lib", *sorted(glob.glob("/usr/local/cuda-*/lib64"))]
        return [path for path in dict.fromkeys(found) if path and os.path.isdir(path)]

    def library(self, name):
        """The path of one of CUDA's libraries; None where it is not found."""
        if self.emulated:
            return str(self.directory / "emulated_cuda/libonward_emulated_device.so")
        for directory in self.cuda_directories:
            found = sorted(glob.glob(f"{directory}/{name}"))
            if found:
                return found[0]
        return None

    def linked(self, stem):
        """The path of the library of this stem that the provider links to, "" where it is not found."""
        names = [name for name in self.manifest["cuda_libraries"] if name.startswith(f"lib{stem}.so")]
        return (self.library(names[0]) if names else None) or ""

    def missing(self):
        return [name for name in self.manifest["cuda_libraries"] if not self.library(name)]

    def environment(self, **more):
        """For the bundle's programs. Other programs keep to the machine's own libraries."""
        provider = "emulated_cuda" if self.emulated else "cuda"
        path = [self.directory / provider, self.directory / "lib", *self.toolchain]
        if not self.emulated:
            path += self.cuda_directories
        environment = {**os.environ, "LD_LIBRARY_PATH": ":".join(map(str, path)),
                       "ONWARD_SOURCE_DIR": str(self.directory), "ONWARD_CONFORMANCE": str(self.directory / "cases")}
        if self.emulated:
            environment.setdefault("ONWARD_EMULATED_CUDA", "order=late")
        if self.zoo:
            environment["ONWARD_ZOO"] = str(self.zoo)
        return {**environment, **more}

    def onward(self, clock, *words, limit=600):
        """Runs the program; at most as long as the part has time."""
        return start([self.program, *words], min(limit, clock.left()), self.environment())

    def json(self, clock, *words, limit=600):
        """The JSON document of a command of the program, and why there is none."""
        done = self.onward(clock, *words, "--json", limit=limit)
        try:
            return json.loads(done.out), ""
        except ValueError:
            return None, done.why()

    def script(self, clock, name, *words, text=None, bundled=False, limit=600):
        """Runs one of the bundle's scripts by this Python; bundled: with the libraries of the programs."""
        environment = self.environment() if bundled else dict(os.environ)
        command = [sys.executable, pathlib.Path(__file__).parent / name, *words]
        return start(command, min(limit, clock.left()), environment, text)

    def tool(self, name):
        """A tool of the CUDA toolkit; None where it is not installed, or cannot be used."""
        if self.emulated:
            return None
        folders = ("/usr/local/cuda*/bin", f"/usr/local/cuda*/{name}", "/opt/nvidia/nsight-compute/*")
        places = [place for folder in folders for place in sorted(glob.glob(f"{folder}/{name}"))]
        return shutil.which(name) or (places[0] if places else None)

    @property
    def zoo(self):
        """Models that were filled with weights."""
        filled = self.directory / "filled"
        return filled if filled.is_dir() else None

    @contextlib.contextmanager
    def filling(self, models, clock):
        """Fills models while other parts run: it takes the host's time alone."""
        with concurrent.futures.ThreadPoolExecutor(FILLED_AT_ONCE) as threads:
            self.ahead = {model: threads.submit(self.fill, clock, model) for model in models}
            yield
            threads.shutdown(cancel_futures=True)

    def filled(self, clock, model):
        """A directory of the model with its weights, or why there is none."""
        if model not in self.ahead:
            return self.fill(clock, model)
        try:
            return self.ahead[model].result(max(1, clock.left()))
        except concurrent.futures.TimeoutError:
            return None, "it was not filled in time"

    def fill(self, clock, model):
        directory = self.directory / "filled" / model
        if (directory / ".filled").exists():
            return directory, ""
        if not (self.directory / "zoo" / "graphs" / f"{model}.json").is_file():
            return None, "the bundle does not have it"
        if not self.python_with_onnx:
            return None, "no Python here has numpy and onnx, which fill models with weights"
        done = start([self.python_with_onnx, self.directory / "zoo/fill.py", "--out", self.directory / "filled",
                      "--only", f"^{model}$"], min(120, clock.left()))
        if done.code != 0:
            return None, done.why()
        (directory / ".filled").touch()
        return directory, ""

    @functools.cached_property
    def python_with_onnx(self):
        for python in (sys.executable, os.environ.get("ONWARD_PYTHON"), shutil.which("python3")):
            if python and start([python, "-c", "import numpy, onnx"], 60).code == 0:
                return python
        return None


def processor():
    """Name and number of the cores of the host's processor."""
    text = pathlib.Path("/proc/cpuinfo").read_text() if os.path.exists("/proc/cpuinfo") else ""
    name = re.search(r"^model name\s*: (.*)$", text, re.MULTILINE)
    return f"{name.group(1) if name else 'unknown'}, {os.cpu_count()} cores"
