# Requires make and Python 3.11 or newer. Everything else is installed into .venv.
PYTHON ?= python3
NPM ?= npm
UV := .venv/bin/uv
RUN := .venv/bin/python
export PORT ?= 8000
export PATH := $(CURDIR)/.venv/bin:$(PATH)
# Containers often set this variable. Each process would then compile 2,400 modules and take 5 seconds to start, not 2.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test test-pooled environment check check-types check-others format migrate static bench bench-quick bench-bodies bench-million openapi examples soak

## run: start web, worker, scheduler and webhooks on 127.0.0.1:$(PORT) until Ctrl-C
run: .venv/runs
	@exec $(RUN) -m backoffice.entrypoints.run_all

## test: run the tests on SQLite or on the database in DATABASE_URL (ARGS=--second-database: only tests that may differ)
test: environment node_modules/.package-lock.json
	@$(RUN) -m pytest -n 3 --dist loadgroup $(ARGS)

## test-pooled: run the database tests through PgBouncer on the PostgreSQL database in DATABASE_URL
test-pooled: environment node_modules/.package-lock.json
	@TEST_POOLER=on $(RUN) -m pytest -n 2 --dist loadgroup $(ARGS)

## check: lint, types, layers, migrations, deployment settings, OpenAPI document, Postman collection, API changelog, translation catalogs
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

format: environment
	ruff check --fix .
	ruff format .
	-djlint --reformat --quiet templates apps  # exits with 1 if a file was changed

## soak: run the long tests for rare failures (random input, silent clients, load). SHARE=0.1 shortens the tests, BOUND is the time limit in seconds
soak: SHARE ?= 1
soak: BOUND ?= 21600
soak: environment
	SOAK_SHARE=$(SHARE) $(RUN) -m pytest -m soak -n 0 --timeout 0 --session-timeout $(BOUND) $(ARGS)

openapi: environment
	$(RUN) manage.py openapi

## examples: regenerate the example requests and responses of /docs/api/ with a demo shop
examples: environment
	BACKOFFICE_EXAMPLES=write $(RUN) -m pytest -n 0 tests/api/test_examples.py

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

.venv/bin/uv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Backoffice needs Python 3.11 or newer")'
	@test -x .venv/bin/python || $(PYTHON) -m venv .venv
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check uv

## bench: measure every variant under the same load with up to a million rows (needs wrk and PostgreSQL)
bench: environment
	$(RUN) -m benchmarks.run

## bench-bodies: measure the CPU time of the largest request body for each write route, in a separate database
bench-bodies: environment
	dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && export BACKOFFICE_DATA_DIR="$$dir" && unset DATABASE_URL \
		&& $(RUN) manage.py migrate -v0 && $(RUN) -m benchmarks.bodies

## bench-million: measure the database time of all reads with a million customers and orders (exits with 1 if a read is too slow)
bench-million: environment
	$(RUN) -m benchmarks.million $(ARGS)

## bench-quick: run bench without the million rows, in about three minutes
bench-quick: environment
	$(RUN) -m benchmarks.run --quick
