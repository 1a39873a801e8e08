# make setup, make demo, make test, make check: all they need is Python 3.11 or newer, and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
CODE := regard tests benchmarks $(wildcard docs/*.py)

# On Linux, PyPI's torch brings the libraries for NVIDIA cards (gigabytes). For a machine without one:
#   make setup TORCH_INDEX=https://download.pytorch.org/whl/cpu
TORCH_INDEX ?=

# Two test processes of one thread each: threads of two processes would wait for each other.
TEST_WORKERS ?= 2

.PHONY: help setup demo test test-slow check format clean

help:
	@echo 'make setup       make .venv and install regard there, with the pinned dependencies'
	@echo 'make demo        train a small model on the built-in corpus (3 minutes) and write a page about it'
	@echo 'make test        run the quick tests'
	@echo 'make test-slow   run the slow tests'
	@echo 'make check       check format, lint and types'
	@echo 'make format      put the code into shape'
	@echo 'make clean       remove what was made here, except data/ and runs/'

setup: $(INSTALLED)

# The stamp is written last, so a set-up that failed half-way is done again.
$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "regard needs Python 3.11 or newer; name one with: make setup PYTHON=python3.12"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) "$$(grep '^torch==' constraints.txt)"
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@

demo: setup
	$(BIN)/regard demo

test: setup
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m 'not slow' -n $(TEST_WORKERS)

# pytest leaves with 5 when it found no test to run; that is no failure here.
test-slow: setup
	$(BIN)/python -m pytest -m slow || test $$? -eq 5

check: setup
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ruff check .
	$(BIN)/mypy

format: setup
	$(BIN)/ruff format $(CODE)
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
