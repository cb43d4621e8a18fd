"""A small Hugging Face hub in this process: repositories of a few files, some of them gated."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class Hub:
    """A running hub and what was fetched from it."""

    repositories: dict[str, dict[str, bytes]]
    gated: frozenset[str]
    url: str = ""
    fetched: list[str] = field(default_factory=list)
    tokens: set[str | None] = field(default_factory=set)


@contextmanager
def hub(repositories: dict[str, dict[str, bytes]], gated: frozenset[str]) -> Iterator[Hub]:
    """Serve `repositories` (name to files) until the block ends."""
    running = Hub(repositories, gated)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(running))
    server.daemon_threads = True
    running.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield running
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(running: Hub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self._answer(send_body=False)

        def do_GET(self) -> None:
            self._answer(send_body=True)

        def _answer(self, *, send_body: bool) -> None:
            path = self.path.partition("?")[0].strip("/").split("/")
            is_api = path[:2] == ["api", "models"]
            path = path[2:] if is_api else path
            name, rest = "/".join(path[:2]), path[2:]
            files = running.repositories.get(name)
            if files is not None:
                running.tokens.add(self.headers.get("Authorization"))
            if files is None:
                self._send(404, b"{}", {"X-Error-Code": "RepoNotFound"}, send_body)
            elif is_api:
                self._send(200, json.dumps(_about(name, files, rest)).encode(), {}, send_body)
            elif name in running.gated:
                self._send(403, b"{}", {"X-Error-Code": "GatedRepo"}, send_body)
            else:
                data = files["/".join(rest[2:])]
                if send_body:
                    running.fetched.append("/".join([name, *rest[2:]]))
                digest = hashlib.sha1(data).hexdigest()
                headers = {"ETag": f'"{digest}"', "X-Repo-Commit": COMMIT}
                self._send(200, data, headers, send_body)

        def _send(self, status: int, data: bytes, headers: dict[str, str], body: bool) -> None:
            self.send_response(status)
            for key, value in {**headers, "Content-Length": str(len(data))}.items():
                self.send_header(key, value)
            self.end_headers()
            if body:
                self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    return Handler


def _about(name: str, files: dict[str, bytes], rest: list[str]) -> object:
    if rest[:1] == ["tree"]:
        return [
            {
                "type": "file",
                "path": path,
                "size": len(data),
                "oid": hashlib.sha1(data).hexdigest(),
            }
            for path, data in files.items()
        ]
    return {"id": name, "sha": COMMIT, "siblings": [{"rfilename": path} for path in files]}
