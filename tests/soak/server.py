"""A language model server that is slow, fails, cuts connections and restarts, on one port.

It speaks OpenAI's protocol. What it answers depends on the question alone, so that the answers of a
run with it can be compared with those of a run with a calm one.
"""

from __future__ import annotations

import hashlib
import json
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Mood:
    """Shares of requests that end badly, and seconds."""

    slow: float = 0.0  # at most so long before an answer
    failing: float = 0.0
    busy: float = 0.0
    cutting: float = 0.0
    up: float = 0.0  # between two restarts; 0 never restarts
    down: float = 0.0


CALM = Mood()
WILD = Mood(slow=0.03, failing=0.04, busy=0.02, cutting=0.02, up=0.7, down=0.15)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def handle_error(self, *_: Any) -> None:
        pass  # clients are killed here


def answer_to(messages: Any) -> str:
    return hashlib.sha256(json.dumps(messages).encode()).hexdigest()[:12]


def handler(mood: Mood, draw: random.Random) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            time.sleep(draw.uniform(0, mood.slow))
            fate = draw.random()
            if fate < mood.failing:
                self._give(500, {"error": "out of order"})
            elif fate < mood.failing + mood.busy:
                self._give(429, {"error": "too many"})
            elif fate < mood.failing + mood.busy + mood.cutting:
                self.close_connection = True
            else:
                message = {"content": answer_to(body["messages"])}
                usage = {"prompt_tokens": 1, "completion_tokens": 1}
                self._give(200, {"choices": [{"message": message}], "usage": usage})

        def _give(self, status: int, value: Any) -> None:
            data = json.dumps(value).encode()
            self.send_response(status)
            if status == 429:
                self.send_header("Retry-After", "0")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


@contextmanager
def serving(mood: Mood, seed: int = 0) -> Iterator[str]:
    """The address up to /v1 of a server in this mood."""
    kind = handler(mood, random.Random(seed))
    server = Server(("127.0.0.1", 0), kind)
    port, over = server.server_address[1], threading.Event()

    def live() -> None:
        nonlocal server
        while not over.is_set():
            threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
            over.wait(mood.up or None)
            server.shutdown()
            server.server_close()
            if not over.is_set():
                over.wait(mood.down)
                server = Server(("127.0.0.1", port), kind)

    life = threading.Thread(target=live, daemon=True)
    life.start()
    try:
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        over.set()
        life.join(10)
