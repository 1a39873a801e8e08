"""What tests of kernels have in common."""

import os

import pytest
import torch

from regard.native import forms, library
from regard.native.forms import Form


@pytest.fixture
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def only_form(monkeypatch):
    """`only_form(form)` makes it the only one of its precision; skips where the processor has none such."""

    def choose(form):
        kernels = library.library()
        if kernels is None:
            pytest.skip(f"no kernels here: {library.why_not()}")
        if form is Form.PAIRS and not kernels.takes_pairs():
            pytest.skip("this processor has no AVX-512 for bfloat16")
        if form in (Form.TILES, Form.ROUNDED_TILES):
            if os.environ.get(forms.SWITCH) == "0":
                pytest.skip(f"{forms.SWITCH} is 0")
            if not kernels.takes_tiles():
                pytest.skip("this processor has no tiles (AMX)")
        narrow = form in (Form.PAIRS, Form.ROUNDED_TILES)
        monkeypatch.setattr(forms, "_forms", lambda: (Form.FLOATS, form) if narrow else (form, None))
        return form

    return choose


@pytest.fixture(params=[Form.FLOATS, Form.TILES], ids=lambda form: form.name)
def wide_form(one_thread, only_form, request):
    """Tried in each form of fp32 that the processor has."""
    return only_form(request.param)
