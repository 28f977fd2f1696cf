"""PyTorch's times of products and operators on the GPU: torch_peer.py products|operators < ROWS; prints JSON."""
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


def main():
    try:
        import torch
    except ImportError:
        print(json.dumps({"absent": "PyTorch is not installed"}))
        return
    if not torch.cuda.is_available():
        print(json.dumps({"absent": f"PyTorch {torch.__version__} finds no GPU"}))
        return
    make, times = {"products": product, "operators": operator}[sys.argv[1]], []
    for row in json.load(sys.stdin):
        try:
            with torch.inference_mode():
                times.append(seconds(torch, make(torch, row)))
        except RuntimeError as error:
            times.append(str(error).splitlines()[0][:80])
    print(json.dumps({"version": torch.__version__, "seconds": times}))


if __name__ == "__main__":
    main()
