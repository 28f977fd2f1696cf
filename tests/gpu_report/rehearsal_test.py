"""Rehearses scripts/gpu_report on the emulated device: a bundle of a build, and each part of the page.

Usage: rehearsal_test.py SCRIPT BUILD
"""
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

SCRIPT, BUILD = map(pathlib.Path, sys.argv[1:3])
PARTS = ("Machine", "Tests labelled gpu", "The standard's cases", "compute-sanitizer", "Matrix products", "Models",
         "Operators", "Kernels")

# A program of two tests, the first of which ends the process.
ENDS = """#!/bin/sh
case $* in *-A.Ends*) echo '[ RUN      ] A.Runs'; echo '[       OK ] A.Runs (0 ms)'; exit 0;; esac
echo '[ RUN      ] A.Ends'
kill -ABRT $$
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

    def page(self, *options):
        done = call(self.bundle / "gpu_report", "run", "--emulated", *options)
        return done, (self.bundle / "performance_gpu.md").read_text()

    def test_every_part_says_what_it_found(self):
        done, page = self.page()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr + page)
        for part in PARTS:
            self.assertIn(f"\n## {part}\n", page)
        self.assertIn("No figure here is a GPU's", page)
        self.assertIn("| the provider runs |", page)
        self.assertRegex(page, r"\| Tests labelled gpu \| [1-9]\d* passed, 0 failed")
        self.assertIn("1 of 2 cases pass. 0 pass on the CPU alone", page)
        self.assertRegex(page, r"\| float32 \| 24 x 16 x 16 \| \d")
        self.assertRegex(page, r"\| Sigmoid \| float32 \| 16 x 32 \| ([\d.]+|below)")
        self.assertIn("compute-sanitizer needs a GPU", page)
        self.assertFalse([line for line in page.splitlines() if len(line) > 120 and not line.startswith("|")])

    def test_a_part_that_ends_its_process_is_named_and_the_next_one_runs(self):
        program = self.bundle / "bin/onward_cuda_test"
        kept = program.read_bytes()
        program.write_text(ENDS)
        try:
            done, page = self.page("--only", "tests", "--only", "cases")
        finally:
            program.write_bytes(kept)
        self.assertEqual(done.returncode, 1)
        self.assertIn("| FAILED: 1 passed, 1 failed, 0 skipped |", page)
        self.assertIn("failed: `A.Ends`: ended by SIGABRT", page)
        self.assertIn("1 of 2 cases pass", page)

    def test_a_device_that_refuses_memory_is_a_failure_with_its_reason(self):
        environment = {"ONWARD_EMULATED_CUDA": "order=late,memory=1024"}
        done = subprocess.run([self.bundle / "gpu_report", "run", "--emulated", "--only", "machine"],
                              capture_output=True, text=True, check=False, env=environment)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex((self.bundle / "performance_gpu.md").read_text(), "The provider does not run: error: .*memory")

    def test_no_time_is_said(self):
        done, page = self.page("--seconds", "1", "--only", "models")
        self.assertIn("| Models | not run: no time was left |", page, done.stderr)

    def test_a_process_without_end_is_ended(self):
        done = machine.start(["sh", "-c", "echo begun; sleep 1000 & wait"], 1)
        self.assertEqual((done.code, done.out), (None, "begun\n"))
        self.assertIn("did not end in time", done.why())

    def test_a_directory_that_is_no_bundle_is_left_alone(self):
        done = call(SCRIPT, "bundle", "--build", BUILD, self.scratch.name)
        self.assertEqual(done.returncode, 1)
        self.assertIn("is not a bundle", done.stderr)

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
