#!/usr/bin/env python3
"""Onward against ONNX Runtime on filled zoo models, alternating in one run.

Usage: compare_ort.py ZOO_DIR [--only REGEX] [--threads 2] [--rounds 3] [--seconds 1] [--precision P] [--onward PATH]
                      [--suite NAME] [--json FILE]

Each round runs Onward (`onward bench`) and ONNX Runtime once each, one process at a time, on the inputs of
test_data_set_0; the ratio ONNX Runtime / Onward of a round's medians is above 1 where Onward is faster. The table shows
the median ratio of the rounds. --json writes what performance_page.py reads; --suite names models
other than the zoo's, which get a table of their own.
"""
from zoo_pairs import Peer, compare, parser_of

SCRIPT = r"""
import onnxruntime as ort
options = ort.SessionOptions()
options.intra_op_num_threads = threads
options.log_severity_level = 3
session = ort.InferenceSession(directory + "/model.onnx", options, providers=["CPUExecutionProvider"])
feeds = feeds_of([info.name for info in session.get_inputs()])
run = lambda: session.run(None, feeds)
"""

if __name__ == "__main__":
    compare(parser_of(__doc__).parse_args(), Peer("ONNX Runtime", "onnxruntime", SCRIPT))
