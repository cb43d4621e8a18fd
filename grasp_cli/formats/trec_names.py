"""Ids as the files of TREC, whose columns stand between white space, can hold them."""

from __future__ import annotations

import re
from urllib.parse import quote

_SPACE = re.compile(r"\s")


def trec_name(identity: str) -> str:
    """The id with its white space as %20 and the like; any other id stays as it is."""
    return _SPACE.sub(lambda found: quote(found[0]), identity)
