# Everything sets itself up: a virtual environment in .venv, pinned by constraints.txt. A second run installs nothing.
# Needs git, make and Python 3.11 or later (another interpreter: make PYTHON=python3.12 …).

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
# A worker a processor, one thread each: workers of several threads wait for one another.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist loadfile

.DEFAULT_GOAL := help
.PHONY: help demo test check verify bench clean

help: ## What can be made
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/make \1\t\2/' | expand -t 14

demo: $(INSTALLED) ## See what bayesteach does, in one picture
	$(BIN)/python examples/mathematics.py

test: $(INSTALLED) ## The tests: one small case of every promise
	$(PYTEST)

check: $(INSTALLED) ## Format, lint, types, who may import whom, and the tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(PYTEST)

verify: $(INSTALLED) ## The long versions: every law on 500 cases, coverage studies, many repetitions
	HYPOTHESIS_PROFILE=verify $(PYTEST) -m "verify or not verify"

bench: $(INSTALLED) ## Measure beside peers, in one run on a quiet machine; results go to benchmarks/results
	@set -e; for bench in benchmarks/bench_*.py; do $(BIN)/python $$bench; done

clean: ## Remove the environment and what tools left behind
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache out

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "bayesteach needs Python 3.11 or later, found " + sys.version.split()[0] + " as $(PYTHON). Try make PYTHON=python3.12.")'
	$(PYTHON) -m venv $(VENV)
	PIP_CONSTRAINT=constraints.txt PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@
