"""`--max-errors N|N%`: how many failed records and unreadable lines are too many."""

from __future__ import annotations

import re
from dataclasses import dataclass

from grasp_cli.defaults import JOB
from grasp_cli.pipe.errors import ProcessingError, UsageError

_GIVEN = re.compile(r"(\d+(?:\.\d+)?)(%?)")


@dataclass(frozen=True)
class MaxErrors:
    """A number, or a share of the records."""

    given: str
    count: int | None = None
    share: float | None = None

    @classmethod
    def parse(cls, given: str) -> MaxErrors:
        """From "N" or "N%"; `UsageError` for anything else."""
        found = _GIVEN.fullmatch(given.strip())
        if found and found[2] and float(found[1]) <= 100:
            return cls(given, share=float(found[1]) / 100)
        if found and not found[2] and found[1].isdigit():
            return cls(given, count=int(found[1]))
        raise UsageError(f"--max-errors {given}: give a number of records, or a share as in 5%")

    def check(self, errors: int, records: int, *, finished: bool = False) -> None:
        """Raise `ProcessingError` where `errors` of `records` are too many.

        A share is looked at from 100 records on, and when all are read (`finished`).
        """
        few = records < JOB.rate_from and not finished
        if self.share is not None and not few and errors > self.share * records:
            self._refuse(errors, records)
        if self.count is not None and errors > self.count:
            self._refuse(errors, records)

    def _refuse(self, errors: int, records: int) -> None:
        raise ProcessingError(
            f"{errors} of {records} records failed or could not be read, more than --max-errors "
            f"{self.given}: look at their `error`, or allow more"
        )
