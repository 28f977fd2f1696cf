#!/usr/bin/env python3
"""Onward against OpenVINO on filled zoo models, alternating in one run.

Usage: compare_openvino.py ZOO_DIR [--peer-precision f32|bf16] [--only REGEX] [--threads 2] [--rounds 3] [--seconds 1]
                           [--precision P] [--onward PATH] [--suite NAME] [--json FILE]

As compare_ort.py. --peer-precision is OpenVINO's hint for its arithmetic: f32 beside Onward's default, bf16 beside
`--precision fast`.
"""
from zoo_pairs import Peer, compare, parser_of

SCRIPT = r"""
import openvino
core = openvino.Core()
settings = {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": sys.argv[4], "PERFORMANCE_HINT": "LATENCY"}
request = core.compile_model(directory + "/model.onnx", "CPU", settings).create_infer_request()
names = [value.any_name for value in request.model_inputs]
feeds = feeds_of(names)
run = lambda: request.infer(feeds)
"""

if __name__ == "__main__":
    parser = parser_of(__doc__)
    parser.add_argument("--peer-precision", choices=["f32", "bf16"], default="f32")
    args = parser.parse_args()
    compare(args, Peer("OpenVINO", "openvino", SCRIPT, [args.peer_precision]))
