"""Networks whose parameters, buffers and detach()s an exporter has to keep apart. Each has its inputs."""
import torch
import torch.nn.functional as F
from torch import nn


class Parameters(nn.Module):
    """Parameters that look like constants, and constants that look like parameters."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(5, 3)
        self.sinusoid = nn.Parameter(torch.sin(torch.arange(20.0).view(4, 5)))
        self.powers = nn.Parameter(0.9 ** torch.arange(5.0))
        self.line = nn.Parameter(torch.linspace(0, 1, 5))
        self.temperature = nn.Parameter(torch.tensor(1.3))
        self.scale = nn.Parameter(torch.tensor(2.0))
        self.register_buffer("levels", torch.tensor([0.1, 0.5, 0.9]))
        self.register_buffer("grid", torch.arange(20.0).view(4, 5) / 7, persistent=False)
        self.register_buffer("embed_scale", torch.tensor(5**0.5))
        self.constant = torch.ones(5) * 3

    def forward(self, x, t):
        h = x * self.embed_scale + x * self.grid * self.sinusoid + self.powers * x + x * self.line * self.constant
        h = h + torch.zeros(4, 5, dtype=x.dtype).index_add(0, torch.tensor([0, 2]), x[:2])
        y = 1.0 - torch.sigmoid(self.layer(h) * self.temperature) * self.scale
        e = t[:, None] - y
        return torch.maximum(self.levels * e, (self.levels - 1) * e).mean() + 0.5 * y.pow(2.0).mean()


class Gates(nn.Module):
    """Parameters of equal values, of one element too, which the exporter writes once."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(5, 5) for _ in range(3))
        self.gates = nn.ParameterList(nn.Parameter(torch.zeros(1)) for _ in range(3))
        self.norms = nn.ModuleList(nn.LayerNorm(5) for _ in range(3))
        self.scales = nn.ParameterList(nn.Parameter(torch.full((5,), 1e-2)) for _ in range(3))
        self.register_buffer("zeros", torch.zeros(5))

    def forward(self, x, t):
        for layer, gate, norm, scale in zip(self.layers, self.gates, self.norms, self.scales):
            x = x + gate * torch.tanh(layer(norm(x))) + scale * x + self.zeros
        return F.mse_loss(x, t)


class Tied(nn.Module):
    """An output layer that is the embedding, and another that only starts with equal values."""

    def __init__(self):
        super().__init__()
        self.embed, self.head, self.other = nn.Embedding(7, 4), nn.Linear(4, 7, bias=False), nn.Linear(4, 7, bias=False)
        self.head.weight = self.embed.weight
        self.other.weight.data.copy_(self.embed.weight.data)

    def forward(self, x, t):
        h = torch.tanh(self.embed(x))
        return F.cross_entropy((self.head(h) + self.other(torch.sin(h))).flatten(0, 1), t.flatten())


class Detached(nn.Module):
    """The same value detached and not, as operand of ops of every kind."""

    def __init__(self):
        super().__init__()
        self.layer, self.other = nn.Linear(5, 4), nn.Linear(4, 4)
        self.shift = nn.Parameter(torch.randn(5))

    def forward(self, x, t):
        y = self.layer(x * self.shift.detach() + self.shift)
        z = self.other(y.detach())
        joined = torch.cat([y, z.detach(), y.detach()], 1)
        chosen = torch.where(x[:, :4] > 0, y, y.detach())
        normed = F.layer_norm(y.detach(), (4,), self.other.bias, self.layer.bias)
        products = torch.einsum("bi,bj->bij", y.detach(), y).pow(2).mean() + (y @ y.detach().t()).mean()
        rest = (1 - y.detach()).mul(y).sum() + (y / (y.detach().abs() + 1)).mean()
        return joined.pow(2).mean() + z.mean() + chosen.sum() + normed.pow(3).mean() + products + rest + t.sum() * 0


class SimSiam(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))
        self.predict = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 4))

    def forward(self, x, t):
        z1, z2 = self.encode(x), self.encode(t)
        p1, p2 = self.predict(z1), self.predict(z2)
        similar = lambda p, z: F.cosine_similarity(p, z.detach(), dim=1).mean()
        return -(similar(p1, z2) + similar(p2, z1)) * 0.5


class StraightThrough(nn.Module):
    """Hard choices whose gradients are those of the soft ones, and targets without gradient."""

    def __init__(self):
        super().__init__()
        self.encode, self.decode, self.value = nn.Linear(6, 4), nn.Linear(4, 6), nn.Linear(6, 1)

    def forward(self, x, t):
        soft = self.encode(x).softmax(-1)
        hard = (soft == soft.max(-1, keepdim=True).values).to(x.dtype)
        y = self.decode(hard - soft.detach() + soft)
        advantage = (t.sum(1, keepdim=True) - self.value(x)).detach()
        loss = F.mse_loss(y, t) - (soft.log()[:, :1] * advantage).mean()
        return loss + 0.5 * (t.sum(1, keepdim=True) - self.value(x).relu()).pow(2).mean()


def numbers(*dims):
    return torch.randn(*dims)


def ids(high, *dims):
    return torch.randint(0, high, dims)


NETWORKS = {
    "parameters": (Parameters, lambda: (numbers(4, 5), numbers(4))),
    "gates": (Gates, lambda: (numbers(3, 5), numbers(3, 5))),
    "tied": (Tied, lambda: (ids(7, 2, 3), ids(7, 2, 3))),
    "detached": (Detached, lambda: (numbers(4, 5), numbers(4))),
    "sim_siam": (SimSiam, lambda: (numbers(5, 6), numbers(5, 6))),
    "straight_through": (StraightThrough, lambda: (numbers(5, 6), numbers(5, 6))),
}
