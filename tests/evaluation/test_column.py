from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from grasp_cli.evaluation.column import Column

VALUES = st.lists(st.sampled_from([0.0, 1.0, math.nan]), max_size=6)


def same(one: Column, other: list[float]) -> bool:
    found = list(one)
    return len(one) == len(other) and str(found) == str(other)


@given(VALUES, VALUES, st.sampled_from([0.0, 0.5, math.nan]))
def test_as_a_list_would(first: list[float], second: list[float], more: float) -> None:
    column, other = Column(first), Column(second)
    assert same(column, first)
    column.extend(other)
    assert same(column, first + second) and same(other, second)
    column.append(more)
    assert same(column, [*first, *second, more]) and same(other, second)


def test_nothing_is_stored_while_all_are_the_same() -> None:
    column = Column([math.nan] * 1000)
    assert column._values is None and math.isnan(next(iter(column)))
    column.append(0.0)
    assert column._values is not None and len(column._values) == 1001
