"""Cases of training/gradient/reduce.cc and cumulative.cc."""
import numpy as np
import torch
from make_cases import Case

SETS = {"none": None, "one": (1,), "two": (0, 2), "negative": (-1,), "all": (0, 1, 2)}


def reductions():
    def over(f):
        return lambda x, axes, keep: f(x, list(range(x.ndim)) if axes is None else list(axes), keep)

    def product(x, axes, keep):
        for axis in sorted((a % x.ndim for a in axes), reverse=True):
            x = x.prod(axis, keepdim=keep)
        return x

    return {
        "L1": over(lambda x, a, k: x.abs().sum(a, keepdim=k)),
        "L2": over(lambda x, a, k: torch.linalg.vector_norm(x, 2, a, keepdim=k)),
        "LogSum": over(lambda x, a, k: x.sum(a, keepdim=k).log()),
        "LogSumExp": over(lambda x, a, k: torch.logsumexp(x, a, keepdim=k)),
        "Max": over(lambda x, a, k: x.amax(a, keepdim=k)), "Min": over(lambda x, a, k: x.amin(a, keepdim=k)),
        "Mean": over(lambda x, a, k: x.mean(a, keepdim=k)), "Prod": over(product),
        "Sum": over(lambda x, a, k: x.sum(a, keepdim=k)), "SumSquare": over(lambda x, a, k: (x * x).sum(a, keepdim=k)),
    }


def cases():
    rng = np.random.default_rng(0)
    for op, f in reductions().items():
        low = 0.5 if op == "LogSum" else -2
        for name, axes in SETS.items():
            for keep in (True, False):
                if (op not in ("Sum", "Mean", "Prod")) and keep == (name in ("one", "all")):
                    continue
                inputs = {"x": rng.uniform(low, 2, (2, 3, 4))}
                if axes is not None:
                    inputs["axes"] = np.array(axes)
                call = f"y = Reduce{op} <keepdims = {int(keep)}> ({', '.join(inputs)})"
                yield Case(f"{op.lower()}_{name}{'_kept' if keep else ''}", call, inputs,
                           lambda x, *_, f=f, axes=axes, keep=keep: f(x, axes, keep), narrow=op not in ("Max", "Min"))
    x = rng.uniform(-2, 2, (2, 3))
    yield Case("sum_noop", "y = ReduceSum <noop_with_empty_axes = 1, keepdims = 0> (x)", {"x": x}, lambda x: x * 1)
    yield Case("sum_noop_empty", "y = ReduceSum <noop_with_empty_axes = 1> (x, axes)",
               {"x": x, "axes": np.zeros(0, np.int64)}, lambda x, a: x * 1)
    yield Case("mean_empty_axes", "y = ReduceMean <keepdims = 0> (x, axes)", {"x": x, "axes": np.zeros(0, np.int64)},
               lambda x, a: x.mean())
    for op in ("Sum", "Mean", "Max", "LogSumExp"):
        for keep in (0, 1):
            f = reductions()[op]
            yield Case(f"{op.lower()}_axes_input_{keep}", f"y = Reduce{op} <keepdims = {keep}> (x, axes)",
                       {"x": rng.uniform(-2, 2, (2, 3, 4)), "axes": np.array([0, -1])},
                       lambda x, a, f=f, keep=keep: f(x, (0, 2), bool(keep)), data=("axes",))
    ties = np.array([[1.0, 3, 3], [2, 2, 2]])
    for op in ("Max", "Min"):
        yield Case(f"{op.lower()}_ties", f"y = Reduce{op} (x, axes)", {"x": ties, "axes": np.array([1])},
                   lambda x, a, f=reductions()[op]: f(x, (1,), True), smooth=False)
    yield Case("max_ties_all", "y = ReduceMax <keepdims = 0> (x)", {"x": ties}, torch.amax, smooth=False)
    yield Case("l1_zeros", "y = ReduceL1 (x)", {"x": np.array([[0.0, 1, -2]])}, lambda x: x.abs().sum().reshape(1, 1),
               smooth=False)
    yield Case("l2_zeros", "y = ReduceL2 (x, axes)", {"x": np.array([[0.0, 0], [0, 3]]), "axes": np.array([1])},
               lambda x, a: torch.linalg.vector_norm(x, 2, 1, keepdim=True), smooth=False, twice=True)
    zeros = np.array([[1.0, 0, 3], [0, 0, 2], [2, 3, 4], [0, 5, 0]])
    yield Case("prod_zeros", "y = ReduceProd <keepdims = 0> (x, axes)", {"x": zeros, "axes": np.array([1])},
               lambda x, a: x.prod(1))
    yield Case("prod_all_zeros", "y = ReduceProd <keepdims = 0> (x)", {"x": np.array([[1.0, 0], [2, 3]])},
               lambda x: x.prod())
    yield Case("logsumexp_large", "y = ReduceLogSumExp (x, axes)", {"x": np.array([[1000.0, 999], [-1000, -999]]), "axes": np.array([1])},
               lambda x, a: torch.logsumexp(x, 1, keepdim=True), floats=False)
    yield Case("logsumexp_infinite", "y = ReduceLogSumExp (x, axes)",
               {"x": np.array([[-np.inf, -np.inf], [-np.inf, 1]]), "axes": np.array([1])},
               lambda x, a: torch.logsumexp(x, 1, keepdim=True), smooth=False, floats=False)
    for op in ("Sum", "Prod"):
        for exclusive in (0, 1):
            for reverse in (0, 1):
                for zeros in ((0, 1) if op == "Prod" else (0,)):
                    x = rng.uniform(0.5, 2, (3, 5))
                    if zeros:
                        x[0, 2] = x[1, 1] = x[1, 3] = x[2, 0] = x[2, 4] = 0

                    def f(x, axis, op=op, exclusive=exclusive, reverse=reverse):
                        x = x.flip(1) if reverse else x
                        if exclusive:
                            x = torch.cat([torch.full_like(x[:, :1], op == "Prod"), x[:, :-1]], 1)
                        y = x.cumsum(1) if op == "Sum" else x.cumprod(1)
                        return y.flip(1) if reverse else y

                    yield Case(f"cum_{op.lower()}_{exclusive}{reverse}{'_zeros' if zeros else ''}",
                               f"y = Cum{op} <exclusive = {exclusive}, reverse = {reverse}> (x, axis)",
                               {"x": x, "axis": np.array(1)}, f)
    yield Case("cum_sum_axis_0", "y = CumSum (x, axis)", {"x": rng.uniform(-1, 1, (3, 2)), "axis": np.array(-2)},
               lambda x, a: x.cumsum(0))
