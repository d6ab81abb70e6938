# Every target sets up what it needs: a machine with Python 3.11 or newer and pip is enough.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test test-all coverage lint format bench clean
.DEFAULT_GOAL := test

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# The demo needs no torch, so it has a set-up of its own.
$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(PIP) --editable ".[cli,plot,pandas]"
	@touch $@

# torch first and pinned: a range would pull the newest build with all of CUDA.
$(VENV)/.test: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --constraint constraints.txt torch
	$(PIP) --constraint constraints.txt --editable ".[test,lint]"
	@touch $@ $(VENV)/.demo

demo: $(VENV)/.demo          ## fit on bundled data, print a table, draw two pictures
	$(BIN)/censquant demo

test: $(VENV)/.test          ## the fast tests, on all cores
	$(BIN)/python -m pytest --numprocesses auto --quiet

test-all: $(VENV)/.test      ## also the slow statistical checks
	$(BIN)/python -m pytest --numprocesses auto --quiet -m "slow or not slow" \
	    --hypothesis-profile new_examples

# Compiled kernels are invisible to coverage, so a second run interprets them on small inputs.
coverage: $(VENV)/.test      ## line and branch coverage of src, at least 95 %
	$(BIN)/python -m pytest --numprocesses auto --quiet --cov --cov-report=
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest --numprocesses auto --quiet --cov --cov-append \
		--cov-report=term-missing:skip-covered --cov-fail-under=95 \
		tests/unit/losses tests/unit/networks tests/unit/metrics/test_concordance.py \
		tests/unit/quantiles/test_curve.py \
		tests/unit/estimators/linear/test_linear_program.py

lint: $(VENV)/.test          ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.test         ## speed, side by side with a plain torch loop
	$(BIN)/python benchmarks/train_speed.py
	$(BIN)/python benchmarks/predict_speed.py

clean:                       ## the environment, caches and compiled kernels
	rm -rf $(VENV) demo-output .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage
	find src tests -name __pycache__ -prune -exec rm -rf {} +
