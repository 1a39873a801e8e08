"""Rows of the output layer in slices."""

from hypothesis import given
from hypothesis import strategies as st

from regard.train.output_layer import WHOLE_ROWS, slices


@given(st.integers(0, 700), st.integers(1, 300))
def test_slices_are_all_rows_none_larger_than_asked_and_whole_where_they_can_be(rows, most):
    parts = slices(rows, most)
    assert [row for part in parts for row in range(part.start, part.stop)] == list(range(rows))
    assert all(0 < part.stop - part.start <= most for part in parts)
    if most >= WHOLE_ROWS:
        assert all((part.stop - part.start) % WHOLE_ROWS == 0 for part in parts[:-1])


def test_slices_are_of_nearly_equal_size():
    assert slices(1000, 320) == [slice(0, 256), slice(256, 512), slice(512, 768), slice(768, 1000)]
    assert slices(100, 10) == [slice(start, start + 10) for start in range(0, 100, 10)]
