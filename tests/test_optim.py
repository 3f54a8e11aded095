"""Optimizers and schedulers follow PyTorch's, step for step."""

import copy
import gc
import pickle
import weakref

import pytest
import torch

import flambeau

OPTIMIZERS = {
    "SGD": [{}, {"momentum": 0.9, "nesterov": True}, {"momentum": 0.9, "dampening": 0.1, "weight_decay": 0.1}],
    "Adam": [{}, {"amsgrad": True, "weight_decay": 0.1}, {"maximize": True}],
    "AdamW": [{}, {"amsgrad": True}],
    "Adamax": [{}, {"weight_decay": 0.1}],
    "NAdam": [{}, {"weight_decay": 0.1, "decoupled_weight_decay": True}],
    "RAdam": [{}, {"weight_decay": 0.1}],
    "Adadelta": [{}, {"rho": 0.8}],
    "Adagrad": [{}, {"lr_decay": 0.1, "initial_accumulator_value": 0.5}],
    "RMSprop": [{}, {"centered": True, "momentum": 0.5}],
    "Rprop": [{}, {"etas": (0.3, 1.3)}],
    "ASGD": [{}, {"t0": 2}],
    "Adafactor": [{}, {"d": 2.0}],
    "LBFGS": [{}, {"line_search_fn": "strong_wolfe"}],
}
CASES = [(name, kwargs) for name, all_kwargs in OPTIMIZERS.items() for kwargs in all_kwargs]
START = [[1.0, -2.0, 3.0], [0.5, 0.25, -1.0]]


class Training:
    """A few steps on a bumpy function of one parameter, in one library."""

    def __init__(self, library, name, kwargs, dtype="float64"):
        self.w = library.nn.Parameter(library.tensor(START, dtype=getattr(library, dtype)))
        self.optimizer = getattr(library.optim, name)([self.w], lr=0.05, **kwargs)

    def closure(self):
        self.optimizer.zero_grad()
        loss = (self.w**2).sum() + self.w.sin().sum()
        loss.backward()
        return loss

    def run(self, steps):
        path = []
        for _ in range(steps):
            self.optimizer.step(self.closure)
            path.append(self.w.tolist())
        return path


@pytest.mark.parametrize(("name", "kwargs"), CASES, ids=str)
def test_steps(name, kwargs):
    ours, theirs = (Training(library, name, kwargs) for library in (flambeau, torch))
    for mine, other in zip(ours.run(6), theirs.run(6), strict=True):
        assert torch.allclose(torch.tensor(mine), torch.tensor(other), rtol=1e-6, atol=1e-8)
    assert repr(ours.optimizer) == repr(theirs.optimizer)
    mine, other = ours.optimizer.state_dict(), theirs.optimizer.state_dict()
    assert mine["param_groups"] == other["param_groups"]
    assert {k: list(v) for k, v in mine["state"].items()} == {k: list(v) for k, v in other["state"].items()}


@pytest.mark.parametrize(("name", "kwargs"), CASES, ids=str)
def test_resume_is_exact(name, kwargs):
    first = Training(flambeau, name, kwargs, "float32")
    first.run(3)
    second = Training(flambeau, name, kwargs, "float32")
    second.w.data.copy_(first.w.data)
    second.optimizer.load_state_dict(copy.deepcopy(first.optimizer.state_dict()))
    assert first.run(3) == second.run(3)


def test_pickle():
    training = Training(flambeau, "Adam", {})
    training.run(2)
    again = pickle.loads(pickle.dumps(training.optimizer))
    assert again.state_dict()["param_groups"] == training.optimizer.state_dict()["param_groups"]
    again.step()


def make(params, **kwargs):
    return flambeau.optim.SGD(params, **kwargs)


@pytest.mark.parametrize(
    ("build", "error", "text"),
    [
        (lambda w: make(w), TypeError, "iterable"),
        (lambda w: make([]), ValueError, "empty"),
        (lambda w: make([w * 2]), ValueError, "non-leaf"),
        (lambda w: make([w, 3]), TypeError, "parameter 1 is a int"),
        (lambda w: make([{"params": {w}}]), TypeError, "set"),
        (lambda w: make([w], lr=-1), ValueError, "lr"),
        (lambda w: make([w], lr=float("nan")), ValueError, "lr"),
        (lambda w: make([{"params": w}, {"params": [w]}]), ValueError, "more than one"),
        (lambda w: make([("w", w), w.detach()]), ValueError, "names"),
        (lambda w: flambeau.optim.Adam([w], betas=(1.0, 0.9)), ValueError, r"betas\[0\]"),
    ],
)
def test_refuses(build, error, text):
    with pytest.raises(error, match=text):
        build(flambeau.ones(2, requires_grad=True))


