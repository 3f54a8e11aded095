"""What all tests share. PyTorch is the oracle: tests compare with it, the package never imports it."""

from __future__ import annotations

import importlib
import os

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: takes more than a few seconds")


def pytest_report_header() -> list[str]:
    """Say which build is tested: the installed one, unless PYTHONPATH puts a developer's in front."""
    lines = []
    for name in ("flambeau", "torch"):
        try:
            module = importlib.import_module(name)
            lines.append(f"{name} {module.__version__} from {os.path.dirname(module.__file__ or '')}")
        except (ImportError, AttributeError) as error:
            lines.append(f"{name}: not available ({error})")
    return lines


@pytest.fixture(autouse=True)
def seeded() -> None:
    """Start each test from the same random state in both libraries."""
    for name in ("flambeau", "torch"):
        try:
            library = importlib.import_module(name)
            library.manual_seed(0)
        except (ImportError, AttributeError):  # a part of the package under test on its own, or no oracle
            continue
