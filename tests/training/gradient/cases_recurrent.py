"""Cases of training/gradient/recurrent.cc: the cells that PyTorch has."""
import numpy as np
import torch
from make_cases import Case

# Where PyTorch's gates are among ONNX's: i f g o among i o f c; r z n among z r h.
GATES = {"LSTM": (0, 2, 3, 1), "GRU": (1, 0, 2), "RNN": (0,)}


def reorder(op, x):
    parts = x.chunk(len(GATES[op]), 0)
    return torch.cat([parts[k] for k in GATES[op]])


def run(op, x, w, r, b, states, lens=None, nonlinearity=None):
    directions, hidden = w.shape[0], r.shape[2]
    options = {"nonlinearity": nonlinearity} if nonlinearity else {}
    module = getattr(torch.nn, op)(x.shape[2], hidden, bidirectional=directions == 2, **options).double()
    weights = {}
    for d in range(directions):
        suffix = "_l0" + ("_reverse" if d else "")
        own, recurrent = b[d].chunk(2)
        weights["weight_ih" + suffix], weights["weight_hh" + suffix] = reorder(op, w[d]), reorder(op, r[d])
        weights["bias_ih" + suffix], weights["bias_hh" + suffix] = reorder(op, own), reorder(op, recurrent)
    state = tuple(states) if op == "LSTM" else states[0]
    given = x if lens is None else torch.nn.utils.rnn.pack_padded_sequence(x, lens.cpu().long(), enforce_sorted=False)
    y, last = torch.func.functional_call(module, weights, (given, state))
    if lens is not None:
        y, _ = torch.nn.utils.rnn.pad_packed_sequence(y, total_length=x.shape[0])
    y = y.reshape(*y.shape[:2], directions, hidden).transpose(1, 2)
    return (y, *last) if op == "LSTM" else (y, last)


def cases():
    rng = np.random.default_rng(3)
    steps, batch, width, hidden = 4, 3, 2, 3
    for op in ("LSTM", "GRU", "RNN"):
        gates = len(GATES[op])
        names = ("y", "y_h", "y_c") if op == "LSTM" else ("y", "y_h")
        for directions in (1, 2):
            for with_lens in (False, True):
                for relu in (False, True) if op == "RNN" else (False,):
                    inputs = {"x": rng.standard_normal((steps, batch, width)),
                              "w": rng.standard_normal((directions, gates * hidden, width)) / 2,
                              "r": rng.standard_normal((directions, gates * hidden, hidden)) / 2,
                              "b": rng.standard_normal((directions, 2 * gates * hidden)) / 4}
                    if with_lens:
                        inputs["lens"] = np.array([2, 4, 1], np.int32)
                    inputs["h0"] = rng.standard_normal((directions, batch, hidden)) / 2
                    if op == "LSTM":
                        inputs["c0"] = rng.standard_normal((directions, batch, hidden)) / 2
                    attributes = [f"hidden_size = {hidden}"]
                    if directions == 2:
                        attributes.append('direction = "bidirectional"')
                    if op == "GRU":
                        attributes.append("linear_before_reset = 1")
                    if relu:
                        attributes.append("activations = [" + ", ".join(['"Relu"'] * directions) + "]")
                    call = list(inputs)
                    if not with_lens:
                        call.insert(4, "")
                    name = f"{op.lower()}{'_relu' if relu else ''}{'_both' if directions == 2 else ''}{'_lens' if with_lens else ''}"

                    def f(x, w, r, b, *rest, op=op, with_lens=with_lens, relu=relu):
                        lens, states = (rest[0], rest[1:]) if with_lens else (None, rest)
                        return run(op, x, w, r, b, states, lens, "relu" if relu else None)
                    yield Case(name, f"{', '.join(names)} = {op} <{', '.join(attributes)}> ({', '.join(call)})", inputs, f,
                               outputs=names)
    # One direction from the end.
    inputs = {"x": rng.standard_normal((steps, batch, width)), "w": rng.standard_normal((1, 4 * hidden, width)) / 2,
              "r": rng.standard_normal((1, 4 * hidden, hidden)) / 2, "b": rng.standard_normal((1, 8 * hidden)) / 4}

    def backwards(x, w, r, b):
        zeros = torch.zeros(1, batch, hidden, dtype=torch.double)
        y, h, _ = run("LSTM", x.flip(0), w, r, b, (zeros, zeros))
        return y.flip(0), h
    yield Case("lstm_reverse", f'y, y_h = LSTM <hidden_size = {hidden}, direction = "reverse"> (x, w, r, b)', inputs, backwards,
               outputs=("y", "y_h"))
