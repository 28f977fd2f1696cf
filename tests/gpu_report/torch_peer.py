"""PyTorch's times on the GPU: torch_peer.py products|operators|models < ROWS; prints JSON.

Of a model: called from Python, and as a CUDA graph that PyTorch captured, both with copies of the input and the first
output, as a run of Onward has them.
"""
import json
import sys
import time


def seconds(torch, run):
    for _ in range(3):
        run()
    torch.cuda.synchronize()
    count = 1
    while True:
        begin = time.perf_counter()
        for _ in range(count):
            run()
        torch.cuda.synchronize()
        taken = time.perf_counter() - begin
        if taken >= 0.05 or count >= 4096:
            return taken / count
        count = max(2 * count, int(0.05 * count / max(taken, 1e-6)))


def product(torch, row):
    torch.backends.cuda.matmul.allow_tf32 = row["dtype"] == "tf32"
    dtype = torch.float32 if row["dtype"] == "tf32" else getattr(torch, row["dtype"])
    a = torch.rand(row["m"], row["k"], device="cuda", dtype=dtype) * 2 - 1
    b = torch.rand(row["k"], row["n"], device="cuda", dtype=dtype) * 2 - 1
    return lambda: torch.matmul(a, b)


def operator(torch, row):
    functional = torch.nn.functional
    torch.backends.cudnn.allow_tf32 = False
    dims, dtype = row["dims"], getattr(torch, row["dtype"])

    def new(*shape):
        return torch.rand(*shape, device="cuda", dtype=dtype)

    x, other, ones = new(*dims), new(*dims), new(dims[-1])
    kernel = new(dims[1], dims[1], 3, 3) if row["op"].startswith("Conv") else None
    return {
        "Add": lambda: x + other,
        "Sigmoid": lambda: torch.sigmoid(x),
        "Tanh": lambda: torch.tanh(x),
        "Gelu": lambda: functional.gelu(x),
        "Softmax": lambda: torch.softmax(x, -1),
        "LayerNormalization": lambda: functional.layer_norm(x, dims[-1:], ones, ones),
        "RMSNormalization": lambda: functional.rms_norm(x, dims[-1:], ones),
        "MaxPool 3x3": lambda: functional.max_pool2d(x, 3, 1, 1),
        "Conv 3x3": lambda: functional.conv2d(x, kernel, padding=1),
        "Attention": lambda: functional.scaled_dot_product_attention(x, other, other),
    }[row["op"]]


def transformer(torch, row):
    import transformers
    network = transformers.BertModel(transformers.BertConfig()).eval().cuda()
    ids = torch.randint(0, 30522, row["dims"])
    mask, types = torch.ones_like(ids), torch.zeros_like(ids)
    return network, [ids, mask, types]


def images(torch, row):
    import torchvision
    network = getattr(torchvision.models, row["network"])(weights=None).eval().cuda()
    x = torch.rand(*row["dims"])
    if row["dtype"] != "float32":
        network, x = network.to(getattr(torch, row["dtype"])), x.to(getattr(torch, row["dtype"]))
        network, x = network.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
    return network, [x]


def first(result):
    return result if hasattr(result, "shape") else result[0]


def model(torch, row):
    """Seconds called from Python and as a graph."""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    network, given = (transformer if row["network"] == "bert" else images)(torch, row)
    places = [each.cuda() for each in given]

    def copy():
        for place, each in zip(places, given):
            place.copy_(each)

    def call():
        copy()
        first(network(*places)).cpu()

    called = seconds(torch, call)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            network(*places)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = first(network(*places))

    def replay():
        copy()
        graph.replay()
        result.cpu()

    return {"called": called, "graph": seconds(torch, replay)}


def main():
    try:
        import torch
    except ImportError:
        print(json.dumps({"absent": "PyTorch is not installed"}))
        return
    if not torch.cuda.is_available():
        print(json.dumps({"absent": f"PyTorch {torch.__version__} finds no GPU"}))
        return
    times = []
    for row in json.load(sys.stdin):
        try:
            with torch.inference_mode():
                if sys.argv[1] == "models":
                    times.append(model(torch, row))
                else:
                    make = {"products": product, "operators": operator}[sys.argv[1]]
                    times.append(seconds(torch, make(torch, row)))
        except (ImportError, RuntimeError) as error:
            times.append(str(error).splitlines()[0][:80])
    print(json.dumps({"version": torch.__version__, "seconds": times}))


if __name__ == "__main__":
    main()
