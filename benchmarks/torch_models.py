"""The models of training that compare_torch.py measures, as a user of PyTorch writes them, with a batch of random data.

Each case: model, batch (name -> tensor; "label" is the target), optimizer as (name, options)."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def mlp():
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))


def mnist_cnn():
    return nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(),
                         nn.MaxPool2d(2), nn.Flatten(), nn.Linear(3136, 10))


class LstmLm(nn.Module):
    def __init__(self, vocabulary=10000, embedding=256, hidden=512):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, embedding)
        self.lstm = nn.LSTM(embedding, hidden, 2, batch_first=True)
        self.head = nn.Linear(hidden, vocabulary)

    def forward(self, tokens):
        return self.head(self.lstm(self.embedding(tokens))[0])


class Attention(nn.Module):
    def __init__(self, width, heads, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        return self.out(F.scaled_dot_product_attention(q, k, v, is_causal=self.causal).transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, width, heads, causal):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, causal)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Gpt(nn.Module):
    def __init__(self, vocabulary, layers, width, heads, length):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Parameter(torch.randn(length, width) * 0.02)
        nn.init.normal_(self.tokens.weight, std=0.02)
        self.blocks = nn.ModuleList(Block(width, heads, True) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions
        for block in self.blocks:
            x = block(x)
        return self.norm(x) @ self.tokens.weight.t()


class Bert(nn.Module):
    def __init__(self, layers=12, width=768, heads=12, length=128, vocabulary=30522):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Parameter(torch.randn(length, width) * 0.02)
        self.norm = nn.LayerNorm(width)
        self.blocks = nn.ModuleList(Block(width, heads, False) for _ in range(layers))
        self.head = nn.Linear(width, 2)

    def forward(self, tokens):
        x = self.norm(self.tokens(tokens) + self.positions)
        for block in self.blocks:
            x = block(x)
        return self.head(x[:, 0])


def conv_bn(i, o, k, stride=1, groups=1, act=True):
    layers = [nn.Conv2d(i, o, k, stride, k // 2, groups=groups, bias=False), nn.BatchNorm2d(o)]
    return nn.Sequential(*layers, *([nn.ReLU()] if act else []))


class Residual(nn.Module):
    def __init__(self, i, o, stride, bottleneck):
        super().__init__()
        if bottleneck:
            m = o // 4
            self.body = nn.Sequential(conv_bn(i, m, 1), conv_bn(m, m, 3, stride), conv_bn(m, o, 1, act=False))
        else:
            self.body = nn.Sequential(conv_bn(i, o, 3, stride), conv_bn(o, o, 3, act=False))
        self.skip = conv_bn(i, o, 1, stride, act=False) if stride != 1 or i != o else nn.Identity()

    def forward(self, x):
        return F.relu(self.body(x) + self.skip(x))


def resnet(depths, bottleneck):
    layers, width = [conv_bn(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1)], 64
    for stage, depth in enumerate(depths):
        out = (64 << stage) * (4 if bottleneck else 1)
        for block in range(depth):
            layers.append(Residual(width, out, 2 if block == 0 and stage > 0 else 1, bottleneck))
            width = out
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 1000))


class Inverted(nn.Module):
    def __init__(self, i, o, stride, expand):
        super().__init__()
        h = i * expand

        def relu6(block):
            block[2] = nn.ReLU6()
            return block

        self.add = stride == 1 and i == o
        self.body = nn.Sequential(*([relu6(conv_bn(i, h, 1))] if expand > 1 else []),
                                  relu6(conv_bn(h, h, 3, stride, groups=h)), conv_bn(h, o, 1, act=False))

    def forward(self, x):
        return x + self.body(x) if self.add else self.body(x)


def mobilenetv2():
    layers, width = [conv_bn(3, 32, 3, 2)], 32
    for t, c, n, s in [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]:
        for i in range(n):
            layers.append(Inverted(width, c, s if i == 0 else 1, t))
            width = c
    return nn.Sequential(*layers, conv_bn(width, 1280, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1280, 10))


ADAMW = ("AdamW", {"lr": 1e-3})
SGD = ("SGD", {"lr": 0.01, "momentum": 0.9})


def images(batch, channels, side, classes):
    return {"image": torch.randn(batch, channels, side, side), "label": torch.randint(classes, (batch,))}


def text(batch, length, vocabulary, classes=None):
    label = torch.randint(vocabulary, (batch, length)) if classes is None else torch.randint(classes, (batch,))
    return {"tokens": torch.randint(vocabulary, (batch, length)), "label": label}


CASES = {
    "mlp_b32": lambda: (mlp(), {"x": torch.randn(32, 784), "label": torch.randint(10, (32,))}, ADAMW),
    "mlp_b256": lambda: (mlp(), {"x": torch.randn(256, 784), "label": torch.randint(10, (256,))}, ADAMW),
    "mnist_cnn_b64": lambda: (mnist_cnn(), images(64, 1, 28, 10), SGD),
    "lstm_lm": lambda: (LstmLm(), text(20, 35, 10000), SGD),
    "chargpt_4L128": lambda: (Gpt(65, 4, 128, 4, 64), text(12, 64, 65), ADAMW),
    "gpt_6L384": lambda: (Gpt(65, 6, 384, 6, 256), text(4, 256, 65), ADAMW),
    "gpt2_124M": lambda: (Gpt(50257, 12, 768, 12, 64), text(4, 64, 50257), ADAMW),
    "bert_base_b8": lambda: (Bert(), text(8, 128, 30522, 2), ADAMW),
    "resnet18_b8": lambda: (resnet([2, 2, 2, 2], False), images(8, 3, 224, 1000), SGD),
    "resnet50_b8": lambda: (resnet([3, 4, 6, 3], True), images(8, 3, 224, 1000), SGD),
    "mobilenetv2_b16": lambda: (mobilenetv2(), images(16, 3, 224, 10), SGD),
}
