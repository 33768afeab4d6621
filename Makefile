# Everything runs from .venv, which `make install` fills from requirements.lock alone.
.DEFAULT_GOAL := help
SHELL := /bin/sh
VENV := .venv
PY := $(VENV)/bin/python
INSTALLED := $(VENV)/.installed
# Settings of whoever calls make must reach neither tests nor checks: no test may touch a real database or broker.
CLEAN_ENV := env -u DATABASE_URL -u DATABASE_URL_FILE REDIS_URL=redis://127.0.0.1:1/0 RESTARTSCOPE_DATA_DIR=$(CURDIR)/var/test
PYTEST := $(PY) -m pytest -q
PARALLEL ?= -n 2 --dist loadfile
# Many examples of the same few statements: one database is enough for them.
SAME_SQL := --ignore tests/properties --ignore tests/fuzz --ignore tests/store/test_late_start.py --ignore tests/watch/test_faults.py --ignore tests/watch/test_judged.py --ignore tests/accounts/test_served.py
# Names of the interpreters to try; a name on the path may be a shim that does not run.
PYTHONS := python3.11 python3.12 python3.13 python3.14 python3

.PHONY: help install demo test test-deep lint types checks test-postgres test-sqlite browser busybox lock bench screenshots messages clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/\1|\2/' | awk -F'|' '{printf "  make %-12s %s\n", $$1, $$2}'

install: $(INSTALLED) ## make .venv from requirements.lock (needs Python 3.11 or later, nothing else)

$(INSTALLED): requirements.lock
	@set -e; \
	if [ ! -x $(PY) ]; then \
	  for name in $(PYTHONS); do \
	    if $$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then found=$$name; break; fi; \
	  done; \
	  if [ -z "$$found" ]; then echo "Python 3.11 or later is needed, and none of these runs: $(PYTHONS)" >&2; exit 1; fi; \
	  echo "Making $(VENV) with $$($$found --version)"; \
	  if ! $$found -m venv $(VENV); then \
	    rm -rf $(VENV); echo "$$found cannot make a virtual environment (Debian: install python3-venv)" >&2; exit 1; \
	  fi; \
	fi; \
	echo "Installing from requirements.lock"; \
	$(PY) -m pip install --quiet --disable-pip-version-check --no-input --require-hashes --only-binary :all: -r requirements.lock
	@touch $@

demo: $(INSTALLED) ## start everything against a simulated cluster, and print where to look
	@$(PY) -m demo

test: checks browser busybox test-postgres test-sqlite ## all checks and all tests, on PostgreSQL and SQLite, set-up included

test-deep: $(INSTALLED) browser ## the tests that take long
	@$(CLEAN_ENV) $(PYTEST) $(PARALLEL) -m deep || [ $$? -eq 5 ] # 5: there are none

checks: lint types
	@$(CLEAN_ENV) $(PY) manage.py check --fail-level WARNING
	@$(CLEAN_ENV) $(PY) manage.py makemigrations --check --dry-run

lint: $(INSTALLED) ## style, formatting and the import contract
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(VENV)/bin/lint-imports --no-logo

types: $(INSTALLED) ## mypy
	@$(CLEAN_ENV) $(PY) -m mypy

browser: $(INSTALLED)
	@$(PY) -m tests.support.chromium

busybox: $(INSTALLED)
	@$(PY) -m tests.support.busybox

test-postgres: $(INSTALLED)
	@echo "Database tests on PostgreSQL"
	@$(CLEAN_ENV) $(PY) -m tests.support.postgres $(PYTEST) $(PARALLEL) -m "not deep and not browser" --database-only $(SAME_SQL)

test-sqlite: $(INSTALLED)
	@echo "All tests on SQLite"
	@$(CLEAN_ENV) $(PYTEST) $(PARALLEL) -m "not deep"

lock: ## resolve the dependencies anew (needs uv on the PATH)
	@uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header --group dev pyproject.toml -o requirements.lock
	@uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-header -c requirements.lock pyproject.toml -o requirements-runtime.lock

bench: $(INSTALLED) ## events stored per second, against the limit of the same machine
	@$(PY) -m bench

screenshots: $(INSTALLED) browser ## pictures of the real pages, for the README
	@$(PY) -m tests.browser.screenshots

messages: $(INSTALLED) ## bring the translations' catalogue up to date, and compile it
	@$(CLEAN_ENV) $(PY) -m tests.support.catalogue

clean: ## remove .venv, caches and everything that was stored
	@rm -rf $(VENV) var .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
