"""PyTorch's seconds of a training step on the GPU: torch_training_peer.py < ROW; prints JSON."""
import json
import statistics
import sys
import time

WARM, MEASURED = 5, 20


def gpt(torch, row):
    from torch import nn
    functional = nn.functional
    width, heads, length = row["width"], row["heads"], row["length"]

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.attn, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            batch = x.shape[0]
            q, k, v = (each.view(batch, length, heads, -1).transpose(1, 2) for each in
                       self.attn(self.ln_1(x)).split(width, 2))
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.proj(y.transpose(1, 2).reshape(batch, length, width))
            return x + self.down(functional.gelu(self.up(self.ln_2(x)), approximate="tanh"))

    class Gpt(nn.Module):
        def __init__(self):
            super().__init__()
            self.wte, self.wpe = nn.Embedding(row["vocabulary"], width), nn.Embedding(length, width)
            self.blocks = nn.Sequential(*(Block() for _ in range(row["layers"])))
            self.ln_f = nn.LayerNorm(width)
            nn.init.normal_(self.wte.weight, std=0.02)

        def forward(self, tokens):
            x = self.wte(tokens) + self.wpe.weight
            return functional.linear(self.ln_f(self.blocks(x)), self.wte.weight)

    network = Gpt().cuda()
    optimizer = torch.optim.AdamW(network.parameters(), lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    given = torch.randint(0, row["vocabulary"], (row["batch"], length))
    return network, optimizer, given, torch.randint(0, row["vocabulary"], (row["batch"], length)), True


def resnet(torch, row):
    import torchvision
    network = torchvision.models.resnet50(weights=None).cuda().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9, fused=True)
    given = torch.rand(row["batch"], 3, row["size"], row["size"])
    return network, optimizer, given, torch.randint(0, 1000, (row["batch"],)), False


def seconds(torch, row, compiled):
    make = gpt if "length" in row else resnet
    network, optimizer, given, labels, clips = make(torch, row)
    given, labels = given.pin_memory(), labels.pin_memory()
    run = torch.compile(network) if compiled else network

    def step():
        x, y = given.cuda(non_blocking=True), labels.cuda(non_blocking=True)
        if x.dim() == 4:
            x = x.contiguous(memory_format=torch.channels_last)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(run(x).flatten(0, -2), y.flatten())
        loss.backward()
        if clips:
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        return loss.item()

    taken = []
    for _ in range(WARM + MEASURED):
        begin = time.perf_counter()
        step()
        taken.append(time.perf_counter() - begin)
    return statistics.median(taken[WARM:])


def main():
    try:
        import torch
    except ImportError:
        print(json.dumps({"absent": "PyTorch is not installed"}))
        return
    if not torch.cuda.is_available():
        print(json.dumps({"absent": f"PyTorch {torch.__version__} finds no GPU"}))
        return
    row = json.load(sys.stdin)
    torch.set_float32_matmul_precision("high")
    times = {"version": torch.__version__}
    for way in ("eager", "compiled"):
        try:
            times[way] = seconds(torch, row, way == "compiled")
        except (ImportError, RuntimeError) as error:
            times[way] = str(error).splitlines()[0][:80]
    print(json.dumps(times))


if __name__ == "__main__":
    main()
