"""The surroundings in which a network runs, so that nothing else in the process reaches its numbers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

# Operations for which torch may be told to use fewer bits than float32 has.
_REDUCIBLE = (("mkldnn", "conv"), ("mkldnn", "matmul"), ("cudnn", "conv"), ("cuda", "matmul"))


@contextmanager
def computing(device: torch.device, threads: int | None) -> Iterator[None]:
    """No gradients, no autocast, plain float32, and the wanted number of CPU threads.

    Args:
        device: where the network runs.
        threads: CPU threads for this Python thread's work; None leaves torch's own choice. The former number is
            put back afterwards.
    """
    import torch

    with ExitStack() as stack:
        stack.enter_context(torch.inference_mode())
        stack.enter_context(torch.autocast(device.type, enabled=False))
        stack.enter_context(_full_precision[device.type].held())
        stack.enter_context(_threads(threads))
        yield


class _FullPrecision:
    """Plain float32 for the whole process: the first of several Python threads asks for it, the last undoes it.

    cuDNN rounds a convolution's inputs to 10 bits (TF32) unless told not to, and a process may allow bfloat16
    on a CPU; either moves a distance by more than the tolerance. The settings are the process's, so a thread
    that put them back while another still computes would change that one's numbers.
    """

    def __init__(self, cuda: bool) -> None:
        self._cuda = cuda
        self._lock = threading.Lock()
        self._holders = 0
        self._undo = ExitStack()

    @contextmanager
    def held(self) -> Iterator[None]:
        with self._lock:
            if self._holders == 0:
                self._ask()
            self._holders += 1
        try:
            yield
        finally:
            with self._lock:
                self._holders -= 1
                if self._holders == 0:
                    self._undo.close()

    def _ask(self) -> None:
        from torch import backends

        if self._cuda:
            self._undo.enter_context(backends.cudnn.flags(enabled=True, deterministic=True, allow_tf32=False))
        for backend, operation in _REDUCIBLE:
            # Releases of torch before 2.9 do not have these; there the flags above are all there is.
            setting = getattr(getattr(backends, backend), operation, None)
            before = getattr(setting, "fp32_precision", "none")
            if before not in ("none", "ieee"):
                self._undo.callback(setattr, setting, "fp32_precision", before)
                setattr(setting, "fp32_precision", "ieee")  # noqa: B010


_full_precision = {"cpu": _FullPrecision(cuda=False), "cuda": _FullPrecision(cuda=True)}


@contextmanager
def _threads(count: int | None) -> Iterator[None]:
    import torch

    before = torch.get_num_threads()
    if count is None or count == before:
        yield
        return
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
