"""A small server on loopback that answers as the Hugging Face Hub does, with faults on demand."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

PAGE = 7
"""Entries a page of a listing, so that every listing here has several pages."""


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def git_blob(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


@dataclass
class Fault:
    """What goes wrong with one file.

    kind: ``404``; ``other``: other bytes of the same length; ``drop``: the connection closes after ``after``
    bytes of a body; ``short``: the server says and sends fewer bytes; ``500``; ``no-range``: Range is ignored.
    times: for how many requests; then all is well.
    """

    kind: str
    after: int = 0
    times: int = 1_000


@dataclass
class Repository:
    """Commits, oldest first: full id -> path -> bytes. Paths ending in .png or .parquet are large files (LFS)."""

    commits: dict[str, dict[str, bytes]]
    faults: dict[str, Fault] = field(default_factory=dict)
    lfs: bool = True

    @property
    def head(self) -> str:
        return list(self.commits)[-1]

    def is_lfs(self, path: str) -> bool:
        return self.lfs and path.endswith((".png", ".parquet"))


class HubServer:
    """Repositories by (kind, name), and every request that came: (method, path, Range)."""

    def __init__(self) -> None:
        self.repositories: dict[tuple[str, str], Repository] = {}
        self.requests: list[tuple[str, str, str]] = []
        self.endpoint = ""

    def bodies(self) -> list[tuple[str, str]]:
        """The file contents that were asked for: (path, Range), without listings and redirects."""
        return [(path.split("/", 3)[3], span) for method, path, span in self.requests if path.startswith("/cdn/")]

    @contextmanager
    def running(self) -> Iterator[HubServer]:
        server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": self}))
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        self.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()
            thread.join(5)


class _Handler(BaseHTTPRequestHandler):
    hub: HubServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *args: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def do_GET(self) -> None:
        self.answer(body=True)

    def answer(self, body: bool) -> None:
        url = urlsplit(self.path)
        path = unquote(url.path)
        self.hub.requests.append((self.command, path, self.headers.get("Range", "")))
        if path.startswith("/cdn/"):
            return self.content(*path.removeprefix("/cdn/").split("/", 2), body=body)
        if path.startswith("/api/"):
            return self.api(path.removeprefix("/api/"), parse_qs(url.query))
        kind = "datasets" if path.startswith("/datasets/") else "models"
        name, _, rest = path.removeprefix("/datasets").removeprefix("/").partition("/resolve/")
        return self.resolve(kind, name, *rest.split("/", 1), body=body)

    def api(self, path: str, query: dict[str, list[str]]) -> None:
        kind, organisation, name, *rest = path.split("/")
        repository = self.hub.repositories.get((kind, f"{organisation}/{name}"))
        if repository is None:
            return self.fail(401, "RepoNotFound")
        action, revision = rest if rest else ("revision", "main")
        commit = repository.head if revision == "main" else revision
        if commit not in repository.commits:
            return self.fail(404, "RevisionNotFound")
        if action == "revision":
            return self.send_json({"id": f"{organisation}/{name}", "sha": commit, "siblings": [], "tags": []})
        if action == "commits":
            ids = list(repository.commits)
            ids = ids[: ids.index(commit) + 1][::-1]
            listed = [
                {"id": one, "authors": [], "date": "2025-06-13T00:00:00.000Z", "title": "t", "message": ""}
                for one in ids
            ]
            return self.send_page(listed, query)
        assert action == "tree"
        return self.send_page(_entries(repository, commit), query)

    def resolve(self, kind: str, name: str, commit: str, path: str, *, body: bool) -> None:
        repository = self.hub.repositories.get((kind, name))
        if repository is None:
            return self.fail(401, "RepoNotFound")
        files = repository.commits.get(commit)
        fault = repository.faults.get(path)
        if files is None:
            return self.fail(404, "RevisionNotFound")
        if path not in files or (fault and fault.kind == "404"):
            return self.fail(404, "EntryNotFound")
        self.send_response(302)
        self.send_header("Location", f"{self.hub.endpoint}/cdn/{kind}+{name.replace('/', '+')}/{commit}/{path}")
        self.send_header("X-Repo-Commit", commit)
        self.send_header("X-Linked-Etag", f'"{sha256(files[path])}"')
        self.send_header("X-Linked-Size", str(len(files[path])))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def content(self, repo: str, commit: str, path: str, *, body: bool) -> None:
        kind, organisation, name = repo.split("+")
        repository = self.hub.repositories[kind, f"{organisation}/{name}"]
        data = repository.commits[commit][path]
        fault = repository.faults.get(path)
        if fault is not None and fault.times > 0 and body:
            fault.times -= 1
        else:
            fault = None
        if fault is not None and fault.kind == "500":
            return self.fail(500, "")
        if fault is not None and fault.kind == "other":
            data = bytes(byte ^ 1 for byte in data)
        start = self.range_start() if not (fault and fault.kind == "no-range") else 0
        status, rest = (206, data[start:]) if start else (200, data)
        if fault is not None and fault.kind == "short":
            rest = rest[: fault.after]
        self.send_response(status)
        if status == 206:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        self.send_header("Content-Length", str(len(rest)))
        self.send_header("ETag", f'"{sha256(data)}"')
        self.end_headers()
        if body and fault is not None and fault.kind == "drop":
            self.wfile.write(rest[: fault.after])
            self.wfile.flush()
            self.close_connection = True
            return None
        if body:
            self.wfile.write(rest)
        return None

    def range_start(self) -> int:
        span = self.headers.get("Range", "")
        return int(span.removeprefix("bytes=").rstrip("-")) if span.endswith("-") else 0

    def send_page(self, entries: list[dict[str, object]], query: dict[str, list[str]]) -> None:
        start = int(query.get("cursor", ["0"])[0])
        link = ""
        if start + PAGE < len(entries):
            link = f'<{self.hub.endpoint}{urlsplit(self.path).path}?cursor={start + PAGE}>; rel="next"'
        self.send_json(entries[start : start + PAGE], link)

    def send_json(self, value: object, link: str = "") -> None:
        text = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        if link:
            self.send_header("Link", link)
        self.end_headers()
        self.wfile.write(text)

    def fail(self, status: int, code: str) -> None:
        self.send_response(status)
        if code:
            self.send_header("X-Error-Code", code)
        self.send_header("Content-Length", "0")
        self.end_headers()


def _entries(repository: Repository, commit: str) -> list[dict[str, object]]:
    files = repository.commits[commit]
    folders = sorted({path.rsplit("/", 1)[0] for path in files if "/" in path})
    entries: list[dict[str, object]] = [{"type": "directory", "path": path, "oid": "0" * 40} for path in folders]
    for path, data in sorted(files.items()):
        entry: dict[str, object] = {"type": "file", "path": path, "size": len(data), "oid": git_blob(data)}
        if repository.is_lfs(path):
            # As the hub has it: `oid` is then the pointer's, not the content's.
            entry["oid"] = git_blob(b"pointer of " + path.encode())
            entry["lfs"] = {"oid": sha256(data), "size": len(data), "pointerSize": 130}
        entries.append(entry)
    return entries
