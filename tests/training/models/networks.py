"""Networks in inference form, for make_models.py."""
import torch
import torch.nn.functional as F
from torch import nn


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(2, 4, 3, padding=1), nn.Conv2d(4, 6, 3, stride=2, groups=2)
        self.norm, self.group, self.out = nn.BatchNorm2d(4), nn.GroupNorm(2, 6), nn.Linear(6, 3)

    def forward(self, x, t):
        x = F.max_pool2d(torch.relu(self.norm(self.conv1(x))), 2)
        x = F.hardswish(self.group(self.conv2(x)))
        return F.cross_entropy(self.out(F.adaptive_avg_pool2d(x, 1).flatten(1)), t)


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        block = lambda: nn.Sequential(nn.Conv2d(4, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4), nn.ReLU(),
                                      nn.Conv2d(4, 4, 1, bias=False), nn.BatchNorm2d(4))
        self.stem, self.blocks, self.out = nn.Conv2d(3, 4, 3, 2), nn.ModuleList([block(), block()]), nn.Linear(4, 3)

    def forward(self, x, t):
        x = self.stem(x)
        for block in self.blocks:
            x = torch.relu(x + block(x))
        return F.nll_loss(F.log_softmax(self.out(x.mean((2, 3))), 1), t)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True, activation="gelu")
        self.encoder, self.out = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(8, 1)

    def forward(self, x, t):
        return F.mse_loss(self.out(self.encoder(x))[..., 0], t)


class Gpt(nn.Module):
    """Tied embeddings, causal attention."""

    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(11, 8), nn.Embedding(6, 8)
        self.norm1, self.norm2, self.norm3 = nn.LayerNorm(8), nn.LayerNorm(8), nn.LayerNorm(8)
        self.qkv, self.project = nn.Linear(8, 24), nn.Linear(8, 8)
        self.up, self.down = nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, ids, t):
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1]))
        q, k, v = (part.unflatten(-1, (2, 4)).transpose(1, 2) for part in self.qkv(self.norm1(x)).split(8, -1))
        x = x + self.project(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        x = x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))
        return F.cross_entropy((self.norm3(x) @ self.tokens.weight.T).flatten(0, 1), t.flatten(), ignore_index=0)


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.lstm, self.out = nn.Embedding(7, 5), nn.LSTM(5, 6, 2, batch_first=True), nn.Linear(6, 7)

    def forward(self, ids, t):
        return F.cross_entropy(self.out(self.lstm(self.tokens(ids))[0]).flatten(0, 1), t.flatten())


class Gru(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru, self.out = nn.GRU(4, 5, bidirectional=True), nn.Linear(10, 1)

    def forward(self, x, t):
        return F.binary_cross_entropy_with_logits(self.out(self.gru(x)[0].mean(0))[:, 0], t)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1, self.down2 = nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 6, 3, 2, 1)
        self.middle, self.up = nn.Conv2d(6, 6, 3, padding=2, dilation=2), nn.ConvTranspose2d(6, 4, 2, 2)
        self.norm, self.out = nn.InstanceNorm2d(4, affine=True), nn.Conv2d(8, 1, 1)

    def forward(self, x, t):
        a = F.leaky_relu(self.down1(x), 0.125)
        b = F.elu(self.middle(F.elu(self.down2(a))))
        c = self.norm(self.up(b)) + F.interpolate(b, scale_factor=2, mode="bilinear")[:, :4]
        return F.smooth_l1_loss(self.out(torch.cat([a, c], 1)), t)


class ConvNext(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.depth = nn.Conv2d(3, 6, 2, 2), nn.Conv2d(6, 6, 5, padding=2, groups=6)
        self.norm, self.up, self.down = nn.LayerNorm(6, eps=1e-6), nn.Linear(6, 12), nn.Linear(12, 6)
        self.scale = nn.Parameter(torch.full((6,), 0.5))

    def forward(self, x, t):
        x = self.stem(x)
        y = self.down(F.gelu(self.up(self.norm(self.depth(x).permute(0, 2, 3, 1))))) * self.scale
        return F.cross_entropy((x + y.permute(0, 3, 1, 2)).amax((2, 3)), t)


class Llama(nn.Module):
    """RMSNorm, rotary embedding, grouped queries, gated MLP."""

    def __init__(self):
        super().__init__()
        self.tokens, self.norm1, self.norm2 = nn.Embedding(9, 8), nn.RMSNorm(8, 1e-5), nn.RMSNorm(8, 1e-5)
        self.q, self.kv, self.o = nn.Linear(8, 8, bias=False), nn.Linear(8, 8, bias=False), nn.Linear(8, 8, bias=False)
        self.gate, self.up, self.down = nn.Linear(8, 12, bias=False), nn.Linear(8, 12, bias=False), nn.Linear(12, 8, bias=False)
        self.out = nn.Linear(8, 9, bias=False)

    def forward(self, ids, t):
        def turn(x):
            at = torch.arange(ids.shape[1], dtype=x.dtype)[:, None] * torch.tensor([1.0, 0.1], dtype=x.dtype)
            a, b = x.chunk(2, -1)
            return torch.cat([a * at.cos() - b * at.sin(), b * at.cos() + a * at.sin()], -1)
        x = self.tokens(ids)
        y = self.norm1(x)
        k, v = self.kv(y).chunk(2, -1)
        q, k, v = (turn(self.q(y).unflatten(-1, (2, 4)).transpose(1, 2)), turn(k[:, None]), v[:, None])
        x = x + self.o(F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True).transpose(1, 2).flatten(2))
        y = self.norm2(x)
        x = x + self.down(F.silu(self.gate(y)) * self.up(y))
        return F.cross_entropy(self.out(x).flatten(0, 1), t.flatten())


def labels(*dims, classes=3):
    return torch.randint(0, classes, dims)


# Name, and module with its inputs x and t. The exporter's optimizer leaves <name>_optimized.
NETWORKS = {
    "cnn_grouped": (Cnn, lambda: (torch.randn(3, 2, 8, 8), labels(3))),
    "residual": (Residual, lambda: (torch.randn(2, 3, 9, 9), labels(2))),
    "encoder_layers": (Encoder, lambda: (torch.randn(2, 5, 8), torch.randn(2, 5))),
    "gpt_causal": (Gpt, lambda: (labels(2, 5, classes=11), labels(2, 5, classes=11))),
    "lstm_head": (Lstm, lambda: (labels(2, 4, classes=7), labels(2, 4, classes=7))),
    "gru": (Gru, lambda: (torch.randn(4, 3, 4), torch.rand(3))),
    "unet_instances": (UNet, lambda: (torch.randn(2, 1, 8, 8), torch.randn(2, 1, 8, 8))),
    "convnext": (ConvNext, lambda: (torch.randn(2, 3, 8, 8), labels(2, classes=6))),
    "llama": (Llama, lambda: (labels(2, 5, classes=9), labels(2, 5, classes=9))),
}
