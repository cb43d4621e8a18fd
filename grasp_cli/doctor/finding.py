"""What was found about one thing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# ok; worth knowing; or so that the chosen profile cannot run
State = Literal["ok", "note", "bad"]


@dataclass(frozen=True)
class Finding:
    """`text` is a fact, or for another state than ok what to do about it."""

    subject: str
    name: str
    state: State
    text: str
