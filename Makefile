# Common tasks. They need only Python 3.11 or newer; `make help` lists them.
#
#   PYTHON=python3.12   the Python that the virtual environment is made with
#   VENV=.venv          the virtual environment; made when missing, brought up to date when pyproject.toml changed
#   DEMO=distkern-demo  the folder that `make demo` writes
#   FILE="…"            the tests that `make test-quick`, `make test-wheel` and `make test-oldest` run
#   DEPENDENCIES=…      a site-packages folder from which `make test-wheel` takes the dependencies; installed when not given

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

VENV ?= .venv
DEMO ?= distkern-demo
CHECK_VERSION := import sys; sys.exit(sys.version_info < (3, 11))
# the first of these that is new enough; python3 if none is, which the rule below refuses with a message
PYTHON ?= $(or $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	"$$python" -c '$(CHECK_VERSION)' 2>/dev/null && echo "$$python" && break; done),python3)

BIN := $(VENV)/bin
TOOLS := build/tools
UV := uv==0.13.9
PIP_AUDIT := pip-audit==2.10.1
WHEEL := build/wheel
FOR_USERS := $(VENV)/.distkern-all
FOR_DEVELOPERS := $(VENV)/.distkern-dev
INSTALL := -m pip --disable-pip-version-check --no-input install --quiet
PIP = $(BIN)/python $(INSTALL)

