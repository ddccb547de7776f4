# make run: the app with everything it needs.  make test: every check.  Both need only Python 3.11+ and make.

PYTHON ?=
VENV := .venv
BIN := $(VENV)/bin/python

# Processes of tests: one for each processor, at most four. A file is run by one of them (tests/schedule.py).
PYTEST := -m pytest --numprocesses logical --maxprocesses 4 --dist loadfile --no-loadscope-reorder

# Bytecode of the product and of the tests is kept, whoever forbade it: each of forty processes would compile it anew.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help run test suite check lint types coverage screenshots install install-dev chromium programs clients clean

help:
	@echo "make run    install what is needed and start the app"
	@echo "make test   install the tools, then lint, types and all tests"
	@echo "make check  lint and types only"
	@echo "make coverage  all tests, then how much of the lines and branches they reach"
	@echo "make clients  get Open WebUI too (2.6 GB), then the tests with programs of others"
	@echo "make screenshots  take the pictures of docs/image anew"
	@echo "make clean  remove the virtual environment and caches (sessions and weights stay)"

run: install
	@$(BIN) -m model.embedded.weights || echo "Without them the page opens all the same: fetch them there, or choose another model."
	@$(BIN) cli.py run

test: install-dev chromium programs
	@began=$$(date +%s); $(MAKE) --no-print-directory lint && $(MAKE) --no-print-directory --jobs=2 types suite; ended=$$?; \
	took=$$(($$(date +%s) - began)); echo "make test: lint, types and these tests took $$((took / 60)) min $$((took % 60)) s"; \
	exit $$ended

suite:
	@$(BIN) $(PYTEST) --durations=10

coverage: install-dev chromium
	@$(BIN) -m coverage erase
	$(BIN) -m coverage run $(PYTEST)
	@$(BIN) -m coverage combine -q
	@$(BIN) -m coverage report --skip-covered --sort=miss

check: install-dev lint types

lint:
	$(BIN) -m ruff check .
	$(BIN) -m ruff format --check .
	$(VENV)/bin/oxlint .

types:
	$(BIN) -m mypy .

screenshots: install-dev chromium
	$(BIN) -m tests.journey.screenshot

install:
	@PYTHON="$(PYTHON)" sh .ci/install requirements.txt

install-dev:
	@PYTHON="$(PYTHON)" sh .ci/install requirements-dev.txt

chromium: install-dev
	@sh .ci/chromium

# Programs of others that the tests drive; what npm and PyPI bring within two minutes.
programs: install-dev
	@sh .ci/clients conformance javascript sillytavern agents mcp1 a2a03

clients: install-dev chromium programs
	@sh .ci/clients open-webui
	$(BIN) -m pytest -q -rs tests/door/mcp/test_conformance.py tests/door/mcp/test_clients.py tests/door/a2a/test_client_0_3.py \
		tests/door/openai/test_agent_libraries.py tests/door/openai/test_javascript.py \
		tests/door/openai/test_programs.py tests/door/openai/test_program_pages.py

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
