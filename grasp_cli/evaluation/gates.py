"""Quality gates: `--min METRIC=VALUE`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from grasp_cli.evaluation.metrics import BY_NAME, Metric
from grasp_cli.pipe.errors import GateError, UsageError


@dataclass(frozen=True)
class Gate:
    """A metric and the least value it may have."""

    name: str
    least: float


def parse_gate(text: str, metrics: Mapping[str, Metric] = BY_NAME) -> Gate:
    """ "f1=0.4" as a gate on one of `metrics`; `UsageError` for what is none."""
    name, _, value = text.partition("=")
    metric = metrics.get(name.strip())
    if metric is None:
        raise UsageError(f'--min {text}: no metric "{name}"; there are {", ".join(metrics)}')
    try:
        least = float(value)
    except ValueError:
        raise UsageError(f"--min {text}: write METRIC=VALUE, as in {name}=0.4") from None
    if metric.unit == "share" and not 0 <= least <= 1:
        raise UsageError(f"--min {text}: {name} runs from 0 to 1, as in {name}=0.4")
    return Gate(metric.name, least)


def check_gates(gates: Iterable[Gate], rows: list[dict[str, Any]]) -> None:
    """Raise `GateError` naming every gate that a row does not meet; no value does not meet any."""
    unmet = [
        f"{row['label']}: {gate.name} is {_shown(row[gate.name])}, at least {gate.least:g} is asked"
        for gate in gates
        for row in rows
        if row[gate.name] is None or not row[gate.name] >= gate.least
    ]
    if unmet:
        raise GateError("; ".join(unmet))


def _shown(value: float | None) -> str:
    return "not known" if value is None else f"{value:g}"
