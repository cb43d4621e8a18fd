"""How a reader says that the context does not tell; evaluation reads the same table."""

from __future__ import annotations

# Lower case, without punctuation at the end; the first is the one that the strict prompt asks for.
REFUSALS: tuple[str, ...] = (
    "unanswerable",
    "the context does not say",
    "not enough information",
    "insufficient information",
    "no answer",
    "not answerable",
    "cannot be answered",
    "not mentioned",
    "not stated",
    "i do not know",
    "i don't know",
    "unknown",
)
