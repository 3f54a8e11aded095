"""What importlib.metadata says about ``torch``: a distribution at the version we answer for."""

import importlib
import os
from importlib.metadata import Distribution


class TorchDistribution(Distribution):
    """The ``torch`` distribution: its version is `torch.__version__`, its top-level package is ``torch``."""

    def __init__(self, package):
        self._package = package

    def read_text(self, filename):
        if filename == "METADATA":
            version = importlib.import_module("torch.version").__version__
            return f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\nSummary: flambeau, under the name torch\n"
        return {"top_level.txt": "torch\n", "INSTALLER": "flambeau\n"}.get(filename)

    def locate_file(self, path):
        from pathlib import Path

        return Path(os.path.dirname(self._package)) / path
