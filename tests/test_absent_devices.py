"""Devices that are not here: programs written for them run on, or fail as they do under PyTorch for the CPU."""

import pytest

import flambeau

torch = pytest.importorskip("torch")

CALLS = [
    lambda t: t.cuda.is_available(),
    lambda t: t.cuda.device_count(),
    lambda t: t.cuda.is_initialized(),
    lambda t: t.cuda.is_bf16_supported(),
    lambda t: t.cuda.current_device(),
    lambda t: t.cuda.synchronize(),
    lambda t: t.cuda.get_device_name(0),
    lambda t: t.cuda.get_device_properties(0),
    lambda t: t.cuda.manual_seed(1),
    lambda t: t.cuda.manual_seed_all(1),
    lambda t: t.cuda.get_rng_state(),
    lambda t: t.cuda.get_rng_state_all(),
    lambda t: t.cuda.set_rng_state_all([]),
    lambda t: t.cuda.empty_cache(),
    lambda t: t.cuda.memory_allocated(),
    lambda t: t.cuda.max_memory_allocated(0),
    lambda t: t.cuda.max_memory_reserved(),
    lambda t: dict(t.cuda.memory_stats()),
    lambda t: t.cuda.get_arch_list(),
    lambda t: t.cuda.Event(),
    lambda t: t.cuda.Event(enable_timing=True),
    lambda t: t.cuda.Stream(),
    lambda t: t.cuda.stream(None).__enter__(),
    lambda t: t.cuda.device(0).__enter__(),
    lambda t: t.cuda.device("cpu").__enter__(),
    lambda t: t.cuda.init(),
    lambda t: t.cuda._lazy_init(),
    lambda t: t.cuda.default_generators,
    lambda t: t.mps.is_available(),
    lambda t: t.mps.device_count(),
    lambda t: t.mps.manual_seed(0),
    lambda t: t.mps.synchronize(),
    lambda t: t.mps.empty_cache(),
    lambda t: t.mps.current_allocated_memory(),
    lambda t: t.mps.Event(),
    lambda t: t.xpu.is_available(),
    lambda t: t.xpu.device_count(),
    lambda t: t.xpu.manual_seed(0),
    lambda t: t.xpu.current_device(),
    lambda t: t.xpu.synchronize(),
    lambda t: t.cpu.is_available(),
    lambda t: t.cpu.device_count(),
    lambda t: t.cpu.current_device(),
    lambda t: t.cpu.synchronize(),
    lambda t: t.accelerator.is_available(),
    lambda t: t.accelerator.device_count(),
    lambda t: t.accelerator.current_accelerator(),
    lambda t: t.accelerator.current_accelerator(True),
    lambda t: t.accelerator.synchronize(),
    lambda t: t.accelerator.current_device_index(),
    lambda t: t.accelerator.memory_allocated(),
    lambda t: t.backends.cudnn.is_available(),
    lambda t: t.backends.cudnn.version(),
    lambda t: t.backends.cudnn.enabled,
    lambda t: t.backends.cudnn.benchmark,
    lambda t: t.backends.cudnn.deterministic,
    lambda t: t.backends.mps.is_available(),
    lambda t: t.backends.mps.is_built(),
    lambda t: t.backends.cuda.is_built(),
    lambda t: t.backends.cuda.matmul.allow_tf32,
    lambda t: t.backends.cuda.flash_sdp_enabled(),
    lambda t: t.backends.mkldnn.is_available(),
    lambda t: t.backends.mkldnn.enabled,
    lambda t: t.backends.cpu.get_cpu_capability(),
    lambda t: t.backends.mha.get_fastpath_enabled(),
]


def outcome(library, call):
    try:
        return call(library)
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("call", CALLS)
def test_answers_as_pytorch_for_the_cpu(call):
    assert outcome(flambeau, call) == outcome(torch, call)


def test_cudnn_switches():
    cudnn = flambeau.backends.cudnn
    with cudnn.flags(enabled=False, benchmark=True):
        assert (cudnn.enabled, cudnn.benchmark) == (False, True)
    assert (cudnn.enabled, cudnn.benchmark) == (True, False)
    before = cudnn.set_flags(_deterministic=True)
    assert cudnn.deterministic and not before[3]
    cudnn.set_flags(_deterministic=False)
    cudnn.benchmark = True
    assert cudnn.benchmark
    cudnn.benchmark = False


def test_attention_switches():
    cuda = flambeau.backends.cuda
    with cuda.sdp_kernel(enable_flash=False):
        assert not cuda.flash_sdp_enabled()
    assert cuda.flash_sdp_enabled()


def test_names_that_do_not_exist():
    for module in (flambeau.cuda, flambeau.backends):
        with pytest.raises(AttributeError):
            _ = module.no_such_name
