# make demo    set everything up and run the main job (no Java, no root)
# make test    set everything up and run the tests
# make help    lists the rest

PYTHON ?= python3
VENV ?= .venv
PYTHON311 ?= python3.11
TF_VENV ?= .venv-tf
CROSS_VENV ?= .venv-cross
TABLES_VENV ?= .venv-cross-tables
# Where pip finds PyTorch without CUDA, a page or a folder, if it is told of none: PyTorch's own server has such a page.
TORCH_LINKS ?=
PYTEST_ARGS ?=
JOBS ?= 2
BENCH_ARGS ?=
FUZZ_SECONDS ?= 60

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# Commands that tests start would compile every module again.
unexport PYTHONDONTWRITEBYTECODE

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check --no-input
TF_PIP := $(TF_VENV)/bin/python -m pip --quiet --disable-pip-version-check --no-input
CROSS_PIP := $(CROSS_VENV)/bin/python -m pip --quiet --disable-pip-version-check --no-input
TABLES_PIP := $(TABLES_VENV)/bin/python -m pip --quiet --disable-pip-version-check --no-input
TORCH := $(if $(TORCH_LINKS),--find-links $(TORCH_LINKS))
UV := $(BIN)/uv pip compile --quiet --generate-hashes --no-strip-extras --python-version 3.11 \
	--no-emit-index-url --no-header $(LOCK_ARGS)
UV_COMPILE := $(UV) --universal
UV_COMPILE_LINUX := $(UV) --python-platform x86_64-manylinux_2_28
PYTEST := $(BIN)/python -m pytest --numprocesses $(JOBS)

# Stamps stand in the environment, so that they vanish with it and a warm call installs nothing.
CORE := $(VENV)/.smalti-core
DEV := $(VENV)/.smalti-dev
FUZZ := $(VENV)/.smalti-fuzz
SERVICE := $(VENV)/.smalti-service
TF := $(TF_VENV)/.smalti-tf
CROSS := $(CROSS_VENV)/.smalti-cross
TABLES := $(TABLES_VENV)/.smalti-tables
INSTALLED := $(VENV)/.smalti-installed

.PHONY: help demo serve screenshots test test-full test-tf test-cross fuzz lint docs lock generate bench clean

help: ## list what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile

demo: $(INSTALLED) ## set everything up and run the main job; no Java, no root
	@$(BIN)/python examples/demo.py

serve: $(INSTALLED) $(SERVICE) ## set everything up, fill a registry with the example data, and serve it on this machine
	@$(BIN)/python examples/serve.py

screenshots: $(INSTALLED) $(DEV) ## take the screenshots of the pages of the service anew (needs Chromium)
	SMALTI_SCREENSHOTS=docs/images/web $(BIN)/python -m pytest -q -m browser tests/service

test: $(INSTALLED) $(DEV) ## set everything up and run the tests (Spark tests need a JRE 17 or newer)
	@$(BIN)/python .ci/jre.py
	$(PYTEST) $(PYTEST_ARGS)

test-full: $(INSTALLED) $(DEV) ## the tests with the slow ones: soaks, large data, many more random tables
	@$(BIN)/python .ci/jre.py
	$(PYTEST) -m "" --hypothesis-profile full $(PYTEST_ARGS)

test-tf: $(TF) ## compare training with tensorflow-privacy (Python 3.11, an environment of 2.5 GB)
	$(TF_VENV)/bin/python -m pytest tests/audit_tf $(PYTEST_ARGS)

test-cross: $(TABLES) $(CROSS) ## compare with Opacus, jax-privacy, scikit-learn, ART and Anonymeter (Python 3.11, environments of 3 GB)
	$(TABLES_VENV)/bin/python -m pytest -c tests/cross_tables/pytest.ini tests/cross_tables $(PYTEST_ARGS)
	$(CROSS_VENV)/bin/python -m pytest -c tests/cross/pytest.ini tests/cross $(PYTEST_ARGS)

fuzz: $(INSTALLED) $(FUZZ) ## look for documents that break a reader, guided by coverage (FUZZ_SECONDS=60)
	$(BIN)/python tests/fuzz/fuzz_parse.py -max_total_time=$(FUZZ_SECONDS)

# mypy does not follow the mapping of an editable install: it finds the rooms by the links in src/smalti.
lint: $(INSTALLED) $(DEV) ## ruff, and mypy strict on all packages
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@for room in engine policy studies transforms vocab; do \
		test -d src/smalti/$$room/ || { echo >&2 "smalti: src/smalti/$$room is no link to ../../$$room," \
			"and mypy needs it: git config core.symlinks true && git checkout -- src/smalti/$$room"; exit 1; }; done
	$(BIN)/python -m mypy

docs: $(INSTALLED) $(DEV) ## build the documentation site in build/site; any warning is an error
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet --builder html docs build/site

