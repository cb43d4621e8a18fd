from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grasp_cli.evaluation.aggregates import STATISTICS, percentile
from grasp_cli.evaluation.metrics import METRICS, SOURCES

NUMBERS = st.lists(st.floats(0, 1000), min_size=1, max_size=30)


@given(values=NUMBERS)
def test_as_numpy_has_them(values: list[float]) -> None:
    assert STATISTICS["mean"](values) == pytest.approx(np.mean(values))
    for name, share in (("p50", 50), ("p95", 95)):
        assert STATISTICS[name](values) == pytest.approx(np.percentile(values, share))


def test_by_hand() -> None:
    assert percentile([4.0, 1.0, 2.0], 0.5) == 2
    assert percentile([1.0, 2.0], 0.95) == pytest.approx(1.95)
    assert STATISTICS["rate"]([0.5, 0.25, 0.25]) == 3
    assert STATISTICS["rate"]([0.0, 0.0]) is None


def test_every_metric_has_a_statistic_and_a_source() -> None:
    assert {metric.statistic for metric in METRICS} == set(STATISTICS)
    assert {metric.values for metric in METRICS} == set(SOURCES)
