from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grasp_cli.pipe import json_lines
from grasp_cli.pipe.errors import DataError

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(values)
def test_any_json_value_survives_exactly(value: object) -> None:
    line = json.dumps(value).encode()
    read = json_lines.loads(line, "x:1")
    assert json.loads(json_lines.dumps(read)) == value
    assert str(json.loads(json_lines.dumps(read))) == str(value)  # 1 stays 1, 1.0 stays 1.0


@pytest.mark.parametrize(
    "number", [2**63, 2**64, -(2**63) - 1, 12345678901234567890123, 10**40, 2**53 + 1]
)
def test_integers_of_any_size_are_never_floats(number: int) -> None:
    read = json_lines.loads(b'{"big": %d}' % number, "x:1")
    assert read["big"] == number and isinstance(read["big"], int)
    assert json_lines.dumps(read) == b'{"big":%d}' % number


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b'{"id": 1, "question": "x"', "f:3:26: not JSON"),
        (b'{"id":"1","score":NaN}', "NaN is not JSON"),
        (b'{"id":"1","score":-Infinity}', "Infinity is not JSON"),
        (b'{"a":1}{"b":2}', "f:3:8: not JSON"),
        (b'{"a":1e999}', "f:3:"),
        (b'{"a":\xff}', "f:3:"),
        ("\ufeff{}".encode("utf-16"), "UTF-16"),
    ],
)
def test_errors_name_file_line_column_and_show_the_start(line: bytes, told: str) -> None:
    with pytest.raises(DataError) as caught:
        json_lines.loads(line, "f:3")
    assert told in str(caught.value)


def test_nan_inside_a_string_is_not_blamed() -> None:
    with pytest.raises(DataError, match="not JSON"):
        json_lines.loads(b'{"id":"NaN","x":}', "f:1")
    assert json_lines.loads(b'{"id":"NaN is here"}', "f:1") == {"id": "NaN is here"}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b'{"n": ' + b"9" * 5000 + b"}", "x:1:7: .*number is infinity"),
        (b"[" * 201 + b"]" * 201, "x:1: objects and lists more than 200 deep"),
        (b'[{"a":' * 101 + b"1" + b"}]" * 101, "x:1: objects and lists more than 200 deep"),
    ],
)
def test_what_could_not_be_written_again_is_refused(line: bytes, told: str) -> None:
    with pytest.raises(DataError, match=told):
        json_lines.loads(line, "x:1")


@pytest.mark.parametrize(
    "line",
    [
        b"[" * 200 + b"]" * 200,
        b'["' + b"[" * 500 + b'\\\\\\"{"]',
        b"[" + b"[]," * 500 + b"12345678901234567890123]",
        b"[" * 199 + b"12345678901234567890123" + b"]" * 199,
    ],
)
def test_what_is_read_is_written_again(line: bytes) -> None:
    value = json_lines.loads(line, "x:1")
    assert json_lines.loads(json_lines.dumps(value), "x:1") == value
