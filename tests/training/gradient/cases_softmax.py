"""Cases of training/gradient/softmax.cc and loss.cc."""
import numpy as np
import torch
import torch.nn.functional as F
from make_cases import Case


def cases():
    rng = np.random.default_rng(0)

    def numbers(*dims):
        return rng.standard_normal(dims)

    for op, f in (("Softmax", F.softmax), ("LogSoftmax", F.log_softmax)):
        for axis in (-1, 0, 1):
            yield Case(f"{op.lower()}_{axis % 3}", f"y = {op} <axis = {axis}> (x)", {"x": numbers(2, 3, 4)},
                       lambda x, f=f, axis=axis: f(x, axis))
        yield Case(f"{op.lower()}_default", f"y = {op} (x)", {"x": numbers(2, 3)}, lambda x, f=f: f(x, -1))
        yield Case(f"{op.lower()}_large", f"y = {op} (x)", {"x": np.array([[1000.0, 1001, -1000]])}, lambda x, f=f: f(x, -1),
                   floats=False)
        yield Case(f"{op.lower()}_vector", f"y = {op} (x)", {"x": numbers(4)}, lambda x, f=f: f(x, -1))
    yield Case("softmax_masked", "y = Softmax (x)", {"x": np.array([[1.0, -np.inf, 2]])}, lambda x: F.softmax(x, -1), smooth=False)
    yield Case("hardmax", "h = Hardmax (x)\ny = Mul (h, x)", {"x": numbers(3, 4)},
               lambda x: F.one_hot(x.argmax(1), 4).double() * x, second=False)

    t2, t4 = np.array([1, 0, 2, 1]), np.array([[[0, 2], [1, 1]], [[2, 0], [0, 1]]])
    weights = np.array([0.5, 2.0, 1.5])
    for reduction in ("mean", "sum", "none"):
        for weighted in (False, True):
            for ignore in (None, 1, -1):
                if ignore == -1 and not weighted:
                    continue
                attributes = f'reduction = "{reduction}"' + ("" if ignore is None else f", ignore_index = {ignore}")
                labels = np.where(t2 == 0, -1, t2) if ignore == -1 else t2
                inputs = {"x": numbers(4, 3), "t": labels} | ({"w": weights} if weighted else {})
                suffix = f"{reduction}{'_weighted' if weighted else ''}{'' if ignore is None else '_ignore' + str(ignore % 5)}"

                def loss(x, t, w=None, reduction=reduction, ignore=ignore, f=F.cross_entropy):
                    return f(x, t, weight=w, reduction=reduction, ignore_index=-100 if ignore is None else ignore)
                yield Case(f"cross_entropy_{suffix}", f"y = SoftmaxCrossEntropyLoss <{attributes}> ({', '.join(inputs)})",
                           inputs, loss, wrt=("x",), data=("t",))
                yield Case(f"nll_{suffix}", f"y = NegativeLogLikelihoodLoss <{attributes}> ({', '.join(inputs)})", inputs,
                           lambda x, t, w=None, loss=loss: loss(x, t, w, f=F.nll_loss), wrt=("x",), data=("t",))
    yield Case("cross_entropy_images", "y = SoftmaxCrossEntropyLoss (x, t)", {"x": numbers(2, 3, 2, 2), "t": t4}, F.cross_entropy,
               data=("t",))
    yield Case("cross_entropy_log_prob", 'y, p = SoftmaxCrossEntropyLoss <reduction = "none"> (x, t)',
               {"x": numbers(2, 3, 2, 2), "t": t4},
               lambda x, t: (F.cross_entropy(x, t, reduction="none"), F.log_softmax(x, 1)), outputs=("y", "p"), data=("t",))
    yield Case("cross_entropy_only_log_prob", "y, p = SoftmaxCrossEntropyLoss (x, t)", {"x": numbers(4, 3), "t": t2},
               lambda x, t: (F.cross_entropy(x, t), F.log_softmax(x, 1)), outputs=("y", "p"), skip="y", data=("t",))
    yield Case("cross_entropy_int32", "y = SoftmaxCrossEntropyLoss (x, t)", {"x": numbers(4, 3), "t": t2.astype(np.int32)},
               lambda x, t: F.cross_entropy(x, t.long()), data=("t",))
    yield Case("nll_images_none", 'y = NegativeLogLikelihoodLoss <reduction = "none"> (x, t)', {"x": numbers(2, 3, 2, 2), "t": t4},
               lambda x, t: F.nll_loss(x, t, reduction="none"), data=("t",))
    yield Case("nll_all_ignored", "y = NegativeLogLikelihoodLoss <ignore_index = 1> (x, t)",
               {"x": numbers(2, 3), "t": np.array([1, 1])}, lambda x, t: F.nll_loss(x, t, ignore_index=1), data=("t",), smooth=False)
