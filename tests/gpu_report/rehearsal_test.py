"""Rehearses scripts/gpu_report on the emulated device: a bundle of a build, and each part of the page.

Usage: rehearsal_test.py SCRIPT BUILD
"""
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import bundle  # noqa: E402
import chains  # noqa: E402
import correctness  # noqa: E402
import kernels  # noqa: E402
import machine  # noqa: E402
import page  # noqa: E402
import speed  # noqa: E402

SCRIPT, BUILD = map(pathlib.Path, sys.argv[1:3])
# Kernels that other tests compiled, and none among the user's.
os.environ.setdefault("ONWARD_KERNEL_CACHE", str(BUILD.resolve() / "emulated_cuda/kernels"))
PARTS = ("Machine", "Tests labelled gpu", "The standard's cases", "compute-sanitizer", "Matrix products", "Models",
         "Training", "Operators", "Kernels")

# A program of two tests, the first of which ends the process.
ENDS = """#!/bin/sh
case $* in *-A.Ends*) echo '[ RUN      ] A.Runs'; echo '[       OK ] A.Runs (0 ms)'; exit 0;; esac
echo '[ RUN      ] A.Ends'
kill -ABRT $$
"""

# compute-sanitizer, whose initcheck finds something.
SANITIZER = """#!/bin/sh
echo '========= COMPUTE-SANITIZER'
case $2 in
  racecheck) echo '========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)';;
  initcheck) echo '========= Uninitialized __global__ memory read of size 4 bytes'
             echo '========= ERROR SUMMARY: 2 errors'; exit 1;;
  *) echo '========= ERROR SUMMARY: 0 errors';;
esac
"""


def put_case(directory, values, expected):
    """y = x + x of two elements."""
    (directory / "test_data_set_0").mkdir(parents=True)
    step = chains.Step("Add", inputs=[(2,)])
    (directory / "model.onnx").write_bytes(chains.model(step, "float32", (2,), 1))
    for name, index, elements in (("input", 0, values), ("input", 1, values), ("output", 0, expected)):
        file = directory / "test_data_set_0" / f"{name}_{index}.pb"
        file.write_bytes(chains.tensor(name, "float32", (2,), struct.pack("<2f", *elements)))


def call(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)


