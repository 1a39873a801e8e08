import base64
import json

import numpy as np
import pytest

from regard.explain.packing import pack, unpack


@pytest.mark.parametrize("shape", [(1,), (3, 4), (2, 3, 4, 5), (0, 3)])
def test_arrays_come_back_to_within_half_a_step(shape):
    array = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    packed = json.loads(json.dumps(pack(array)))
    assert packed["shape"] == list(shape)
    step = (packed["maximum"] - packed["minimum"]) / 65535
    np.testing.assert_allclose(unpack(packed), array, atol=step / 2 + 1e-9)


def test_given_bounds_hold_and_ends_are_exact():
    packed = pack(np.array([0.0, 0.25, 1.0, 1.0000001]), 0.0, 1.0)
    assert (packed["minimum"], packed["maximum"]) == (0.0, 1.0)
    values = unpack(packed)
    assert values[0] == 0.0
    assert values[2] == values[3] == 1.0


def test_a_constant_array_is_its_constant():
    assert (unpack(pack(np.full((2, 2), 0.3))) == 0.3).all()


def test_numbers_are_little_endian_in_the_order_of_rows():
    packed = pack(np.array([[0.0, 1.0], [0.5, 0.0]]), 0.0, 1.0)
    assert base64.b64decode(packed["uint16"]) == b"\x00\x00\xff\xff\x00\x80\x00\x00"
