#!/usr/bin/env python3
"""`onward serve` on one core, wrk on another; FastAPI and Triton with ONNX Runtime take turns with it.

Usage: serving.py [--onward PATH] [--seconds 5] [--rounds 3] [--only REGEX] [--peers fastapi,triton] [--json FILE]

Needs wrk and taskset; the peers come from `scripts/peers serving triton`. Each round runs every server once per case; the
table shows medians of the rounds.
"""
import argparse
import json
import os
import re
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PEERS = os.environ.get("ONWARD_PEERS", os.path.expanduser("~/.cache/onward/peers"))
PYTHON = os.environ.get("ONWARD_PYTHON", os.path.expanduser("~/.cache/onward/python-1.23.2/bin/python"))

# Run by the Python that has onnx: writes the models into a directory.
MODELS = r"""
import sys, numpy as np, onnx
from onnx import TensorProto, helper, numpy_helper
random = np.random.default_rng(1)
def mlp(path, sizes):
    nodes, weights, last = [], [], "x"
    for i, (m, n) in enumerate(zip(sizes, sizes[1:])):
        weights.append(numpy_helper.from_array((random.standard_normal((m, n)) / m**0.5).astype(np.float32), f"w{i}"))
        weights.append(numpy_helper.from_array(np.zeros(n, np.float32), f"b{i}"))
        out = "y" if i + 2 == len(sizes) else f"r{i}"
        nodes.append(helper.make_node("Gemm", [last, f"w{i}", f"b{i}"], ["y" if out == "y" else f"h{i}"]))
        if out != "y":
            nodes.append(helper.make_node("Relu", [f"h{i}"], [out]))
        last = out
    save(path, nodes, sizes[0], sizes[-1], weights, ["n"])
def save(path, nodes, m, n, weights, batch):
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, batch + [m])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, batch + [n])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
directory = sys.argv[1]
mlp(directory + "/tiny.onnx", [4, 16, 3])
mlp(directory + "/mlp.onnx", [256, 1024, 1024, 256])
save(directory + "/image.onnx", [helper.make_node("Neg", ["x"], ["y"])], 150528, 150528, [], ["n"])
"""

# The peer: JSON in and out as the protocol has it, binary tensors as plain bytes.
FASTAPI = r"""
import sys
import numpy as np, onnxruntime as ort, uvicorn
from fastapi import FastAPI, Request, Response
app = FastAPI()
options = ort.SessionOptions()
options.intra_op_num_threads = 1
sessions = {name: ort.InferenceSession(f"{sys.argv[1]}/{name}.onnx", options) for name in ("tiny", "mlp", "image")}
@app.get("/v2/models/image/ready")
def ready():
    return {"ready": True}
@app.post("/v2/models/{name}/infer")
async def infer(name: str, request: Request):
    if "inference-header-content-length" in request.headers:
        body = await request.body()
        x = np.frombuffer(body[int(request.headers["inference-header-content-length"]):], np.float32).reshape(1, -1)
        return Response(sessions[name].run(None, {"x": x})[0].tobytes(), media_type="application/octet-stream")
    given = (await request.json())["inputs"][0]
    x = np.array(given["data"], np.float32).reshape(given["shape"])
    y = sessions[name].run(None, {"x": x})[0]
    return {"outputs": [{"name": "y", "datatype": "FP32", "shape": y.shape, "data": y.ravel().tolist()}]}
uvicorn.run(app, port=int(sys.argv[2]), log_level="error")
"""

# Triton as nvidia-pytriton ships it: its HTTP server and batcher, ONNX Runtime in its Python backend.
TRITON = r"""
import sys
import numpy as np, onnxruntime as ort
from pytriton.decorators import batch
from pytriton.model_config import ModelConfig, Tensor
from pytriton.triton import Triton, TritonConfig
options = ort.SessionOptions()
options.intra_op_num_threads = 1
def runner(session):
    @batch
    def run(x):
        return session.run(None, {"x": x})
    return run
ports = [int(port) for port in sys.argv[2:]]
with Triton(config=TritonConfig(http_port=ports[0], grpc_port=ports[1], metrics_port=ports[2])) as triton:
    for name in ("tiny", "mlp", "image"):
        session = ort.InferenceSession(f"{sys.argv[1]}/{name}.onnx", options)
        width = lambda value: (value.shape[1],)
        triton.bind(model_name=name, infer_func=runner(session), config=ModelConfig(max_batch_size=64),
                    inputs=[Tensor(name="x", dtype=np.float32, shape=width(session.get_inputs()[0]))],
                    outputs=[Tensor(name="y", dtype=np.float32, shape=width(session.get_outputs()[0]))])
    triton.serve()
"""


def json_body(width):
    data = [round(i % 97 / 97, 4) for i in range(width)]
    return json.dumps({"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, width], "data": data}]}).encode(), None


def binary_body(width):
    head = json.dumps({"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, width],
                                   "parameters": {"binary_data_size": 4 * width}}],
                       "parameters": {"binary_data_output": True}}).encode()
    return head + struct.pack(f"<{width}f", *[0.5] * width), len(head)


