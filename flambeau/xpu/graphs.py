"""The graphs of `torch.xpu`."""

from .._absent_device import refusing, refusing_class

_functions = refusing(__name__, "graph_pool_handle is_current_stream_capturing", RuntimeError, "XPU device")
graph_pool_handle = _functions["graph_pool_handle"]
is_current_stream_capturing = _functions["is_current_stream_capturing"]
XPUGraph = refusing_class(__name__, "XPUGraph", RuntimeError, "XPU device")
graph = refusing_class(__name__, "graph", RuntimeError, "XPU device")

__all__ = ["XPUGraph", "graph", "graph_pool_handle", "is_current_stream_capturing"]
