#!/usr/bin/env python3
"""The models of nn/models as torchvision, transformers and PyTorch have them, small and in double, for
built_models_test: state_dict, input, logits, a cotangent and the gradients of the smaller parameters. Run by the Python of
`scripts/peers torch`: make_cases.py [FILE]."""
import os
import sys

import numpy as np
import torch
import transformers
from torch import nn
from torchvision.models.resnet import BasicBlock, Bottleneck

SHOWN = 400  # elements of a parameter whose gradient is kept


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Linear(2 * 16, 6), nn.Linear(6, 6), nn.Linear(6, 5)

    def forward(self, x):
        return self.fc3(torch.relu(self.fc2(torch.relu(self.fc1(x.flatten(1))))))


class MnistCnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 3, 3, padding=1), nn.Conv2d(3, 6, 3, padding=1)
        self.fc = nn.Linear(6 * 3 * 3, 4)

    def forward(self, x):
        for conv in (self.conv1, self.conv2):
            x = nn.functional.max_pool2d(torch.relu(conv(x)), 2)
        return self.fc(x.flatten(1))


class ResNet(nn.Module):
    """torchvision's blocks at a width of 2."""

    def __init__(self, block, blocks, small=False, width=2):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 3 if small else 7, stride=1 if small else 2, padding=1 if small else 3, bias=False)
        self.bn1, self.small, self.count = nn.BatchNorm2d(width), small, len(blocks)
        channels = width
        for i, count in enumerate(blocks):
            layer = []
            for k in range(count):
                stride, out = 2 if i > 0 and k == 0 else 1, width * 2**i
                down = None
                if stride != 1 or channels != out * block.expansion:
                    down = nn.Sequential(nn.Conv2d(channels, out * block.expansion, 1, stride, bias=False), nn.BatchNorm2d(out * block.expansion))
                layer.append(block(channels, out, stride, down))
                channels = out * block.expansion
            setattr(self, f"layer{i + 1}", nn.Sequential(*layer))
        self.fc = nn.Linear(channels, 5)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        if not self.small:
            x = nn.functional.max_pool2d(x, 3, 2, 1)
        for i in range(self.count):
            x = getattr(self, f"layer{i + 1}")(x)
        return self.fc(x.mean((2, 3)))


class LstmLm(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.lstm = nn.Embedding(11, 4), nn.LSTM(4, 5, 2, batch_first=True)
        self.head = nn.Linear(5, 11)

    def forward(self, tokens):
        return self.head(self.lstm(self.embedding(tokens))[0])


class DoubleConv(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(a, b, 3, padding=1, bias=False), nn.Conv2d(b, b, 3, padding=1, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm2d(b), nn.BatchNorm2d(b)

    def forward(self, x):
        return torch.relu(self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x))))))


class Unet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1, self.down2, self.middle = DoubleConv(3, 2), DoubleConv(2, 4), DoubleConv(4, 8)
        self.up2, self.up1 = DoubleConv(8, 4), DoubleConv(4, 2)
        self.up2.conv, self.up1.conv = nn.ConvTranspose2d(8, 4, 2, 2), nn.ConvTranspose2d(4, 2, 2, 2)
        self.head = nn.Conv2d(2, 3, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(nn.functional.max_pool2d(a, 2))
        y = self.middle(nn.functional.max_pool2d(b, 2))
        y = self.up2(torch.cat([b, self.up2.conv(y)], 1))
        y = self.up1(torch.cat([a, self.up1.conv(y)], 1))
        return self.head(y)


class Logits(nn.Module):
    def __init__(self, inner, **inputs):
        super().__init__()
        self.inner, self.inputs = inner, inputs

    def state_dict(self):
        return self.inner.state_dict()

    def named_parameters(self):
        return self.inner.named_parameters()

    def forward(self, tokens):
        return self.inner(tokens, **self.inputs).logits


def bert(tokens):
    config = transformers.BertConfig(vocab_size=13, hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=12,
                                     max_position_embeddings=9, num_labels=3, attn_implementation="eager")
    return Logits(transformers.BertForSequenceClassification(config), attention_mask=(tokens != 0).to(torch.int64))


def gpt():
    config = transformers.GPT2Config(vocab_size=13, n_positions=7, n_embd=8, n_layer=2, n_head=2, attn_implementation="eager")
    return Logits(transformers.GPT2LMHeadModel(config))


def make(name, model, x, trains=False):
    model = model.double()
    model.train(trains)
    arrays = {}
    drawn_already = set()  # tied weights are one tensor with two names
    with torch.no_grad():
        for key, value in model.state_dict().items():
            if value.data_ptr() in drawn_already:
                arrays["p/" + key] = value.half().numpy()
            elif value.dtype == torch.float64:
                drawn_already.add(value.data_ptr())
                drawn = torch.rand_like(value) + 0.5 if key.endswith("var") else torch.randn_like(value) * 0.5
                value.copy_(drawn.half())
                arrays["p/" + key] = value.half().numpy()
    arrays["x"] = x.numpy()
    if x.dtype == torch.float64:
        x = x.requires_grad_()
    logits = model(x)
    cotangent = torch.randn_like(logits)
    wanted = {"g/" + key: value for key, value in model.named_parameters() if value.numel() <= SHOWN}
    gradients = torch.autograd.grad(logits, list(wanted.values()), cotangent)
    arrays["logits"], arrays["d_logits"] = logits.detach().numpy(), cotangent.numpy()
    arrays.update({key: gradient.numpy() for key, gradient in zip(wanted, gradients)})
    if trains:
        arrays["trains"] = np.ones(1)
    return {f"{name}/{key}": value for key, value in arrays.items()}


def image(*shape):
    return torch.randn(*shape, dtype=torch.float64)


def main():
    torch.manual_seed(0)
    file = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases.npz")
    tokens = torch.randint(1, 11, (2, 6))
    padded = torch.tensor([[3, 5, 2, 12, 1], [7, 4, 0, 0, 0]])
    arrays = {}
    arrays.update(make("mlp", Mlp(), image(3, 2, 4, 4)))
    arrays.update(make("mnist_cnn", MnistCnn(), image(2, 1, 12, 12)))
    arrays.update(make("resnet_cifar", ResNet(BasicBlock, [1, 1, 1], small=True), image(3, 3, 8, 8), trains=True))
    arrays.update(make("resnet18", ResNet(BasicBlock, [2, 2, 2, 2]), image(2, 3, 32, 32)))
    arrays.update(make("resnet50", ResNet(Bottleneck, [3, 4, 6, 3]), image(2, 3, 32, 32)))
    arrays.update(make("lstm_lm", LstmLm(), tokens))
    arrays.update(make("unet", Unet(), image(2, 3, 8, 8), trains=True))
    arrays.update(make("bert", bert(padded), padded))
    arrays.update(make("gpt", gpt(), tokens))
    np.savez_compressed(file, **arrays)


main()
