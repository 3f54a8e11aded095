"""A line search for the strong Wolfe conditions (Nocedal and Wright, algorithms 3.5 and 3.6)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .. import Tensor

# The loss must fall by this share of what the slope promises, and the slope must flatten to this share.
_DECREASE = 1e-4
_CURVATURE = 0.9
_MAX_STEPS = 25
_LEAST_CHANGE = 1e-9


@dataclass
class _Point:
    """A place on the line: step size, loss, gradient, and the slope along the line."""

    size: Any
    loss: float
    gradient: Tensor
    slope: Any


def strong_wolfe(
    evaluate: Callable[[Any], tuple[float, Tensor]],
    size: Any,
    direction: Tensor,
    loss: float,
    gradient: Tensor,
    slope: Any,
) -> tuple[float, Tensor, Any, int]:
    """(loss, gradient, step size, evaluations) at a step that satisfies the conditions, or at the best one tried.

    ``evaluate(size)`` gives loss and gradient there; ``loss``, ``gradient`` and ``slope`` are those at 0.
    """
    start = _Point(0, loss, gradient.clone(), slope)
    evaluations = 0

    def visit(at: Any) -> _Point:
        nonlocal evaluations
        evaluations += 1
        value, gradient_there = evaluate(at)
        return _Point(at, value, gradient_there, gradient_there.dot(direction))

    low, high, tried, is_done = _bracket(visit, start, size)
    if not is_done:
        low = _zoom(visit, start, low, high, tried, direction.abs().max())
    return low.loss, low.gradient, low.size, evaluations


def _falls_enough(start: _Point, point: _Point) -> bool:
    return point.loss <= start.loss + _DECREASE * point.size * start.slope


def _is_flat_enough(start: _Point, point: _Point) -> bool:
    return abs(point.slope) <= -_CURVATURE * start.slope


def _bracket(visit: Callable[[Any], _Point], start: _Point, size: Any) -> tuple[_Point, _Point, int, bool]:
    """(two points that enclose a good one, steps taken, whether the first is good already), by growing the step."""
    previous, point = start, visit(size)
    for tried in range(_MAX_STEPS):
        if not _falls_enough(start, point) or (tried > 1 and point.loss >= previous.loss):
            return previous, point, tried, False
        if _is_flat_enough(start, point):
            return point, point, tried, True
        if point.slope >= 0:
            return previous, point, tried, False
        least = point.size + 0.01 * (point.size - previous.size)
        next_size = _cubic_minimum(previous, point, (least, point.size * 10))
        previous, point = point, visit(next_size)
    return start, point, _MAX_STEPS, False


def _zoom(
    visit: Callable[[Any], _Point], start: _Point, first: _Point, second: _Point, tried: int, largest: Any
) -> _Point:
    """The best point found by narrowing the bracket."""
    low, high = (first, second) if first.loss <= second.loss else (second, first)
    # Points keep their order along the bracket, because interpolation is not quite symmetric in them.
    is_swapped = low is second
    made_little_progress = False
    while tried < _MAX_STEPS and abs(high.size - low.size) * largest >= _LEAST_CHANGE:
        pair = (high, low) if is_swapped else (low, high)
        size = _cubic_minimum(*pair)
        left, right = min(low.size, high.size), max(low.size, high.size)
        margin = 0.1 * (right - left)
        if min(right - size, size - left) < margin:
            # Close to an end: allowed once, then moved inwards.
            if made_little_progress or size >= right or size <= left:
                size = right - margin if abs(size - right) < abs(size - left) else left + margin
                made_little_progress = False
            else:
                made_little_progress = True
        else:
            made_little_progress = False
        point = visit(size)
        tried += 1
        if not _falls_enough(start, point) or point.loss >= low.loss:
            pair = (point, low) if is_swapped else (low, point)
            is_swapped = pair[0].loss > pair[1].loss
            low, high = (pair[1], pair[0]) if is_swapped else pair
            continue
        if _is_flat_enough(start, point):
            return point
        if point.slope * (high.size - low.size) >= 0:
            high = low
        low = point
    return low


def _cubic_minimum(a: _Point, b: _Point, bounds: tuple[Any, Any] | None = None) -> Any:
    """The minimum, within ``bounds``, of the cubic through both points with their slopes."""
    least, most = bounds if bounds is not None else (min(a.size, b.size), max(a.size, b.size))
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.size - b.size)
    square = d1 * d1 - a.slope * b.slope
    if square < 0:
        return (least + most) / 2.0
    d2 = square**0.5
    if a.size <= b.size:
        place = b.size - (b.size - a.size) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    else:
        place = a.size - (a.size - b.size) * ((a.slope + d2 - d1) / (a.slope - b.slope + 2 * d2))
    return min(max(place, least), most)
