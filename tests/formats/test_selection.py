from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from grasp_cli.formats.selection import select


def numbers(count: int) -> list[dict[str, int]]:
    return [{"n": number} for number in range(count)]


@settings(deadline=None)
@given(
    count=st.integers(0, 40),
    limit=st.none() | st.integers(1, 50),
    sample=st.none() | st.integers(1, 50),
    seed=st.integers(),
)
def test_order_size_and_determinism(
    count: int, limit: int | None, sample: int | None, seed: int
) -> None:
    chosen = [item["n"] for item in select(numbers(count), limit, sample, seed)]
    among = min(count, limit or count)
    assert len(chosen) == min(among, sample or among)
    assert chosen == sorted(set(chosen))
    assert all(number < among for number in chosen)
    assert chosen == [item["n"] for item in select(numbers(count), limit, sample, seed)]


def test_every_item_is_as_likely() -> None:
    runs = 3000
    hits = Counter(item["n"] for seed in range(runs) for item in select(numbers(10), None, 3, seed))
    expected = runs * 3 / 10
    assert sum((hits[n] - expected) ** 2 / expected for n in range(10)) < 30  # chi-square, 9 d.f.


def test_limit_reads_no_further() -> None:
    def endless() -> object:
        yield from numbers(3)
        raise AssertionError("read beyond the limit")

    assert len(list(select(endless(), 3, None, 0))) == 3  # type: ignore[arg-type]
