# make demo    install, then run the pipe on sample_data
# make test    install, then run the tests
# make check   linters and type checker
# make bench   benchmarks: a table, and bench.json
# make soak    kills, nonsense, faults and a million records: an hour or so, with figures
# make gpu-check   the classifier on a CUDA device, where there is one

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test check bench soak gpu-check clean
.DELETE_ON_ERROR:

# One stamp for all targets: nothing is installed again until the package's metadata changes.
$(STAMP): pyproject.toml .ci/constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -c .ci/constraints.txt torch
	$(BIN)/python -m pip install --quiet -c .ci/constraints.txt -e '.[embedded,dev]'
	touch $@

demo: $(STAMP)
	PATH="$(CURDIR)/$(BIN):$$PATH" sh sample_data/demo.sh

test: $(STAMP)
	$(BIN)/python -m pytest

check: $(STAMP)
	$(BIN)/ruff check grasp_cli tests
	$(BIN)/ruff format --check grasp_cli tests
	$(BIN)/mypy

bench: $(STAMP)
	$(BIN)/python -m tests.benchmarks.run

soak: $(STAMP)
	$(BIN)/python -m tests.soak.run

gpu-check: $(STAMP)
	$(BIN)/python -m tests.gpu.check

clean:
	rm -rf $(VENV) grasp_index demo_output bench.json build *.egg-info
