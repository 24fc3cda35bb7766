# Needs Python 3.11 or newer and make; everything else comes with the environment.
PYTHON ?= python3
NPM ?= npm
UV := .venv/bin/uv
RUN := .venv/bin/python
export PORT ?= 8000
export PATH := $(CURDIR)/.venv/bin:$(PATH)
# Where containers set it, each process compiles 2,400 modules anew: it starts in 5 seconds instead of 2.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test test-pooled environment check check-types check-others format migrate static bench bench-quick bench-bodies bench-million openapi examples soak

## run: the whole product on 127.0.0.1:$(PORT): web, worker, scheduler and webhooks; Ctrl-C stops all
run: .venv/runs
	@exec $(RUN) -m backoffice.run

## test: the test suite; on SQLite, or on the PostgreSQL of DATABASE_URL (what can differ: ARGS=--second-database)
test: environment node_modules/.package-lock.json
	@$(RUN) -m pytest -n 3 --dist loadgroup $(ARGS)

## test-pooled: the tests that use the database, through a PgBouncer before the PostgreSQL of DATABASE_URL
test-pooled: environment node_modules/.package-lock.json
	@TEST_POOLER=on $(RUN) -m pytest -n 2 --dist loadgroup $(ARGS)

## check: lint, types, layers, migrations, deployment settings, the committed OpenAPI document, the catalogues of languages
# mypy takes as long as everything else together.
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
	$(RUN) manage.py messages --check

format: environment
	ruff check --fix .
	ruff format .
	-djlint --reformat --quiet templates apps  # exits with 1 where it changed something

## soak: what looks for rare things: made-up input, silent clients, load; SHARE=0.1 of the time, none begun after BOUND seconds
soak: SHARE ?= 1
soak: BOUND ?= 21600
soak: environment
	SOAK_SHARE=$(SHARE) $(RUN) -m pytest -m soak -n 0 --timeout 0 --session-timeout $(BOUND) $(ARGS)

openapi: environment
	$(RUN) manage.py openapi

## examples: the requests and answers of /docs/api/, made anew in a demo store
examples: environment
	BACKOFFICE_EXAMPLES=write $(RUN) -m pytest -n 0 tests/api/test_examples.py

environment: .venv/installed

.venv/installed: .venv/bin/uv pyproject.toml uv.lock
	@$(UV) sync --frozen --quiet --inexact --python .venv/bin/python
	@touch $@ .venv/runs

# What running needs, a third of what developing does.
.venv/runs: .venv/bin/uv pyproject.toml uv.lock
	@echo "Installing what Backoffice needs …"
	@$(UV) sync --frozen --quiet --inexact --no-dev --python .venv/bin/python
	@touch $@

# The packages that some tests need. npm writes this file last. Without npm, those tests are skipped.
node_modules/.package-lock.json: package.json package-lock.json
	@{ command -v "$(NPM)" && "$(NPM)" ci --loglevel=error --no-audit --no-fund; } >/dev/null \
		|| echo "npm has not installed the packages of package.json: the tests that need them are skipped."

.venv/bin/uv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Backoffice needs Python 3.11 or newer")'
	@test -x .venv/bin/python || $(PYTHON) -m venv .venv
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check uv

## bench: every variant with the same load, up to a million rows; needs wrk and PostgreSQL
bench: environment
	$(RUN) -m benchmarks.run

## bench-bodies: the processor time of the largest body of each writing route, in a database of its own
bench-bodies: environment
	dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && export BACKOFFICE_DATA_DIR="$$dir" && unset DATABASE_URL \
		&& $(RUN) manage.py migrate -v0 && $(RUN) -m benchmarks.bodies

## bench-million: the database's part of everything that can be read, among a million customers and orders; 1 if over
bench-million: environment
	$(RUN) -m benchmarks.million $(ARGS)

## bench-quick: the same in under three minutes, without the million rows
bench-quick: environment
	$(RUN) -m benchmarks.run --quick
