#!/usr/bin/env python3
"""What PyTorch's schedules return, for schedules_test: a line a case of name and values, step 0 first. Run by the Python
of `scripts/peers torch`: make_cases.py > cases.txt"""
import torch
from torch.optim import SGD
from torch.optim import lr_scheduler as S

STEPS = 24
METRICS = [5, 4, 4.5, 4.2, 4.1, 4.0, 3.9999, 3.5, 3.6, float("nan"), 3.7, 3.8, 3.9, 3.4, 3.5, 3.5, 3.5, 3.5, 3.5, 3.5, 3.5, 3.5, 3.5, 3.5]


def run(name, make, rate=0.4, momentum=False):
    optimizer = SGD([torch.zeros(1, requires_grad=True)], lr=rate, momentum=0.9)
    schedule = make(optimizer)
    rates, momenta = [], []
    for step in range(STEPS):
        rates.append(optimizer.param_groups[0]["lr"])
        momenta.append(optimizer.param_groups[0]["momentum"])
        optimizer.step()
        if isinstance(schedule, S.ReduceLROnPlateau):
            schedule.step(METRICS[step])
        else:
            schedule.step()
    print(name, *map(repr, rates))
    if momentum:
        print(name + "_momentum", *map(repr, momenta))


print(f"# Written by make_cases.py with PyTorch {torch.__version__}.")
run("constant", lambda o: S.ConstantLR(o, factor=0.25, total_iters=5))
run("linear", lambda o: S.LinearLR(o, start_factor=0.1, end_factor=0.8, total_iters=7))
run("step", lambda o: S.StepLR(o, step_size=4, gamma=0.3))
run("multistep", lambda o: S.MultiStepLR(o, milestones=[3, 9, 9, 15], gamma=0.5))
run("exponential", lambda o: S.ExponentialLR(o, gamma=0.9))
run("cosine", lambda o: S.CosineAnnealingLR(o, T_max=10, eta_min=0.02))
run("restarts", lambda o: S.CosineAnnealingWarmRestarts(o, T_0=3, T_mult=2, eta_min=0.01))
run("restarts_equal", lambda o: S.CosineAnnealingWarmRestarts(o, T_0=5))
run("polynomial", lambda o: S.PolynomialLR(o, total_iters=12, power=2.0))
run("one_cycle", lambda o: S.OneCycleLR(o, max_lr=0.5, total_steps=25), momentum=True)
run("one_cycle_linear", lambda o: S.OneCycleLR(o, max_lr=0.5, total_steps=25, pct_start=0.4, anneal_strategy="linear", three_phase=True,
                                               div_factor=10, final_div_factor=100, base_momentum=0.8, max_momentum=0.9), momentum=True)
run("sequential", lambda o: S.SequentialLR(o, [S.LinearLR(o, 0.1, 1.0, 4), S.CosineAnnealingLR(o, 10), S.ExponentialLR(o, 0.5)], [4, 14]))
run("lambda", lambda o: S.LambdaLR(o, lambda step: 1 / (1 + step)))
run("chained", lambda o: S.ChainedScheduler([S.ConstantLR(o, factor=0.1, total_iters=4), S.ExponentialLR(o, gamma=0.9)], optimizer=o))
run("plateau", lambda o: S.ReduceLROnPlateau(o, patience=2, factor=0.5))
run("plateau_absolute", lambda o: S.ReduceLROnPlateau(o, mode="max", patience=1, factor=0.2, threshold=0.3, threshold_mode="abs", cooldown=2, min_lr=0.01))
