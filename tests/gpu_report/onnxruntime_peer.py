"""ONNX Runtime with CUDA on a filled zoo model: onnxruntime_peer.py --available | DIRECTORY SECONDS; prints JSON."""
import json
import statistics
import sys
import time


def answer(document):
    print(json.dumps(document))
    sys.exit(0)


def main():
    try:
        import numpy  # noqa: F401
        import onnx
        import onnxruntime
    except ImportError as error:
        answer({"absent": str(error)})
    version = onnxruntime.__version__
    if "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
        answer({"absent": f"ONNX Runtime {version} is built without CUDA"})
    if sys.argv[1] == "--available":
        answer({"version": version})
    directory, seconds = sys.argv[1], float(sys.argv[2])
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(f"{directory}/model.onnx", options, providers=["CUDAExecutionProvider"])
    if "CUDAExecutionProvider" not in session.get_providers():
        answer({"absent": f"ONNX Runtime {version} did not load its CUDA provider"})
    feeds = {info.name: onnx.numpy_helper.to_array(onnx.load_tensor(f"{directory}/test_data_set_0/input_{i}.pb"))
             for i, info in enumerate(session.get_inputs())}
    for _ in range(3):
        session.run(None, feeds)
    times, end = [], time.perf_counter() + seconds
    while len(times) < 5 or time.perf_counter() < end:
        begin = time.perf_counter()
        session.run(None, feeds)
        times.append(time.perf_counter() - begin)
    answer({"version": version, "seconds": statistics.median(times)})


if __name__ == "__main__":
    main()
