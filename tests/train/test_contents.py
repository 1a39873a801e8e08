"""The files of a checkpoint: facts and tensors, read exactly or refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
from hypothesis import given
from hypothesis import strategies as st
from saved import FACTS, assert_equal_tensors, some_tensors

from regard.train.contents import read_facts, read_tensors, write_facts


@pytest.fixture(scope="module")
def facts_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("facts") / FACTS


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(facts=st.dictionaries(st.text(), json_values, max_size=4))
def test_facts_come_back_exactly(facts_path: Path, facts: dict[str, Any]) -> None:
    write_facts(facts_path, facts)
    content = facts_path.read_bytes()
    json.loads(content, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert repr(read_facts(content)) == repr(facts)


def test_tensors_are_those_that_the_library_reads() -> None:
    content = safetensors.torch.save(some_tensors(3))
    assert_equal_tensors(read_tensors(bytearray(content)), safetensors.torch.load(content))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"F32"', b'"F99"'),
        (b'"F64"', b'"F32"'),
        (b'"shape":[7,3]', b'"shape":[9,9]'),
        (b'"shape":[7,3]', b'"shape":"ab"'),
        (b'"data_offsets"', b'"data_offsetz"'),
        (b'{"', b'["'),
        (b"data_offsets", b"\xff" * 12),
    ],
)
def test_what_is_no_file_of_tensors_is_said_to_be_none(old: bytes, new: bytes) -> None:
    content = safetensors.torch.save(some_tensors(3))
    assert old in content
    with pytest.raises(ValueError, match="no safetensors"):
        read_tensors(bytearray(content.replace(old, new, 1)))


@pytest.mark.parametrize("length", [0, 4, 8, 20, -1])
def test_a_file_of_tensors_that_is_cut_short(length: int) -> None:
    content = safetensors.torch.save(some_tensors(3))
    with pytest.raises(ValueError, match="no safetensors"):
        read_tensors(bytearray(content[:length]))
