"""Loading data: datasets, samplers and the loader."""

from typing import Any

from ._utils.worker import get_worker_info
from .dataloader import DataLoader, _DatasetKind, default_collate, default_convert
from .dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from .distributed import DistributedSampler
from .sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "IterDataPipe",
    "IterableDataset",
    "MapDataPipe",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "_DatasetKind",
    "default_collate",
    "default_convert",
    "functional_datapipe",
    "get_worker_info",
    "random_split",
]


def __getattr__(name: str) -> Any:
    # Few programs chain data pipes.
    if name in ("IterDataPipe", "MapDataPipe", "functional_datapipe"):
        from .datapipes import datapipe

        return getattr(datapipe, name)
    if name == "datapipes":
        import importlib

        return importlib.import_module(".datapipes", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
