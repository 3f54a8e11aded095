import warnings

import pytest

import flambeau
from flambeau import amp


def test_products_run_in_fewer_bits():
    layer = flambeau.nn.Linear(3, 3)
    x = flambeau.ones(2, 3)
    with flambeau.autocast("cpu"):
        y = layer(x)
        assert y.dtype == (x @ x.T).dtype == flambeau.bfloat16
        assert (x + x).dtype == flambeau.float32
        assert flambeau.nn.functional.mse_loss(y, y).dtype == flambeau.float32
        assert flambeau.is_autocast_enabled("cpu")
        with flambeau.autocast("cpu", enabled=False):
            assert layer(x).dtype == flambeau.float32
        assert layer(x).dtype == flambeau.bfloat16
        with flambeau.autocast("cpu", dtype=flambeau.float16):
            assert layer(x).dtype == flambeau.float16
    assert layer(x).dtype == flambeau.float32
    y.float().sum().backward()
    assert layer.weight.grad.dtype == flambeau.float32


def test_an_error_leaves_nothing_on():
    with pytest.raises(ValueError, match="stop"), flambeau.autocast("cpu"):
        raise ValueError("stop")
    assert not flambeau.is_autocast_enabled("cpu")
    assert (flambeau.ones(2, 2) @ flambeau.ones(2, 2)).dtype == flambeau.float32


def test_decorator():
    @flambeau.autocast("cpu")
    def product(x):
        return x @ x

    assert product(flambeau.ones(2, 2)).dtype == flambeau.bfloat16


def test_absent_devices_are_warned_about():
    with pytest.warns(UserWarning, match="cuda"), flambeau.autocast("cuda"):
        assert not flambeau.is_autocast_enabled("cuda")
    with pytest.warns(UserWarning, match="cuda"):
        assert not amp.GradScaler().is_enabled()
    with pytest.raises(RuntimeError):
        flambeau.autocast("nonsense")


def scaled_step(scaler, parameter, gradient):
    optimizer = flambeau.optim.SGD([parameter], 1.0)
    optimizer.zero_grad()
    scaler.scale((parameter * gradient).sum()).backward()
    scaler.step(optimizer)
    scaler.update()


def test_scaler_skips_what_is_not_finite():
    scaler = amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
    parameter = flambeau.nn.Parameter(flambeau.zeros(2))
    scaled_step(scaler, parameter, float("inf"))
    assert parameter.tolist() == [0, 0] and scaler.get_scale() == 2.0
    scaled_step(scaler, parameter, 1.0)
    scaled_step(scaler, parameter, 1.0)
    assert parameter.tolist() == [-2, -2] and scaler.get_scale() == 4.0
    other = amp.GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == scaler.state_dict()


def test_scaler_is_used_in_order():
    scaler = amp.GradScaler("cpu")
    optimizer = flambeau.optim.SGD([flambeau.nn.Parameter(flambeau.zeros(1))], 1.0)
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.step(optimizer)
    with pytest.raises(AssertionError):
        amp.GradScaler("cpu").update()


def test_old_names():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with flambeau.cuda.amp.autocast():
            pass
        assert not flambeau.cuda.amp.GradScaler().is_enabled()
        with flambeau.cpu.amp.autocast():
            assert flambeau.is_autocast_enabled("cpu")
