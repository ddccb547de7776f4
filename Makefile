# make run: the app with everything it needs.  make test: every check.  Both need only Python 3.11+ and make.

PYTHON ?=
VENV := .venv
BIN := $(VENV)/bin/python

.PHONY: help run test check screenshots install install-dev chromium clean

help:
	@echo "make run    install what is needed and start the app"
	@echo "make test   install the tools, then lint, types and all tests"
	@echo "make check  lint and types only"
	@echo "make screenshots  take the pictures of docs/image anew"
	@echo "make clean  remove the virtual environment and caches (sessions and weights stay)"

run: install
	@$(BIN) -m model.weights || echo "Without them the page opens all the same: fetch them there, or choose another model."
	@$(BIN) cli.py run

test: install-dev chromium check
	$(BIN) -m pytest

check: install-dev
	$(BIN) -m ruff check .
	$(BIN) -m ruff format --check .
	$(BIN) -m mypy .

screenshots: install-dev chromium
	$(BIN) -m tests.journey.screenshot

install:
	@PYTHON="$(PYTHON)" sh .ci/install requirements.txt

install-dev:
	@PYTHON="$(PYTHON)" sh .ci/install requirements-dev.txt

chromium: install-dev
	@sh .ci/chromium

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