# A new environment, and in it the wheel of dist/ with what its extras $(1) need: from DEPENDENCIES, or in versions that
# RESOLUTION chooses, or else the newest ones. PYTHONPATH may name the source, so that it does not count here.
# dist/ may come from another machine, so that it is not built.
WITHOUT_SOURCE := env -u PYTHONPATH
RESOLUTION :=
define install-wheel
	@ls dist/*.whl >/dev/null 2>&1 || { echo 'dist/ holds no wheel: run make dist first' >&2; exit 2; }
	rm -rf "$(WHEEL)"
	mkdir -p "$(WHEEL)"
	"$(PYTHON)" -m venv "$(WHEEL)/venv"
	$(if $(DEPENDENCIES),for site in "$(WHEEL)"/venv/lib/python3*/site-packages; do echo "$(DEPENDENCIES)" >"$$site/dependencies.pth"; done)
	$(if $(RESOLUTION),"$(TOOLS)/bin/uv" pip install --quiet --python "$(WHEEL)/venv/bin/python" $(RESOLUTION) -r pyproject.toml --extra $(1))
	$(WITHOUT_SOURCE) "$(WHEEL)/venv/bin/python" $(INSTALL) \
		$(if $(DEPENDENCIES)$(RESOLUTION),--no-deps --ignore-installed dist/*.whl,"$$(ls dist/*.whl)[$(1)]")
endef

# the tests that are beside the wheel in that environment, without the package
define run-tests-of-wheel
	cp -R benchmarks deploy docs notebooks tests [A-Z]*.md CITATION.cff conftest.py pyproject.toml "$(WHEEL)"
	cd "$(WHEEL)" && $(WITHOUT_SOURCE) venv/bin/python -P -m pytest -n 2 --dist worksteal $(1)
endef

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

# the changed files, and the test file that mirrors each changed module
CHANGED = $(shell git diff --name-only HEAD -- tests distkern docs; git ls-files --others --exclude-standard -- tests distkern docs)
MIRRORED = $(foreach file,$(filter distkern/%.py,$(CHANGED)),$(file) tests/$(patsubst distkern/%,%,$(dir $(file)))test_$(notdir $(file)))
QUICK = $(or $(FILE),$(sort $(wildcard $(filter docs/%.md,$(CHANGED)) $(filter %.py,$(foreach file,$(CHANGED),$(if $(filter test_%,$(notdir $(file))),$(file)))) $(MIRRORED))))

.PHONY: test-quick
test-quick: $(FOR_DEVELOPERS) ## the inner loop: run FILE="tests/a.py tests/b.py", by default the tests of the files that you changed
	@test -n "$(QUICK)" || { echo 'no file has changed: name tests, as in make test-quick FILE=tests/store' >&2; exit 2; }
	"$(BIN)/python" -m pytest -q -x $(QUICK)

.PHONY: test-faults
test-faults: $(FOR_DEVELOPERS) ## inject faults: killed processes, lost networks, full disks; as root on Linux, or most are skipped
	"$(BIN)/python" -m pytest -m faults

.PHONY: test-slow
test-slow: $(FOR_DEVELOPERS) ## run the other slow tests, two files at a time: notebooks, benchmarks at small size, uncompiled routines
	"$(BIN)/python" -m pytest -m slow -n 2 --dist loadfile

.PHONY: docs
docs: $(FOR_DEVELOPERS) ## build the site into site/html, with warnings as errors, and look at what was built
	rm -rf site docs/api
	"$(BIN)/python" -m sphinx -b html -c docs -d site/doctrees -W --keep-going -q . site/html
	"$(BIN)/python" -m pytest -q -m site tests/test_site.py

.PHONY: outer-links
outer-links: $(FOR_DEVELOPERS) ## check that the links of the site to other sites work; needs network
	rm -rf docs/api
	"$(BIN)/python" -m sphinx -b linkcheck -c docs -d site/doctrees -q . site/links

.PHONY: test-docs
test-docs: $(FOR_DEVELOPERS) ## check the documentation: examples of all pages, relative links, the list of public names
	"$(BIN)/python" -m pytest docs tests/test_links.py tests/test_site.py tests/store/test_layout.py
	"$(BIN)/python" -m pytest -m slow tests/test_contributing.py

FOR_THE_DEMO := io,report

.PHONY: dist
dist: $(FOR_DEVELOPERS) ## build the wheel and the sdist into dist/, check them, and run the demo from the wheel in an empty environment
	rm -rf dist
	"$(BIN)/python" -m build
	"$(BIN)/python" -m twine check --strict dist/*
	$(call install-wheel,$(FOR_THE_DEMO))
	cd "$(WHEEL)" && $(WITHOUT_SOURCE) venv/bin/distkern --version | tee version
	ls dist/distkern-"$$(sed 's/.* //' "$(WHEEL)/version")"-py3-none-any.whl
	cd "$(WHEEL)" && $(WITHOUT_SOURCE) venv/bin/distkern demo --out demo

.PHONY: test-wheel
test-wheel: ## install dist/*.whl into a new environment and run the tests, or FILE="tests/…", away from the source
	$(call install-wheel,dev)
	$(call run-tests-of-wheel,$(or $(FILE),tests docs))

OF_THE_CORE := tests/core tests/kernels tests/operators tests/store tests/gram tests/build

.PHONY: test-oldest
test-oldest: RESOLUTION := --resolution lowest-direct
test-oldest: uv ## the same with the oldest packages that pyproject.toml allows, for the tests of the core
	$(call install-wheel,test)
	$(call run-tests-of-wheel,$(or $(FILE),$(OF_THE_CORE)))

.PHONY: test-newest
test-newest: RESOLUTION := --prerelease allow
test-newest: uv ## the same with the newest packages, releases to come among them, for all tests
	$(call install-wheel,dev)
	$(call run-tests-of-wheel,$(or $(FILE),tests docs))

.PHONY: check-release
check-release: ## check that TAG=v1.2.3 is the version of the files in dist/ and of everything that names the next release
	@test -n "$(TAG)" || { echo 'name the tag, as in make check-release TAG=v1.2.3' >&2; exit 2; }
	ls dist/distkern-$(TAG:v%=%)-py3-none-any.whl dist/distkern-$(TAG:v%=%).tar.gz
	grep -x 'version: $(TAG:v%=%)' CITATION.cff
	grep '^## $(TAG:v%=%)' CHANGELOG.md
	grep '"$(TAG:v%=%)"' deploy/conda/recipe.yaml
	grep '"$(TAG:v%=%).dev0"' distkern/_version.py

.PHONY: benchmark
benchmark: $(FOR_DEVELOPERS) ## measure against peers and rewrite docs/benchmarks.md; leave the machine idle meanwhile (three hours on two cores)
	for script in pairs pair_scores sparse_cells rank_sums kernels smoothed crossovers storing svm bags clustering consensus explain cluster memory scale; do "$(BIN)/python" benchmarks/$$script.py; done
	for script in genome_scale million_cells; do "$(BIN)/python" benchmarks/$$script.py --whole; done

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

.PHONY: uv
uv:
	"$(PYTHON)" -m venv "$(TOOLS)"
	"$(TOOLS)/bin/python" $(INSTALL) "$(UV)"

.PHONY: constraints
constraints: uv ## bring the pinned versions of the image, and their hashes, up to date
	"$(TOOLS)/bin/uv" pip compile deploy/constraints.in --output-file deploy/constraints.txt --upgrade --generate-hashes \
		--python-version 3.11 --python-platform linux --no-emit-package distkern --no-annotate --quiet \
		--custom-compile-command "make constraints"

.PHONY: audit
audit: ## ask whether vulnerabilities of the packages of the image are known; fails where it gets no answer
	"$(PYTHON)" -m venv "$(TOOLS)"
	"$(TOOLS)/bin/python" $(INSTALL) "$(PIP_AUDIT)"
	"$(TOOLS)/bin/pip-audit" --strict --disable-pip --require-hashes --requirement deploy/constraints.txt

.PHONY: clean
clean: ## delete the leftovers of tests and tools; keep the virtual environment and the demo's folder
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache build dist site docs/api htmlcov .coverage
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
