"""The workflow of FlexBench: run folders with their manifest, groups, tables over seeds and configs.

`evaluate` scores a run, `combine` merges the groups' own files, `merge_seeds` and `merge_configs` make the summaries.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pixelgate.flexbench.choices import Choices
    from pixelgate.flexbench.combined import combine
    from pixelgate.flexbench.configs import merge_configs
    from pixelgate.flexbench.evaluated import Evaluated
    from pixelgate.flexbench.evaluating import evaluate, evaluate_group
    from pixelgate.flexbench.seeds import merge_seeds

__all__ = ["Choices", "Evaluated", "combine", "evaluate", "evaluate_group", "merge_configs", "merge_seeds"]

_HOMES = {
    "Choices": "choices",
    "Evaluated": "evaluated",
    "combine": "combined",
    "evaluate": "evaluating",
    "evaluate_group": "evaluating",
    "merge_configs": "configs",
    "merge_seeds": "seeds",
}


def __getattr__(name: str) -> Any:
    # Loaded when they are asked for: pixelgate.layout reads folders with this package at every start of pytest.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
