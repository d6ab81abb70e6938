# Every target sets up what it needs: a machine with Python 3.11 or newer and pip is enough.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
OLDEST := .venv-oldest
WHEEL := .venv-wheel
DOCS := .venv-docs
INSTALL := -m pip install --quiet --disable-pip-version-check
# What is installed here is often made anew: kernels are compiled by what needs them. Only the wheel
# that is tested is built as users build it.
export HATCH_BUILD_NO_HOOKS := true
PIP := $(BIN)/python $(INSTALL)
# A file per core at a time: what its tests share is then made once.
ON_ALL_CORES := --numprocesses auto --dist loadfile --quiet

.PHONY: help demo test test-all test-processors test-oldest test-wheel coverage pages lint format bench docs clean
.DEFAULT_GOAL := test

help:                        ## list the targets
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)/\1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 18

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# The demo needs no torch, so it has a set-up of its own.
$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(PIP) --editable ".[cli,report]"
	@touch $@

# torch first and pinned: a range would pull the newest build with all of CUDA.
$(VENV)/.test: pyproject.toml bench/pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --constraint constraints.txt torch
	$(PIP) --constraint constraints.txt --editable ".[test,lint]" --editable "./bench[peers]"
	@touch $@ $(VENV)/.demo

demo: $(VENV)/.demo          ## fit bundled data, judge the model, write a page with the results
	$(BIN)/censquant demo

test: $(VENV)/.test          ## the fast tests, on all cores
	$(BIN)/python -m pytest $(ON_ALL_CORES)

test-all: $(VENV)/.test      ## also the slow statistical checks, and new examples for property tests
	$(BIN)/python -m pytest $(ON_ALL_CORES) -m "slow or not slow" \
	    --hypothesis-profile new_examples

# Without torch and the peers: the plugin installed_only leaves out tests that import them, and lists
# those. The package is installed, not linked, so that two versions of numba never share a cache.
$(OLDEST)/.installed: pyproject.toml bench/pyproject.toml constraints-oldest.txt
	$(PYTHON) -m venv --clear $(OLDEST)
	$(OLDEST)/bin/python $(INSTALL) --constraint constraints-oldest.txt ".[report]" ./bench \
	    pytest pytest-xdist hypothesis
	@touch $@

test-oldest: $(OLDEST)/.installed  ## the fast tests with the oldest versions that pyproject.toml allows
	$(OLDEST)/bin/python $(INSTALL) --no-deps --force-reinstall . ./bench
	PYTHONPATH=tests $(OLDEST)/bin/python -m pytest -p installed_only $(ON_ALL_CORES) \
	    tests bench/tests --pyargs censquant censquant_bench

# KINDS="Haswell generic" are run alone; KINDS=another is one kind that differs from this machine.
test-processors: $(VENV)/.test  ## the tests of fits and pages, computed as on other kinds of processors
	$(BIN)/python tests/processors.py $(KINDS)

# The wheel is built from the sdist, and the tests and README are those of the sdist. Nothing but the
# core is installed beside pytest and hypothesis, and only afterwards the benchmark.
test-wheel: | $(BIN)/python  ## build sdist and wheel, test the wheel in a clean environment
	rm -rf dist $(WHEEL)
	$(PIP) build
	HATCH_BUILD_NO_HOOKS= $(BIN)/python -m build --outdir dist .
	$(BIN)/python -m zipfile --list dist/*.whl | grep -q "[.]nbc"
	$(PYTHON) -m venv $(WHEEL)
	$(WHEEL)/bin/python $(INSTALL) dist/*.whl pandas pytest hypothesis
	mkdir $(WHEEL)/sdist
	tar -xzf dist/*.tar.gz -C $(WHEEL)/sdist --strip-components 1
	cd $(WHEEL)/sdist && PYTHONPATH=tests ../bin/python -m pytest -p installed_only --quiet \
	    tests/contract/test_packaging.py tests/contract/test_readme.py tests/unit/quantiles \
	    tests/unit/survival tests/unit/estimators/neural/test_cqrnn_predictions.py
	$(BIN)/python -m build --outdir dist/bench bench
	$(WHEEL)/bin/python $(INSTALL) dist/*.whl dist/bench/*.whl
	cd $(WHEEL)/sdist && PYTHONPATH=tests ../bin/python -m pytest -p installed_only --quiet \
	    bench/tests/test_distribution.py bench/tests/test_results_file.py tests/cli/test_plugins.py

# Compiled kernels are invisible to coverage, so a second run interprets them on small inputs.
coverage: $(VENV)/.test      ## line and branch coverage of src, at least 95 %
	$(BIN)/python -m pytest $(ON_ALL_CORES) --cov --cov-report=
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest $(ON_ALL_CORES) --cov --cov-append \
		--cov-report=term-missing:skip-covered --cov-fail-under=95 \
		tests/unit/losses tests/unit/networks tests/unit/metrics/test_concordance.py \
		tests/unit/quantiles/test_curve.py \
		tests/unit/estimators/linear/test_linear_program.py

# Only those that are not as shown any more; the sentences around them are for a person to check.
pages: $(VENV)/.test         ## rewrite the output that README and pages show
	$(BIN)/python -m pytest $(ON_ALL_CORES) -m "slow or not slow" --rewrite-pages -k "print" \
	    tests/contract/test_docs_pages.py tests/contract/test_docs_site.py tests/contract/test_readme.py tests/cli/test_console_blocks.py

lint: $(VENV)/.test          ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.test        ## fix what ruff can fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.test         ## speed, side by side with a plain torch loop
	$(BIN)/python bench/scripts/train_speed.py
	$(BIN)/python bench/scripts/predict_speed.py

# Its own environment: Sphinx and its extensions are of no use to anything else here.
$(DOCS)/.installed: pyproject.toml bench/pyproject.toml constraints.txt
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python $(INSTALL) --constraint constraints.txt torch
	$(DOCS)/bin/python $(INSTALL) --constraint constraints.txt --editable ".[docs]" --editable ./bench
	@touch $@

# Pages that are made before a build are made anew, so that none outlives what it was made of.
docs: $(DOCS)/.installed     ## the documentation site with its gallery, warnings as errors
	rm -rf docs/generated docs/_build
	$(DOCS)/bin/sphinx-build --fail-on-warning --keep-going --quiet docs docs/_build/html
	@echo "docs/_build/html/index.html"

clean:                       ## remove environments, builds, caches and compiled kernels
	rm -rf $(VENV) $(OLDEST) $(WHEEL) $(DOCS) docs/generated docs/_build dist demo-output .mypy_cache .pytest_cache .ruff_cache \
	    .hypothesis .coverage
	find src tests bench -name __pycache__ -prune -exec rm -rf {} +
