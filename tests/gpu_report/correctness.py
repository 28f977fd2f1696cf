"""What the provider computes: the tests labelled gpu, the standard's cases, compute-sanitizer's tools."""
import concurrent.futures
import os
import re

from machine import start

CASES_AT_ONCE = 100  # in one process, which a fault of the device ends
SHOWN = 40

# Cases that a GPU's libraries do not pass, and why.
ON_A_GPU = {"node/test_attention_4d_fp16": "cuDNN rounds probabilities to 16 bits, 2 of 192 elements by a bit too many"}

# Cases under compute-sanitizer, which runs kernels a hundred times slower.
SANITIZED = """abs add add_bcast mul relu sigmoid gelu_default_1 matmul_2d matmul_3d gemm_all_attributes
    gemm_default_vector_bias basic_conv_with_padding conv_with_strides_padding maxpool_2d_pads averagepool_2d_pads
    globalaveragepool softmax_axis_1 layer_normalization_2d_axis1 transpose_default concat_2d_axis_1
    split_equal_parts_2d_opset13 slice gather_1 where_example cast_FLOAT_to_FLOAT16 batchnorm_example
    reduce_sum_keepdims_example reduce_max_keepdims_random clip_example resize_upsample_scales_linear
    resize_downsample_scales_nearest quantizelinear_axis dequantizelinear_axis maxpool_2d_ceil convtranspose_pads
    lstm_with_initial_bias gru_defaults rotary_embedding attention_4d""".split()
TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")


def tests(machine, section, clock):
    machine.filled(clock, "mlp_tiny")  # one of the tests runs it
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for name in machine.manifest["tests"]:
        for test, status, reason in gtest(machine, clock, machine.directory / "bin" / name):
            counts[status] += 1
            if status != "passed":
                section.say(f"{status}: `{test}`{': ' + reason if reason else ''}")
    verdict = f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped"
    section.say(verdict + ".")
    return f"FAILED: {verdict}" if counts["failed"] or not counts["passed"] else verdict


def gtest(machine, clock, program):
    """(name, status, reason) of each test of a program; continues after a test that ends the process."""
    ran = []
    while clock.left() > 0:
        command = [program, "--gtest_color=no"]
        if ran:
            command.append("--gtest_filter=-" + ":".join(name for name, _, _ in ran))
        done = start(command, min(60, clock.left()), machine.environment())
        found, unfinished = read_gtest(done.out)
        ran += found
        if unfinished:
            ran.append((unfinished, "failed", done.why()))
        elif done.code in (0, 1):
            return ran
        else:
            return ran + [(program.name, "failed", done.why())]
    return ran + [(program.name, "failed", "no time was left for the others")]


def read_gtest(text):
    """(name, status, first words) of each test that a program printed, and the test that did not come to its end."""
    found, current, said = [], "", []
    for line in text.splitlines():
        mark = re.match(r"\[( RUN      |       OK |  FAILED  |  SKIPPED ) ?\] (\S+)", line)
        if not mark:
            said.append(line)
        elif mark.group(1) == " RUN      ":
            current, said = mark.group(2), []
        elif mark.group(2) == current:
            status = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}[mark.group(1).strip()]
            found.append((current, status, "" if status == "passed" else " ".join(" ".join(said).split())[:300]))
            current = ""
    return found, current


