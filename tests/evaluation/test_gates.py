from __future__ import annotations

import pytest

from grasp_cli.evaluation.gates import check_gates, parse_gate
from grasp_cli.pipe.errors import GateError, UsageError

ROW = {"label": "x", "n": 10, "f1": 0.4, "em": 0.1, "removed": None}


def test_met() -> None:
    check_gates([parse_gate("f1=0.4"), parse_gate("n=10")], [ROW])


def test_every_gate_that_is_not_met_is_named() -> None:
    gates = [parse_gate(text) for text in ("f1=0.41", "em=0.1", "removed=0")]
    with pytest.raises(GateError) as caught:
        check_gates(gates, [ROW, {**ROW, "label": "y", "f1": 1, "em": 0}])
    message = str(caught.value)
    assert "x: f1 is 0.4, at least 0.41" in message
    assert "y: em is 0, at least 0.1" in message
    assert "removed is not known" in message
    assert "y: f1" not in message


@pytest.mark.parametrize("text", ["f2=0.4", "f1", "f1=", "f1=40", "f1=nan", "=1", "f1=x"])
def test_no_gate(text: str) -> None:
    with pytest.raises(UsageError, match="--min"):
        parse_gate(text)
