"""Keep secrets out of what is written: keys, tokens and passwords become `***`."""

from __future__ import annotations

import os
import re

HIDDEN = "***"
_NAMES = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD)$", re.IGNORECASE)
_SHORTEST = 6  # a value as short as "1" is no secret, and would be hidden all over a text
_SHAPES = (
    (re.compile(r"(\w+://)[^\s/@]+@"), rf"\1{HIDDEN}@"),  # https://user:password@host
    (re.compile(r"(?i)\b(bearer|basic)\s+[\w\-.~+/]{6,}=*"), rf"\1 {HIDDEN}"),
    (
        re.compile(r"(?i)([?&](?:api[_-]?key|key|(?:access_)?token|secret|password)=)[^\s&\"']+"),
        rf"\1{HIDDEN}",
    ),
    (re.compile(r"\b(sk|hf|ghp|gho|xox[abp])([-_])[\w\-]{12,}"), rf"\1\2{HIDDEN}"),
)


def masked(text: str) -> str:
    """`text` with `***` for every secret.

    Secrets are the values of environment variables that are named like one (`OPENAI_API_KEY`,
    `HF_TOKEN`, …), and what has the shape of one: a password in an address, a bearer token, the
    value of `?api_key=`, a published kind of key.
    """
    for name, value in os.environ.items():
        if _NAMES.search(name) and len(value) >= _SHORTEST and value in text:
            text = text.replace(value, HIDDEN)
    for shape, shown in _SHAPES:
        text = shape.sub(shown, text)
    return text
