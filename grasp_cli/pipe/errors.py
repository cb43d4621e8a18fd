"""Every error that grasp raises on purpose, and the exit code each one ends with.

GraspError            1    a bug, unless a subclass says otherwise
├── UsageError        2    the command line does not make sense
├── MissingError      3    an extra, a model or a server is not there
├── DataError         4    the input cannot be read, or there is none
├── ProcessingError   5    the work itself failed
├── GateError         8    a quality gate was not met
├── PipeClosed        141  whoever read our output went away (silent)
└── RecordError       7    one record cannot be processed; it travels on with `error`
    ├── ServerMissing 3    the server that the record needs is not there
    │   └── ServerGone     it has failed so often in a row that it is asked no more
    └── TooSlow       5    no answer within the time allowed

Interrupted         128 + N, for signal N: somebody wants us to stop; no `Exception`, so nothing
                    between the place and `main` takes it for a failure

A message is one sentence that says what happened, where, and what to do next.
"""

from __future__ import annotations

INTERRUPTED = 130  # also what Ctrl-C ends with where no handler of ours is installed


class GraspError(Exception):
    """Base class; `exit_code` is what the process ends with."""

    exit_code = 1


class UsageError(GraspError):
    """The command line does not make sense."""

    exit_code = 2


class MissingError(GraspError):
    """Something to install, download or start is missing."""

    exit_code = 3


class DataError(GraspError):
    """The input data cannot be read, contradicts itself, or is absent."""

    exit_code = 4


class ProcessingError(GraspError):
    """The work failed for a reason that is neither usage nor data."""

    exit_code = 5


class GateError(GraspError):
    """A quality gate (`evaluate --min`) was not met."""

    exit_code = 8


class PipeClosed(GraspError):
    """The reader of our standard output has gone away."""

    exit_code = 141


class RecordError(GraspError):
    """One record cannot be processed; the others can.

    A stage returns (not raises) it in the record's place, and the engine writes the record with
    `error: {stage, type, message, retryable}`. `retryable`: a later run may succeed; `again`: the
    same request is worth repeating in this one, after `wait` seconds where the server said so.
    """

    exit_code = 7
    retryable = False
    again = False
    wait: float | None = None

    def __init__(self, message: str, *, kind: str | None = None) -> None:
        super().__init__(message)
        self.kind = kind or type(self).__name__


class ServerMissing(RecordError):
    """The server, or the model on it, is not there; another try may succeed."""

    exit_code = 3
    retryable = True


class ServerGone(ServerMissing):
    """The server has failed so often in a row that it is asked no more in this run."""


class TooSlow(RecordError):
    """No answer within the time allowed; another try may succeed."""

    exit_code = 5
    retryable = True


class Interrupted(BaseException):
    """A signal (SIGINT, SIGTERM) asks us to stop."""

    def __init__(self, signal: int) -> None:
        super().__init__(f"stopped by signal {signal}")
        self.exit_code = 128 + signal


def exit_code_of(error: BaseException) -> int:
    """What the process ends with when `error` is raised."""
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    code = getattr(error, "exit_code", 1)  # also of typer.Exit
    return code if isinstance(code, int) else 1