def cases(machine, section, clock):
    directories = sorted(path.parent for path in (machine.directory / "cases").glob("*/*/model.onnx"))
    if not directories:
        return "the bundle has no cases"
    # The emulated device's products and convolutions are too slow for whole models.
    directories = [each for each in directories if not machine.emulated or each.parent.name != "light"]
    on_device = run_cases(machine, clock, directories, ["--provider", "cuda"])
    gaps = {line.split(":")[0] for line in (machine.directory / "gaps.txt").read_text().splitlines()} | set(ON_A_GPU)
    missed = [each for each in directories if on_device.get(case_name(each)) and case_name(each) not in gaps]
    on_cpu = run_cases(machine, clock, missed, [])
    wrong = {name: on_device[name] for name in map(case_name, missed) if not on_cpu.get(name)}
    passed = sum(not why for why in on_device.values())
    section.say(f"{passed} of {len(directories)} cases pass. {len(wrong)} pass on the CPU alone and are not known gaps.")
    for name, why in ON_A_GPU.items():
        if on_device.get(name):
            section.say(f"Known: `{name}`: {why}.")
    if len(on_device) < len(directories):
        section.say(f"{len(directories) - len(on_device)} cases were not run: no time was left.")
    if wrong:
        section.row("case", "why")
    for name, why in sorted(wrong.items())[:SHOWN]:
        section.row(name, why)
    if len(wrong) > SHOWN:
        section.say(f"And {len(wrong) - SHOWN} more.")
    verdict = f"{passed} of {len(directories)} pass"
    if wrong:
        return f"FAILED: {verdict}, {len(wrong)} unlike the CPU"
    return f"FAILED: {verdict}, the others were not all run" if len(on_device) < len(directories) else verdict


def case_name(directory):
    return "/".join(directory.parts[-2:])


def run_cases(machine, clock, directories, options):
    """Reasons by name, "" of a case that passes. Cases that end the process are found by halves."""
    some = [directories[i:i + CASES_AT_ONCE] for i in range(0, len(directories), CASES_AT_ONCE)]
    # Most of a case's time is the host's, which compiles its kernels.
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as threads:
        found = threads.map(lambda each: run_some(machine, clock, each, options), some)
        return {name: why for reasons in found for name, why in reasons.items()}


def run_some(machine, clock, directories, options):
    found, waiting = {}, [directories]
    while waiting and clock.left() > 1:
        some = waiting.pop(0)
        document, why = machine.json(clock, "conformance", *some, *options, limit=60)
        names = [case_name(each) for each in some]
        if document and len(document["cases"]) == len(some):
            for name, case in zip(names, document["cases"]):
                found[name] = "" if case["status"] == "passed" else case["reason"] or case["status"]
        elif len(some) == 1:
            found[names[0]] = why
        else:
            waiting = [some[:len(some) // 2], some[len(some) // 2:]] + waiting
    return found


def sanitizer(machine, section, clock):
    program = machine.tool("compute-sanitizer")
    if program is None:
        section.say("compute-sanitizer is not installed." if not machine.emulated else
                    "compute-sanitizer needs a GPU; the emulated device has checks of its own.")
        return "not run: compute-sanitizer is not there"
    places = [machine.directory / "cases/node" / f"test_{name}" for name in SANITIZED]
    directories = [place for place in places if place.is_dir()]
    watched = [[machine.directory / "bin" / name] for name in machine.manifest["tests"]]
    watched.append([machine.program, "conformance", *directories, "--provider", "cuda", "--threads", "1"])
    section.row("tool", "program", "result")
    bad, findings = 0, []
    for tool in TOOLS:
        for command in watched:
            if clock.left() < 3:
                section.row(tool, command[0].name, "no time was left")
                bad += 1
                continue
            done = start([program, "--tool", tool, "--print-limit", "5", *command], min(40, clock.left()),
                         machine.environment())
            summary = re.findall(r"ERROR SUMMARY: (.*)|RACECHECK SUMMARY: (.*)", done.out + done.err)
            said = " ".join(summary[-1]).strip() if summary else done.why()
            clean = bool(re.match(r"0 (errors|hazards)", said))
            bad += not clean
            section.row(tool, command[0].name, said)
            if not clean:
                findings.append(f"{tool}, {command[0].name}: {first_finding(done.out)}")
    for finding in findings:
        section.say(finding)
    return f"FAILED: {bad} of {len(TOOLS) * len(watched)} runs" if bad else "no errors"


def first_finding(text):
    lines = [line.split("=", 9)[-1].strip() for line in text.splitlines() if line.startswith("=========")]
    return "; ".join(line for line in lines if line)[:500]