def test_hooks_and_their_order():
    w = flambeau.nn.Parameter(flambeau.ones(1))
    optimizer = make([w])
    calls = []
    optimizer.register_step_pre_hook(lambda *_: calls.append("pre"))
    handle = optimizer.register_step_post_hook(lambda *_: calls.append("post"))
    optimizer.register_state_dict_post_hook(lambda _, state: {**state, "mine": 1})
    optimizer.step()
    handle.remove()
    optimizer.step()
    assert calls == ["pre", "post", "pre"]
    assert optimizer.state_dict()["mine"] == 1


def test_load_state_dict_refuses_other_groups():
    w = flambeau.nn.Parameter(flambeau.ones(1))
    v = flambeau.nn.Parameter(flambeau.ones(1))
    with pytest.raises(ValueError, match="group"):
        make([w]).load_state_dict(make([w, v]).state_dict())


SCHEDULERS = {
    "StepLR": lambda s, o: s.StepLR(o, 2, 0.5),
    "MultiStepLR": lambda s, o: s.MultiStepLR(o, [1, 3, 3]),
    "LambdaLR": lambda s, o: s.LambdaLR(o, lambda epoch: 0.9**epoch),
    "LinearLR": lambda s, o: s.LinearLR(o, 0.2, total_iters=4),
    "PolynomialLR": lambda s, o: s.PolynomialLR(o, 6, 2.0),
    "CosineAnnealingLR": lambda s, o: s.CosineAnnealingLR(o, 3, 0.001),
    "CosineAnnealingWarmRestarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 2, 2),
    "CyclicLR": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 3, mode="triangular2"),
    "OneCycleLR": lambda s, o: s.OneCycleLR(o, 0.1, total_steps=12),
    "SequentialLR": lambda s, o: s.SequentialLR(o, [s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.9)], [3]),
    "ChainedScheduler": lambda s, o: s.ChainedScheduler([s.StepLR(o, 2), s.LinearLR(o, 0.5)]),
}


@pytest.mark.parametrize("name", SCHEDULERS)
def test_schedules(name):
    def path(library):
        optimizer = library.optim.SGD([library.nn.Parameter(library.ones(1))], lr=0.05, momentum=0.9)
        scheduler = SCHEDULERS[name](library.optim.lr_scheduler, optimizer)
        group = optimizer.param_groups[0]
        values = [group["lr"], group["momentum"]]
        for _ in range(10):
            optimizer.step()
            scheduler.step()
            values += [group["lr"], group["momentum"]]
        return values

    assert path(flambeau) == pytest.approx(path(torch))


def test_plateau():
    optimizer = make([flambeau.nn.Parameter(flambeau.ones(1))], lr=1.0)
    scheduler = flambeau.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1, cooldown=1)
    rates = []
    for loss in (1.0, 1.0, 1.0, 1.0, 1.0, 1.0):
        scheduler.step(loss)
        rates.append(round(scheduler.get_last_lr()[0], 6))
    assert rates == [1.0, 1.0, 0.1, 0.1, 0.1, 0.01]


def test_scheduler_before_optimizer_is_pointed_out():
    optimizer = make([flambeau.nn.Parameter(flambeau.ones(1))])
    scheduler = flambeau.optim.lr_scheduler.StepLR(optimizer, 2)
    with pytest.warns(UserWarning, match=r"before optimizer\.step"):
        scheduler.step()


def test_a_scheduler_does_not_tie_the_optimizer_to_itself():
    optimizer = make([flambeau.nn.Parameter(flambeau.ones(1))])
    flambeau.optim.lr_scheduler.StepLR(optimizer, 2)
    reference = weakref.ref(optimizer)
    gc.disable()
    try:
        del optimizer
        assert reference() is None
    finally:
        gc.enable()
