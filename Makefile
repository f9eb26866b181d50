# Everything starts here: `make demo`, `make test`, `make bench`, `make lint`. The first of them sets up .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PLUGIN := $(VENV)/.plugin

.PHONY: demo test bench lint format clean

demo: $(READY)
	$(BIN)/simfarm run configs/uno-demo.toml
	$(BIN)/simfarm report significance results/uno-demo

test: $(PLUGIN)
	$(BIN)/pytest -q -n 2 --dist loadfile

bench: $(READY)
	$(BIN)/python -m tests.bench

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo 'simfarm needs Python 3.11 or newer: make PYTHON=/path/to/python3.11'; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

# The tests' own game, in a package of its own as anyone's would be.
$(PLUGIN): $(READY)
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps -e tests/plugin
	touch $@

clean:
	rm -rf $(VENV) build *.egg-info
