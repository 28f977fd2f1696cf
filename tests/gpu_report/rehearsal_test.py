"""Rehearses scripts/gpu_report on the emulated device: a bundle of a build, and each part of the page.

Usage: rehearsal_test.py SCRIPT BUILD
"""
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import chains  # noqa: E402
import correctness  # noqa: E402
import machine  # noqa: E402

SCRIPT, BUILD = map(pathlib.Path, sys.argv[1:3])
PARTS = ("Machine", "Tests labelled gpu", "The standard's cases", "Matrix products", "Models", "Operators",
         "compute-sanitizer")

# A program of two tests, the first of which ends the process.
ENDS = """#!/bin/sh
case $* in *-A.Ends*) echo '[ RUN      ] A.Runs'; echo '[       OK ] A.Runs (0 ms)'; exit 0;; esac
echo '[ RUN      ] A.Ends'
kill -ABRT $$
"""


def put_case(directory, values, expected):
    """y = x + x of two elements."""
    def tensor(name, elements):
        return chains.field(1, 2) + chains.field(2, 1) + chains.field(8, name) + \
            chains.field(9, struct.pack("<2f", *elements))

    (directory / "test_data_set_0").mkdir(parents=True)
    step = chains.Step("Add", inputs=[(2,)])
    (directory / "model.onnx").write_bytes(chains.model(step, "float32", (2,), 1))
    for name, index, elements in (("input", 0, values), ("input", 1, values), ("output", 0, expected)):
        file = directory / "test_data_set_0" / f"{name}_{index}.pb"
        file.write_bytes(tensor(f"{name}{index}", elements))


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
