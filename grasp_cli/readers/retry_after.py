"""The header Retry-After (RFC 9110, 10.2.3): seconds, or the date of a better moment."""

from __future__ import annotations

import math
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime


def seconds_asked(header: str | None, sent: str | None = None) -> float | None:
    """Seconds that a server asks to wait, at least 0; None where it does not say.

    `sent` is the answer's Date header: a date is counted from the server's clock where it tells
    it, so that a wrong clock here costs nothing.
    """
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        until = _date(header)
        if until is None:
            return None
        now = (_date(sent) if sent else None) or datetime.now(timezone.utc)
        seconds = (until - now).total_seconds()
    return max(seconds, 0.0) if math.isfinite(seconds) else None


def _date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return None
    return date if date.tzinfo else date.replace(tzinfo=timezone.utc)
