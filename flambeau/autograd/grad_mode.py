"""Switching the recording of gradients on and off, as a context manager or a decorator."""

from __future__ import annotations

from .. import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = [
    "no_grad",
    "enable_grad",
    "set_grad_enabled",
    "inference_mode",
    "set_multithreading_enabled",
    "enforce_grad_layout_policy",
]

_CODE_IS_GENERATOR = 0x20


class _DecoratorContextManager:
    """A context manager that also decorates functions, generator functions and the methods of a class's instances."""

    def __enter__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} must define __enter__")

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        raise NotImplementedError(f"{type(self).__name__} must define __exit__")

    def __call__(self, orig_func: Callable) -> Callable:
        if isinstance(orig_func, type):
            import warnings

            warnings.warn(
                f"{type(self).__name__} decorates the class {orig_func.__name__}: only its constructor runs under the "
                "setting. Decorate the methods that are meant.",
                FutureWarning,
                stacklevel=2,
            )
        return _decorate(self.clone, orig_func)

    def clone(self) -> _DecoratorContextManager:
        return type(self)()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """Allows the decorator without parentheses: ``@no_grad`` as well as ``@no_grad()``."""

    def __new__(cls, orig_func: Callable | None = None) -> Any:
        if orig_func is None:
            return super().__new__(cls)
        return cls()(orig_func)


def _decorate(make_context: Callable[[], Any], func: Callable) -> Callable:
    import functools

    code = getattr(getattr(func, "__func__", func), "__code__", None)
    if code is not None and code.co_flags & _CODE_IS_GENERATOR:
        return _decorate_generator(make_context, func)

    @functools.wraps(func)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        with make_context():
            return func(*args, **kwargs)

    return decorated


def _decorate_generator(make_context: Callable[[], Any], func: Callable) -> Callable:
    """The setting holds while the generator's body runs, and never leaks to whoever iterates over it."""
    import functools

    @functools.wraps(func)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        generator = func(*args, **kwargs)
        try:
            with make_context():
                item = generator.send(None)
            while True:
                try:
                    sent = yield item
                except GeneratorExit:
                    with make_context():
                        generator.close()
                    raise
                except BaseException as error:
                    with make_context():
                        item = generator.throw(error)
                else:
                    with make_context():
                        item = generator.send(sent)
        except StopIteration as stop:
            return stop.value

    return decorated


class no_grad(_NoParamDecoratorContextManager):
    """Results inside do not require grad, whatever their inputs do.

    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.no_grad():
    ...     (x * 2).requires_grad
    False
    """

    def __enter__(self) -> None:
        self.prev = _C._is_grad_enabled()
        _C._set_grad_enabled(False)

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        _C._set_grad_enabled(self.prev)


class enable_grad(_NoParamDecoratorContextManager):
    """Recording is on inside, also within `no_grad`."""

    def __enter__(self) -> None:
        self.prev = _C._is_grad_enabled()
        _C._set_grad_enabled(True)

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        _C._set_grad_enabled(self.prev)


class set_grad_enabled(_DecoratorContextManager):
    """Sets recording to ``mode`` at once; as a context manager, until the end of the block.

    >>> with torch.set_grad_enabled(False):
    ...     torch.is_grad_enabled()
    False
    """

    def __init__(self, mode: bool) -> None:
        self.prev = _C._is_grad_enabled()
        self.mode = mode
        _C._set_grad_enabled(mode)

    def __call__(self, orig_func: Callable) -> Callable:
        # Used as a decorator, construction must not have changed anything.
        _C._set_grad_enabled(self.prev)
        return super().__call__(orig_func)

    def __enter__(self) -> None:
        _C._set_grad_enabled(self.mode)

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        _C._set_grad_enabled(self.prev)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(mode={self.mode})"

    def clone(self) -> set_grad_enabled:
        return type(self)(self.mode)


class inference_mode(_DecoratorContextManager):
    """Like `no_grad`, and results carry no version counter: they can never enter a graph later.

    ``mode=False`` leaves inference mode, and records again, inside.
    """

    def __new__(cls, mode: Any = True) -> Any:
        if isinstance(mode, bool):
            return super().__new__(cls)
        return cls()(mode)

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode

    def __enter__(self) -> None:
        self.prev = _C._is_inference_mode(), _C._is_grad_enabled()
        _C._set_inference_mode(self.mode)
        _C._set_grad_enabled(not self.mode)

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        inference, grad = self.prev
        _C._set_inference_mode(inference)
        _C._set_grad_enabled(grad)

    def clone(self) -> inference_mode:
        return type(self)(self.mode)


class _EngineOption(_DecoratorContextManager):
    """A thread-free engine setting: kept so that programs can read back what they set."""

    _current = True

    def __init__(self, mode: bool) -> None:
        self.prev = type(self)._current
        self.mode = mode
        type(self)._current = mode

    def __enter__(self) -> None:
        type(self)._current = self.mode

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        type(self)._current = self.prev

    def clone(self) -> _EngineOption:
        return type(self)(self.mode)


class set_multithreading_enabled(_EngineOption):
    """Accepted for compatibility. The backward pass runs on the calling thread on the CPU in either setting."""

    _current = True


class enforce_grad_layout_policy(_EngineOption):
    """Accepted for compatibility. A new ``.grad`` always takes its parameter's strides where they are dense."""

    _current = True

    def __init__(self, enable: bool = True) -> None:
        super().__init__(enable)