lock: $(DEV) ## compile the locks anew (LOCK_ARGS=--upgrade takes newer versions)
	$(UV_COMPILE) --constraint requirements/constraints.in pyproject.toml requirements/build.in \
		-o requirements/core.txt
	$(UV_COMPILE) --constraint requirements/core.txt pyproject.toml \
		--extra spark --extra postgresql --extra signatures --extra privacy --extra images --extra digits --extra frames --extra audit --extra service \
		requirements/build.in requirements/dev.in -o requirements/dev.txt
	$(UV_COMPILE) --constraint requirements/dev.txt pyproject.toml --extra service requirements/build.in \
		-o requirements/service.txt
	$(UV_COMPILE) --constraint requirements/dev.txt pyproject.toml --extra service --extra postgresql \
		--extra signatures --extra privacy requirements/build.in -o requirements/deployment.txt
	$(UV_COMPILE) requirements/fuzz.in -o requirements/fuzz.txt
	$(UV_COMPILE_LINUX) pyproject.toml --extra audit-tf requirements/audit-tf.in -o requirements/audit-tf.txt
	$(UV_COMPILE_LINUX) --no-emit-find-links $(TORCH) --constraint requirements/core.txt pyproject.toml \
		--extra audit requirements/build.in requirements/cross.in -o requirements/cross.txt
	$(UV_COMPILE_LINUX) pyproject.toml requirements/build.in requirements/cross-tables.in -o requirements/cross-tables.txt

generate: $(INSTALLED) $(DEV) ## write what is made from tables of the code: reference pages, JSON Schema, SHACL shapes, the profile
	$(BIN)/python tools/generate.py

bench: $(INSTALLED) $(DEV) ## measure speed and memory (BENCH_ARGS="--rows 10000000 --engine local spark --peers")
	$(BIN)/python benchmarks/run.py $(BENCH_ARGS)

clean: ## remove builds, caches and the demo's output; keep the environment
	rm -rf build dist src/*.egg-info *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	rm -rf .coverage .coverage.* coverage.xml demo-output serve-output spark-warehouse
	find . -name '.venv*' -prune -o -name __pycache__ -type d -exec rm -rf {} +

$(CORE): requirements/core.txt
	@bash .ci/venv "$(PYTHON)" "$(VENV)"
	@$(PIP) install --require-hashes --only-binary :all: --requirement $<
	@touch $@

$(DEV): requirements/dev.txt $(CORE)
	@echo "installing what the tests need (Spark: 450 MB)"
	@$(PIP) install --require-hashes --no-build-isolation --requirement $<
	@touch $@

$(SERVICE): requirements/service.txt $(CORE)
	@$(PIP) install --require-hashes --only-binary :all: --requirement $<
	@touch $@

# Wheels only: building the fuzzer takes clang, and nothing but `make fuzz` needs it.
$(FUZZ): requirements/fuzz.txt $(CORE)
	@$(PIP) install --require-hashes --only-binary :all: --requirement $<
	@touch $@

define make_venv311
@"$(PYTHON311)" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || { echo >&2 \
	"smalti: \`$(PYTHON311)\` is no Python 3.11; name one: make PYTHON311=/path/to/python3.11 ..."; exit 1; }
@bash .ci/venv "$(PYTHON311)"
endef

# tensorflow-privacy keeps `packaging` too old for setuptools, so the core's environment builds for this one.
$(TF): requirements/audit-tf.txt pyproject.toml $(CORE)
	$(make_venv311) "$(TF_VENV)"
	@echo "installing TensorFlow and tensorflow-privacy (2.5 GB)"
	@$(TF_PIP) install --require-hashes --only-binary :all: --requirement $<
	@rm -rf build/editable && mkdir -p build/editable
	@$(BIN)/python -c 'from setuptools import build_meta; build_meta.build_editable("build/editable")' \
		&>build/editable.log || { cat build/editable.log; exit 1; }
	@$(TF_PIP) install --no-deps --no-index --force-reinstall build/editable/*.whl
	@touch $@

# The libraries of others would narrow the versions of ours (mpmath, attrs).
$(CROSS): requirements/cross.txt pyproject.toml
	$(make_venv311) "$(CROSS_VENV)"
	@echo "installing what the comparisons need (2 GB)"
	@$(CROSS_PIP) install --require-hashes --only-binary :all: $(TORCH) --requirement $<
	@$(CROSS_PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

$(TABLES): requirements/cross-tables.txt pyproject.toml
	$(make_venv311) "$(TABLES_VENV)"
	@echo "installing Anonymeter and what it needs (1 GB)"
	@$(TABLES_PIP) install --require-hashes --only-binary :all: --requirement $<
	@$(TABLES_PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

$(INSTALLED): pyproject.toml $(CORE)
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@
