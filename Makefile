# Requires make and Python 3.11 or newer. Everything else is installed into .venv.
PYTHON ?= python3
NPM ?= npm
UV := .venv/bin/uv
RUN := .venv/bin/python
export PORT ?= 8000
export PATH := $(CURDIR)/.venv/bin:$(PATH)
# Containers often set this variable. Each process would then compile 2,400 modules and take 5 seconds to start, not 2.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run test test-quick test-pooled environment create-venv check check-types check-others audit format bench bench-quick bench-bodies bench-million openapi examples soak

## help: list the targets
help:
	@sed -n 's/^## \([a-z-]*\): \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | awk -F '\t' '{ printf "  make %-14s %s\n", $$1, $$2 }'

## run: start Backoffice with a demo shop on http://127.0.0.1:8000 (PORT=8001 make run: on another port)
run: .venv/runs
	@exec $(RUN) -m backoffice.entrypoints.run_all

## test: run the tests on SQLite or on the database in DATABASE_URL
test: environment node_modules/.package-lock.json
	@$(RUN) -m pytest -n 3 --dist loadgroup $(ARGS)

## test-quick: run a selection of the tests in about three minutes
test-quick: environment
	@$(RUN) -m pytest -n 3 --dist loadgroup --quick $(ARGS)

## test-pooled: run the database tests through PgBouncer on the PostgreSQL database in DATABASE_URL
test-pooled: environment node_modules/.package-lock.json
	@TEST_POOLER=on $(RUN) -m pytest -n 2 --dist loadgroup $(ARGS)

## check: run all checks: lint, types, layers, migrations, deployment settings, API documents, translations
# mypy takes as long as all other checks together, so it runs in parallel.
check: environment
	@$(MAKE) --no-print-directory --jobs 2 check-types check-others

check-types: environment
	mypy .

check-others: environment
	ruff check .
	ruff format --check .
	lint-imports
	djlint --lint --quiet templates apps
	djlint --check --quiet templates apps
	@if command -v hadolint >/dev/null; then hadolint Dockerfile; fi
	$(RUN) manage.py makemigrations --check --dry-run
	BACKOFFICE_BEHIND_TLS_PROXY=on $(RUN) manage.py check --deploy --fail-level WARNING
	$(RUN) manage.py openapi --check
	$(RUN) manage.py makemessages --check

## audit: look for known vulnerabilities in all locked packages, with the vulnerability service of PyPI
audit: environment
	$(RUN) -m tests.support.dependency_audit

## format: format Python and templates
format: environment
	ruff check --fix .
	ruff format .
	-djlint --reformat --quiet templates apps  # exits with 1 if a file was changed

## soak: run the long tests for rare failures for hours (SHARE=0.1: shorter, BOUND: time limit in seconds)
soak: SHARE ?= 1
soak: BOUND ?= 21600
soak: environment
	SOAK_SHARE=$(SHARE) $(RUN) -m pytest -m soak -n 0 --timeout 0 --session-timeout $(BOUND) $(ARGS)

## openapi: regenerate the OpenAPI document, the Postman collection and the API changelog
openapi: environment
	$(RUN) manage.py openapi

## examples: regenerate the example requests and responses of /docs/api/ with a demo shop
examples: environment
	EXAMPLES=write $(RUN) -m pytest -n 0 tests/api/test_examples.py

## environment: create .venv with all dependencies, also those for development
environment: .venv/installed

.venv/installed: .venv/bin/uv pyproject.toml uv.lock
	@$(UV) sync --frozen --quiet --inexact --python .venv/bin/python
	@touch $@ .venv/runs

# Without the development dependencies, only a third of all packages is installed.
.venv/runs: .venv/bin/uv pyproject.toml uv.lock
	@echo "Installing dependencies …"
	@$(UV) sync --frozen --quiet --inexact --no-dev --python .venv/bin/python
	@touch $@

# Some tests need these packages. npm writes this file last. Without npm, these tests are skipped.
node_modules/.package-lock.json: package.json package-lock.json
	@{ command -v "$(NPM)" && "$(NPM)" ci --loglevel=error --no-audit --no-fund; } >/dev/null \
		|| echo "npm did not install the packages in package.json. Tests that need these packages are skipped."

# An interrupted or failed creation, or a new Python version, can leave a .venv that does not work. Create it again.
ifneq ($(shell .venv/bin/python -c '' 2>/dev/null && .venv/bin/uv --version 2>/dev/null | cut -c 1-2),uv)
.PHONY: .venv/bin/uv
endif
.venv/bin/uv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Backoffice needs Python 3.11 or newer")'
	@.venv/bin/python -c 'import pip, sys; sys.exit(sys.prefix == sys.base_prefix)' 2>/dev/null || $(MAKE) --no-print-directory create-venv
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check uv

create-venv:
	@echo "Creating the Python environment in .venv …"
	@rm -rf .venv
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null && $(PYTHON) -m venv .venv || { rm -rf .venv; echo \
		"$(PYTHON) can't create .venv. On Debian and Ubuntu, run: apt install python3-venv. Then try again."; exit 1; } >&2

## bench: measure every variant under the same load with up to a million rows (needs wrk and PostgreSQL)
bench: environment
	$(RUN) -m benchmarks.run

## bench-bodies: measure the CPU time of the largest request body for each write route, in a separate database
bench-bodies: environment
	dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && export BACKOFFICE_DATA_DIR="$$dir" && unset DATABASE_URL \
		&& $(RUN) manage.py migrate -v0 && $(RUN) -m benchmarks.bodies

## bench-million: measure the database time of all reads with a million rows; ARGS=--plans compares query plans
bench-million: environment
	$(RUN) -m benchmarks.million $(ARGS)

## bench-quick: run bench without the million rows, in about three minutes
bench-quick: environment
	$(RUN) -m benchmarks.run --quick
