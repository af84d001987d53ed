# Everything that is done often, from nothing but Python 3.11 or newer: `make help` lists it.
#
#   PYTHON=python3.12   the Python that the virtual environment is made with
#   VENV=.venv          the virtual environment; made when missing, brought up to date when pyproject.toml changed
#   DEMO=distkern-demo  the folder that `make demo` writes

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

VENV ?= .venv
DEMO ?= distkern-demo
CHECK_VERSION := import sys; sys.exit(sys.version_info < (3, 11))
# the first of these that is new enough; python3 if none is, which the rule below refuses with a message
PYTHON ?= $(or $(shell for python in python3 python3.13 python3.12 python3.11; do \
	"$$python" -c '$(CHECK_VERSION)' 2>/dev/null && echo "$$python" && break; done),python3)

BIN := $(VENV)/bin
FOR_USERS := $(VENV)/.distkern-all
FOR_DEVELOPERS := $(VENV)/.distkern-dev
PIP = $(BIN)/python -m pip --disable-pip-version-check --no-input install --quiet

.PHONY: help
help: ## list these targets
	@echo "Targets:"
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)/  make \1|\2/p' $(firstword $(MAKEFILE_LIST)) | column -t -s '|' 2>/dev/null || \
		sed -nE 's/^([a-z-]+):[^#]*## (.*)/  make \1: \2/p' $(firstword $(MAKEFILE_LIST))

.PHONY: demo
demo: $(FOR_USERS) ## classify colon tumours as in the paper, on a local cluster, with a report
	"$(BIN)/distkern" demo --out "$(DEMO)"

.PHONY: test
test: lint ## lint, then run the tests and doctests, two files at a time
	"$(BIN)/python" -m pytest -n 2 --dist loadfile

.PHONY: test-faults
test-faults: $(FOR_DEVELOPERS) ## kill, stop, cut off and fill up all that can be; as root on Linux, or most of it is skipped
	"$(BIN)/python" -m pytest -m faults

.PHONY: test-slow
test-slow: $(FOR_DEVELOPERS) ## what else takes long: notebooks, benchmarks in small, the compiled routines as plain Python
	"$(BIN)/python" -m pytest -m slow tests

.PHONY: benchmark
benchmark: $(FOR_DEVELOPERS) ## measure against peers and write docs/benchmarks.md anew; leave the machine alone meanwhile
	for script in pairs smoothed crossovers storing svm bags clustering cluster memory scale; do "$(BIN)/python" benchmarks/$$script.py; done

.PHONY: lint
lint: $(FOR_DEVELOPERS) ## check style, types and layers
	"$(BIN)/ruff" check
	"$(BIN)/ruff" format --check
	"$(BIN)/mypy"
	"$(BIN)/lint-imports"

.PHONY: format
format: $(FOR_DEVELOPERS) ## rewrite the code in the house style
	"$(BIN)/ruff" check --fix
	"$(BIN)/ruff" format

.PHONY: clean
clean: ## delete what tests and tools leave behind; the virtual environment and the demo's folder stay
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache build dist site htmlcov .coverage
	find . -name __pycache__ -type d -not -path './.venv/*' -prune -exec rm -rf {} +

# The virtual environment ---------------------------------------------------------------------------------------------

$(BIN)/python:
	@"$(PYTHON)" -c '$(CHECK_VERSION)' 2>/dev/null || { \
		echo "distkern needs Python 3.11 or newer, and $(PYTHON) is $$(command -v "$(PYTHON)" >/dev/null && "$(PYTHON)" --version 2>&1 || echo missing):" \
			"name another one, as in make PYTHON=/path/to/python3.12" >&2; exit 1; }
	"$(PYTHON)" -m venv "$(VENV)"

$(FOR_USERS): pyproject.toml | $(BIN)/python
	@"$(BIN)/python" -m pip --version >/dev/null 2>&1 || "$(BIN)/python" -m ensurepip --upgrade
	$(PIP) -e '.[all]'
	@touch "$@"

$(FOR_DEVELOPERS): pyproject.toml | $(BIN)/python
	@"$(BIN)/python" -m pip --version >/dev/null 2>&1 || "$(BIN)/python" -m ensurepip --upgrade
	$(PIP) -e '.[dev]'
	@touch "$@" "$(FOR_USERS)" # dev holds all
