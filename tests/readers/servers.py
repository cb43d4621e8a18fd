"""Language model servers in this process that speak the real protocols, and misbehave on demand."""

from __future__ import annotations

import io
import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Body = dict[str, Any]


@dataclass
class Said:
    """One HTTP reply: `cut` closes the connection after half the body, `reset` without a word.

    `drip` is the seconds between two bytes of the body.
    """

    body: Any = None
    status: int = 200
    cut: bool = False
    reset: bool = False
    drip: float = 0.0
    headers: dict[str, str] = field(default_factory=dict)


Answer = Callable[[str, Body], Said]


@dataclass
class Server:
    """A running server and what it was asked."""

    url: str
    asked: list[Body] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)


def in_turn(*said: Said | Callable[[], Said]) -> Answer:
    """An `answer` that gives these one after the other, the last one for good."""
    left, lock = list(said), threading.Lock()

    def answer(path: str, body: Body) -> Said:
        with lock:
            one = left.pop(0) if len(left) > 1 else left[0]
        return one() if callable(one) else one

    return answer


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def serving(answer: Answer, port: int = 0) -> Iterator[Server]:
    """A server that gives what `answer(path, body)` says; its event ends any stalling."""
    server = Server("")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            size = int(self.headers["Content-Length"])
            body = json.loads(self.rfile.read(size))
            server.asked.append(body)
            server.headers.append(dict(self.headers))
            self._give(answer(self.path, body))

        def do_GET(self) -> None:
            self._give(answer(self.path, {}))

        def _give(self, said: Said) -> None:
            data = said.body if isinstance(said.body, bytes) else json.dumps(said.body).encode()
            if said.reset:
                linger = struct.pack("ii", 1, 0)
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                self.close_connection = True
                self.wfile = io.BytesIO()
                self.connection.close()
                return
            self.send_response(said.status)
            for name, value in said.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if said.drip:
                for place in range(len(data)):
                    self.wfile.write(data[place : place + 1])
                    if server.released.wait(said.drip):
                        break
                return
            self.wfile.write(data[: len(data) // 2] if said.cut else data)
            self.close_connection = said.cut

        def log_message(self, *_: Any) -> None:
            pass

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: Any) -> None:
            pass  # a client that gave up is what some tests want

    running = Quiet(("127.0.0.1", port), Handler)
    server.url = f"http://127.0.0.1:{running.server_address[1]}"
    thread = threading.Thread(target=running.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        running.shutdown()
        running.server_close()
        thread.join()


def ollama_reply(text: str, **more: Any) -> Body:
    """What `/api/chat` answers when it does not stream."""
    return {
        "model": "tiny",
        "created_at": "2025-01-01T00:00:00Z",
        "message": {"role": "assistant", "content": text},
        "done": True,
        "done_reason": "stop",
        "total_duration": 5_000_000,
        "load_duration": 1_000_000,
        "prompt_eval_count": 150,
        "eval_count": 3,
        **more,
    }


def openai_reply(text: Any, **more: Any) -> Body:
    """What `/v1/chat/completions` answers."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 90, "completion_tokens": 3, "total_tokens": 93},
        **more,
    }