class Rehearsal(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="onward_gpu_report_")
        folder = pathlib.Path(cls.scratch.name)
        put_case(folder / "cases/node/test_right", (1, 2), (2, 4))
        put_case(folder / "cases/node/test_wrong_everywhere", (1, 2), (2, 5))
        cls.bundle = folder / "bundle"
        made = call(SCRIPT, "bundle", "--build", BUILD, "--cases", folder / "cases", cls.bundle)
        assert made.returncode == 0, made.stderr

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def written(self, *options):
        done = call(self.bundle / "gpu_report", "run", "--emulated", *options)
        return done, (self.bundle / "performance_gpu.md").read_text()

    def test_every_part_says_what_it_found(self):
        done, text = self.written()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr + text)
        for part in PARTS:
            self.assertIn(f"\n## {part}\n", text)
        self.assertIn("No figure here is a GPU's", text)
        self.assertIn("| the provider runs |", text)
        self.assertRegex(text, r"\| Tests labelled gpu \| [1-9]\d* passed, 0 failed")
        self.assertIn("1 of 2 cases pass. 0 pass on the CPU alone", text)
        self.assertRegex(text, r"\| float32 \| 24 x 16 x 16 \| \d")
        self.assertRegex(text, r"\| gpt2_124M \| tokens/s \| \d+ \| [\d.]+ \| \d")
        self.assertRegex(text, r"\| resnet50 \| images/s \| \d+ \| [\d.]+ \| \d")
        self.assertRegex(text, r"\| Sigmoid \| float32 \| 16 x 32 \| ([\d.]+ \| 1|below)")
        self.assertIn("compute-sanitizer needs a GPU", text)
        self.assertFalse([line for line in text.splitlines() if len(line) > 120 and not line.startswith("|")])

    def test_a_part_that_ends_its_process_is_named_and_the_next_one_runs(self):
        program = self.bundle / "bin/onward_cuda_test"
        kept = program.read_bytes()
        program.write_text(ENDS)
        try:
            done, text = self.written("--only", "tests", "--only", "cases")
        finally:
            program.write_bytes(kept)
        self.assertEqual(done.returncode, 1)
        self.assertIn("| FAILED: 1 passed, 1 failed, 0 skipped |", text)
        self.assertIn("failed: `A.Ends`: ended by SIGABRT", text)
        self.assertIn("1 of 2 cases pass", text)

    def test_a_device_that_refuses_memory_is_a_failure_with_its_reason(self):
        environment = {"ONWARD_EMULATED_CUDA": "order=late,memory=1024"}
        done = subprocess.run([self.bundle / "gpu_report", "run", "--emulated", "--only", "machine"],
                              capture_output=True, text=True, check=False, env=environment)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex((self.bundle / "performance_gpu.md").read_text(), "The provider does not run: error: .*memory")

    def test_no_time_is_said(self):
        done, text = self.written("--seconds", "1", "--only", "models")
        self.assertIn("| Models | not run: no time was left |", text, done.stderr)

    def test_a_process_without_end_is_ended(self):
        done = machine.start(["sh", "-c", "echo begun; sleep 1000 & wait"], 1)
        self.assertEqual((done.code, done.out), (None, "begun\n"))
        self.assertIn("did not end in time", done.why())

    def test_a_directory_that_is_no_bundle_is_left_alone(self):
        done = call(SCRIPT, "bundle", "--build", BUILD, self.scratch.name)
        self.assertEqual(done.returncode, 1)
        self.assertIn("is not a bundle", done.stderr)

    def test_what_compute_sanitizer_prints_is_read(self):
        folder = pathlib.Path(self.scratch.name)
        tool = folder / "compute-sanitizer"
        tool.write_text(SANITIZER)
        tool.chmod(0o755)
        whole = machine.Machine(self.bundle, emulated=True)
        whole.tool = lambda name: tool
        section = page.Page(folder / "page.md", emulated=True).section("compute-sanitizer")
        self.assertEqual(correctness.sanitizer(whole, section, machine.Clock(60)), "FAILED: 2 of 8 runs")
        text = "\n".join(section.lines)
        self.assertIn("| memcheck | onward_cuda_test | 0 errors |", text)
        self.assertIn("| racecheck | onward_cuda_test | 0 hazards displayed (0 errors, 0 warnings) |", text)
        self.assertIn("| initcheck | onward | 2 errors |", text)
        self.assertIn("initcheck, onward: COMPUTE-SANITIZER; Uninitialized __global__ memory read", text)

    def test_copies_are_not_the_operator(self):
        self.assertTrue(speed.is_copy({"node": "[onward.Copy 'x']"}))
        self.assertFalse(speed.is_copy({"node": "[Add 'Copy ']"}))

    def test_operands_of_products_keep_their_size(self):
        for dtype, form in (("float16", "e"), ("float32", "f"), ("bfloat16", "f")):
            data = chains.elements(dtype, (64, 128), 3)
            if dtype == "bfloat16":  # the upper half of a float32
                data = b"".join(b"\0\0" + data[i:i + 2] for i in range(0, len(data), 2))
            values = struct.unpack(f"<8192{form}", data)
            squares = sum(value * value for value in values)
            self.assertGreater(squares, 1, dtype)
            self.assertLess(squares, 3.1, dtype)
            self.assertGreater(min(map(abs, values)), 0)
            self.assertLess(abs(sum(values)), 8, dtype)

    def test_what_ncu_prints_is_read(self):
        head = '"ID","Process Name","Kernel Name","Metric Name","Metric Unit","Metric Value"'
        rows = ['"0","onward","Add(float*, int)","gpu__time_duration.sum","us","1.5"',
                '"1","onward","Add(float*, int)","gpu__time_duration.sum","nsecond","1,500"',
                '"2","onward","Mul(float*)","gpu__time_duration.sum","ns","250"']
        read = kernels.read_ncu("\n".join(["==PROF== Connected", "outputs:", head, *rows, "==PROF== Disconnected"]))
        self.assertEqual({name: launches for name, (launches, _) in read.items()}, {"Add": 2, "Mul": 1})
        self.assertAlmostEqual(read["Add"][1], 3e-6)
        self.assertEqual(kernels.read_ncu("error"), {})

    def test_what_the_binaries_link_to_is_in_the_bundle(self):
        files = [file for folder in ("bin", "cuda", "emulated_cuda", "lib")
                 for file in (self.bundle / folder).rglob("*") if file.is_file()]
        there = {file.name for file in files}
        for file in files:
            linked = re.findall(r"\(NEEDED\).*\[(.*)\]", call("readelf", "-d", file).stdout)
            missing = [name for name in linked if name not in there and not bundle.GLIBC.match(name)]
            self.assertFalse([name for name in missing if file.parent.name != "cuda" or not bundle.CUDA.match(name)],
                             file.name)

    def test_what_tests_print_is_read(self):
        found, unfinished = correctness.read_gtest(
            "[ RUN      ] A.B\n[       OK ] A.B (1 ms)\n[ RUN      ] A.C\nf.cc:1: Failure\n  why\n"
            "[  FAILED  ] A.C (1 ms)\n[ RUN      ] A.D\nf.cc:2: Skipped\nno data\n[  SKIPPED ] A.D (0 ms)\n"
            "[ RUN      ] A.E\n")
        self.assertEqual(found, [("A.B", "passed", ""), ("A.C", "failed", "f.cc:1: Failure why"),
                                 ("A.D", "skipped", "f.cc:2: Skipped no data")])
        self.assertEqual(unfinished, "A.E")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
