"""Layers, losses and helpers of `nn` against PyTorch: the same seed, the same numbers."""

from __future__ import annotations

import copy
import importlib
import warnings

import numpy as np
import pytest

import flambeau

torch = pytest.importorskip("torch")

# name -> the same few lines in either library; what they return is compared.
CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


@case
def orthogonal(lib):
    out = []
    for name in ("matrix_exp", "cayley", "householder"):
        for rows, columns in ((3, 3), (4, 3), (3, 4)):
            lib.manual_seed(0)
            layer = lib.nn.utils.parametrizations.orthogonal(
                lib.nn.Linear(columns, rows, bias=False), orthogonal_map=name
            )
            out.append(layer.weight)
            layer.weight = lib.eye(rows, columns)
            out.append(layer.weight)
    return out


@case
def weight_norm(lib):
    layer = lib.nn.utils.parametrizations.weight_norm(lib.nn.Linear(3, 4))
    out = [layer(lib.ones(1, 3)), list(layer.state_dict())]
    layer.load_state_dict({"weight_g": lib.ones(4, 1), "weight_v": lib.ones(4, 3), "bias": lib.zeros(4)})
    out += [layer.weight, copy.deepcopy(layer).weight]
    lib.nn.utils.parametrize.remove_parametrizations(layer, "weight")
    return [*out, sorted(layer.state_dict())]


@case
def spectral_norm(lib):
    layer = lib.nn.utils.parametrizations.spectral_norm(lib.nn.Conv2d(3, 4, 3))
    out = [layer(lib.ones(1, 3, 5, 5)), list(layer.state_dict()), layer.eval().weight]
    old = lib.nn.utils.spectral_norm(lib.nn.Linear(3, 4))
    out += [old(lib.ones(1, 3)), list(old.state_dict())]
    return [*out, list(lib.nn.utils.remove_spectral_norm(old).state_dict())]


@case
def pruning(lib):
    prune = importlib.import_module(lib.__name__ + ".nn.utils.prune")
    layer = lib.nn.Linear(6, 4)
    prune.random_unstructured(layer, "weight", 0.3)
    prune.l1_unstructured(layer, "weight", 3)
    prune.ln_structured(layer, "weight", 1, 2, 0)
    prune.random_structured(layer, "weight", 1, 1)
    out = [layer.weight_mask, layer(lib.ones(1, 6)), list(layer.state_dict()), prune.is_pruned(layer)]
    prune.remove(layer, "weight")
    return [*out, layer.weight, list(layer.state_dict())]


@case
def fused_batch_norm(lib):
    model = lib.nn.Sequential(lib.nn.Conv2d(2, 3, 3), lib.nn.BatchNorm2d(3))
    model(lib.randn(4, 2, 5, 5))
    fused = lib.nn.utils.fuse_conv_bn_eval(*model.eval())
    return [fused(lib.ones(1, 2, 4, 4)), model(lib.ones(1, 2, 4, 4))]


@case
def packed_sequences(lib):
    rnn = lib.nn.utils.rnn
    sequences = [lib.arange(3.0), lib.arange(5.0), lib.arange(1.0)]
    packed = rnn.pack_sequence([each[:, None] for each in sequences], enforce_sorted=False)
    out = [*packed, *rnn.pad_packed_sequence(packed, batch_first=True, padding_value=-1, total_length=7)]
    return [*out, *rnn.unpack_sequence(packed), rnn.pad_sequence(sequences, padding_side="left")]


@case
def recurrent_layers(lib):
    rnn, out = lib.nn.utils.rnn, []
    packed = rnn.pack_sequence([lib.arange(float(n))[:, None] for n in (3, 5, 1)], enforce_sorted=False)
    for name in ("RNN", "LSTM", "GRU"):
        layer = getattr(lib.nn, name)(1, 3, 2, bidirectional=True, dropout=0.5)
        for given in (packed, lib.ones(4, 2, 1)):
            output, hidden = layer(given)
            out += [getattr(output, "data", output), *(hidden if isinstance(hidden, tuple) else (hidden,))]
    return out


@case
def attention_with_every_mask(lib):
    out = []
    for batch_first in (False, True):
        layer = lib.nn.MultiheadAttention(4, 2, batch_first=batch_first, add_bias_kv=True, add_zero_attn=True).eval()
        x = lib.randn(3, 3, 4)
        padding = lib.tensor([[False, False, True]] * 3)
        causal = lib.ones(3, 3).triu(1) > 0
        for masks in (
            {},
            {"key_padding_mask": padding},
            {"attn_mask": causal},
            {"key_padding_mask": padding, "attn_mask": causal},
        ):
            out += layer(x, x, x, **masks)
    return out


