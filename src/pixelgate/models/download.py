"""Fetching one file over HTTP with a short patience, into place only when it is whole."""

from __future__ import annotations

import http.client
import os
import queue
import tempfile
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pixelgate.errors import WeightsError

Progress = Callable[[int, int | None], None]
"""Called with (bytes so far, bytes in all or None where the server does not say)."""

_BLOCK = 1 << 18
_OFFLINE_VARIABLES = ("PIXELGATE_OFFLINE", "HF_HUB_OFFLINE")


def offline_reason() -> str | None:
    """``NAME=value`` of the environment variable that forbids downloads, or None."""
    for name in _OFFLINE_VARIABLES:
        if os.environ.get(name, "").strip().lower() in {"1", "true", "yes", "on"}:
            return f"{name}={os.environ[name]}"
    return None


def download(
    url: str,
    target: Path,
    check: Callable[[Path], None],
    *,
    timeout: float = 10.0,
    progress: Progress | None = None,
) -> None:
    """Fetch a file; it appears at its target only when it is whole and has passed the check.

    Args:
        url: where the file is.
        target: where it goes; the folder is made.
        check: given the complete file under a temporary name; raises to refuse it.
        timeout: seconds to wait for the server to be found, to answer, and for each block.
        progress: told about the bytes as they come.

    Raises:
        WeightsError: the server cannot be reached, answers with an error, stalls, or sends an incomplete file;
            or whatever the check raises. The partial file is removed.
    """
    temporary: Path | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _open(url, timeout) as response:
            handle, name = tempfile.mkstemp(prefix=f"{target.stem}.", suffix=".part", dir=target.parent)
            temporary = Path(name)
            with os.fdopen(handle, "wb") as stream:
                _copy(response, stream, progress)
        check(temporary)
        os.replace(temporary, target)
        temporary = None
    except (OSError, http.client.HTTPException) as error:  # urllib's errors and time-outs are OSErrors
        if isinstance(error, urllib.error.HTTPError):
            error.close()
        raise WeightsError(f"failed ({type(error).__name__}: {error})") from None
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _open(url: str, timeout: float) -> Any:
    # A name that no server resolves may block for minutes, and no socket time-out covers that: a thread does.
    answers: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def ask() -> None:
        try:
            answers.put(urllib.request.urlopen(url, timeout=timeout))
        except Exception as error:  # handed over to the caller
            answers.put(error)

    threading.Thread(target=ask, daemon=True, name="pixelgate-download").start()
    try:
        answer = answers.get(timeout=2 * timeout)
    except queue.Empty:
        raise TimeoutError(f"no answer in {2 * timeout:g} seconds") from None
    if isinstance(answer, Exception):
        raise answer
    return answer


def _copy(response: Any, stream: Any, progress: Progress | None) -> None:
    announced = response.headers.get("Content-Length")
    total = int(announced) if announced else None
    done = 0
    while block := response.read(_BLOCK):
        stream.write(block)
        done += len(block)
        if progress:
            progress(done, total)
    if total is not None and done != total:
        raise OSError(f"{done} of {total} bytes arrived")