# name, model, body, clients
CASES = [
    ("tiny MLP, JSON, 32 clients", "tiny", json_body(4), 32),
    ("tiny MLP, JSON, 1 client", "tiny", json_body(4), 1),
    ("602 KB, binary, 8 clients", "image", binary_body(150528), 8),
    ("150528 floats, JSON, 1 client", "image", json_body(150528), 1),
    ("MLP 256-1024-1024-256, JSON, 32 clients", "mlp", json_body(256), 32),
    ("MLP 256-1024-1024-256, binary, 32 clients", "mlp", binary_body(256), 32),
]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(command, port, ready="/v2/models/image/ready"):
    process = subprocess.Popen(["taskset", "-c", "0", *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(3000):
        if process.poll() is not None:
            sys.exit(f"{' '.join(command)[:300]} ended")
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}{ready}", timeout=1).read()
            return process
        except OSError:
            time.sleep(0.02)
    sys.exit(f"{command[0]} does not get ready")


def stop(process):
    process.send_signal(signal.SIGTERM)
    process.wait()


def resident(process):
    with open(f"/proc/{process.pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) * 1024


def load(port, model, body, clients, seconds, directory):
    payload, head = body
    with open(f"{directory}/body", "wb") as file:
        file.write(payload)
    with open(f"{directory}/post.lua", "w") as script:
        script.write(f'wrk.method = "POST"\nlocal file = io.open("{directory}/body", "rb")\n'
                     'wrk.body = file:read("*a")\n')
        if head is not None:
            script.write(f'wrk.headers["Inference-Header-Content-Length"] = "{head}"\n')
        script.write('function done(summary, latency, requests)\n'
                     '  io.write(string.format("RESULT %d %d %d %d %d\\n", summary.requests, summary.duration,\n'
                     '    latency:percentile(50), latency:percentile(99), summary.errors.status))\nend\n')
    text = subprocess.run(["taskset", "-c", "1", "wrk", "-t1", f"-c{clients}", f"-d{seconds}s", "--timeout", "10s", "-s",
                           f"{directory}/post.lua", f"http://127.0.0.1:{port}/v2/models/{model}/infer"],
                          capture_output=True, text=True, check=True).stdout
    requests, duration, p50, p99, errors = map(int, re.search(r"RESULT (.*)", text).group(1).split())
    return {"per_s": requests / duration * 1e6, "p50_us": p50, "p99_us": p99, "errors": errors,
            "bytes_per_s": 2 * len(payload) * requests / duration * 1e6}


def idle(args, directory):
    """Memory of an idle server, of a connection, and the start with 100 models."""
    import shutil
    many = f"{directory}/many"
    os.makedirs(many, exist_ok=True)
    for i in range(100):
        shutil.copy(f"{directory}/tiny.onnx", f"{many}/m{i}.onnx")
    port = free_port()
    begin = time.perf_counter()
    process = start([args.onward, "serve", many, "--http", f"127.0.0.1:{port}"], port, "/v2/health/ready")
    seconds = time.perf_counter() - begin
    stop(process)
    process = start([args.onward, "serve", f"{directory}/tiny.onnx", "--http", f"127.0.0.1:{port}"], port,
                    "/v2/health/ready")
    memory = resident(process)
    connections = [socket.create_connection(("127.0.0.1", port)) for _ in range(1000)]
    for connection in connections:
        connection.sendall(b"GET /v2/health/live HTTP/1.1\r\nHost: a\r\n\r\n")
        connection.recv(1000)
    each = (resident(process) - memory) / len(connections)
    for connection in connections:
        connection.close()
    stop(process)
    return {"start_100_models_s": seconds, "idle_bytes": memory, "bytes_per_connection": each}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--onward", default=os.path.join(ROOT, "build/release/onward"))
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--peers", default="fastapi,triton", help="none where it is empty")
    parser.add_argument("--json")
    args = parser.parse_args()
    version = subprocess.run([args.onward, "version"], capture_output=True, text=True).stdout
    print(version.strip())
    results = {}
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run([PYTHON, "-c", MODELS, directory], check=True)
        models = [f"{directory}/{name}.onnx" for name in ("tiny", "mlp", "image")]
        for round_number in range(args.rounds):
            port = free_port()
            servers = {"onward": [args.onward, "serve", *models, "--http", f"127.0.0.1:{port}", "--threads", "1"]}
            if "fastapi" in args.peers:
                servers["fastapi"] = [f"{PEERS}/serving/bin/python", "-c", FASTAPI, directory, str(port)]
            if "triton" in args.peers:
                servers["triton"] = [f"{PEERS}/triton/bin/python", "-c", TRITON, directory, str(port), str(free_port()),
                                     str(free_port())]
            for server, command in servers.items():
                process = start(command, port)
                for name, model, body, clients in CASES:
                    if not re.search(args.only, name):
                        continue
                    measured = load(port, model, body, clients, args.seconds, directory)
                    results.setdefault(name, {}).setdefault(server, []).append(measured)
                stop(process)
        footprint = idle(args, directory)
    print(f"{'case':44} {'server':8} {'requests/s':>11} {'p50 us':>9} {'p99 us':>9} {'MB/s':>8} errors")
    for name, servers in results.items():
        for server, rounds in servers.items():
            median = {key: statistics.median(each[key] for each in rounds) for key in rounds[0]}
            print(f"{name:44} {server:8} {median['per_s']:11.0f} {median['p50_us']:9.0f} {median['p99_us']:9.0f} "
                  f"{median['bytes_per_s'] / 1e6:8.0f} {median['errors']:.0f}")
    print(f"start with 100 models {footprint['start_100_models_s']:.2f} s, idle {footprint['idle_bytes'] / 1e6:.1f} MB, "
          f"a connection {footprint['bytes_per_connection'] / 1e3:.1f} KB")
    if args.json:
        with open(args.json, "w") as file:
            json.dump({"version": version, "results": results, "footprint": footprint}, file, indent=1)


if __name__ == "__main__":
    main()