@case
def resizing(lib):
    out, x = [], lib.randn(1, 2, 5, 4)
    for mode in ("nearest", "nearest-exact", "bilinear", "bicubic", "area"):
        for size in ((3, 7), (8, 2)):
            out.append(lib.nn.functional.interpolate(x, size, mode=mode))
    for mode in ("bilinear", "bicubic"):
        out.append(lib.nn.functional.interpolate(x, scale_factor=1.7, mode=mode, align_corners=True))
        out.append(lib.nn.functional.interpolate(x, (3, 2), mode=mode, antialias=True))
    return out


@case
def connectionist_loss(lib):
    scores = lib.randn(6, 2, 4, requires_grad=True)
    targets = lib.tensor([[1, 1, 3], [2, 3, 0]])
    loss = lib.nn.functional.ctc_loss(scores.log_softmax(2), targets, lib.tensor([6, 5]), lib.tensor([3, 2]))
    loss.backward()
    return [loss, scores.grad]


@case
def losses(lib):
    functional, out = lib.nn.functional, []
    x, y = lib.randn(4, 5), lib.rand(4, 5)
    classes = lib.tensor([0, 4, 2, 1])
    for name in ("l1_loss", "mse_loss", "huber_loss", "smooth_l1_loss", "kl_div", "poisson_nll_loss"):
        out.append(getattr(functional, name)(x, y))
    out.append(functional.cross_entropy(x, classes, label_smoothing=0.1, weight=lib.rand(5)))
    out.append(functional.cross_entropy(x, y.softmax(1)))
    out.append(functional.binary_cross_entropy(x.sigmoid(), y))
    out.append(functional.binary_cross_entropy_with_logits(x, y, pos_weight=lib.rand(5)))
    out.append(functional.multi_margin_loss(x, classes, p=2))
    out.append(functional.multilabel_margin_loss(x, lib.tensor([[0, 2, -1, 1, 1]] * 4)))
    out.append(functional.gaussian_nll_loss(x, y, y + 0.1, full=True))
    out.append(functional.triplet_margin_loss(x, y, y * 2, swap=True))
    out.append(functional.gumbel_softmax(x, hard=True))
    return out


@case
def bags(lib):
    out, table = [], lib.randn(6, 3)
    for mode in ("sum", "mean", "max"):
        out.append(lib.nn.functional.embedding_bag(lib.tensor([[1, 2], [3, 0]]), table, mode=mode))
        out.append(
            lib.nn.functional.embedding_bag(
                lib.tensor([1, 2, 5, 0]), table, lib.tensor([0, 3, 3]), mode=mode, padding_idx=5
            )
        )
    return out


@case
def blocks_and_shuffles(lib):
    functional, x = lib.nn.functional, lib.randn(1, 4, 6, 6)
    columns = functional.unfold(x, 3, dilation=2, padding=1, stride=2)
    out = [columns, functional.fold(columns, 6, 3, dilation=2, padding=1, stride=2), functional.pixel_shuffle(x, 2)]
    out += [functional.pixel_unshuffle(x, 2), functional.channel_shuffle(x, 2), functional.local_response_norm(x, 3)]
    return [*out, functional.affine_grid(lib.randn(1, 2, 3), (1, 1, 3, 4), align_corners=False)]


@case
def functional_calls(lib):
    stateless = importlib.import_module(lib.__name__ + ".nn.utils.stateless")
    model = lib.nn.Sequential(lib.nn.Linear(3, 3), lib.nn.Linear(3, 3))
    model[1].weight = model[0].weight
    given = {"0.weight": lib.ones(3, 3), "0.bias": lib.zeros(3), "1.bias": lib.zeros(3)}
    return [stateless._functional_call(model, given, lib.ones(1, 3)), model[0].weight]


def as_plain(value):
    return np.asarray(value.detach().numpy()) if hasattr(value, "detach") else value


@pytest.mark.parametrize("name", CASES)
def test_same_as_torch(name):
    results = []
    for lib in (torch, flambeau):
        lib.manual_seed(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results.append([as_plain(value) for value in CASES[name](lib)])
    expected, got = results
    assert len(expected) == len(got)
    for place, (want, have) in enumerate(zip(expected, got, strict=True)):
        if isinstance(want, np.ndarray):
            np.testing.assert_allclose(have, want, rtol=1e-5, atol=1e-5, err_msg=f"result {place}")
        else:
            assert have == want, place
