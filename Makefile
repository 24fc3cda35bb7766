# Needs Python 3.11 or newer, make and a C compiler; everything else comes with the environment.
PYTHON ?= python3
UV := .venv/bin/uv
RUN := .venv/bin/python
export PORT ?= 8000
export PATH := $(CURDIR)/.venv/bin:$(PATH)

.PHONY: run test environment check format migrate static bench bench-quick openapi

## run: the whole product on 127.0.0.1:$(PORT): web, worker and scheduler; Ctrl-C stops all
run: environment
	@$(RUN) manage.py migrate --verbosity 0
	@$(RUN) manage.py collectstatic --noinput --verbosity 0
	@$(RUN) manage.py demo
	@exec $(RUN) -m honcho start --no-prefix

## test: the test suite; on SQLite, or on the PostgreSQL of DATABASE_URL
test: environment
	@$(RUN) -m pytest -n 3 --dist loadgroup $(ARGS)

## check: lint, types, layers, migrations, deployment settings, the committed OpenAPI document
check: environment
	ruff check .
	ruff format --check .
	mypy .
	lint-imports
	djlint --lint --quiet templates apps
	djlint --check --quiet templates apps
	$(RUN) manage.py makemigrations --check --dry-run
	BACKOFFICE_BEHIND_TLS_PROXY=on $(RUN) manage.py check --deploy --fail-level WARNING
	$(RUN) manage.py openapi --check

format: environment
	ruff check --fix .
	ruff format .
	-djlint --reformat --quiet templates apps  # exits with 1 where it changed something

openapi: environment
	$(RUN) manage.py openapi

environment: .venv/installed

.venv/installed: pyproject.toml uv.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Backoffice needs Python 3.11 or newer")'
	@test -x .venv/bin/python || $(PYTHON) -m venv .venv
	@test -x $(UV) || .venv/bin/python -m pip install --quiet --disable-pip-version-check uv
	@$(UV) sync --frozen --quiet --inexact --python .venv/bin/python
	@touch $@

## bench: every variant with the same load, up to a million rows; needs wrk and PostgreSQL
bench: environment
	$(RUN) -m benchmarks.run

## bench-quick: the same in under three minutes, without the million rows
bench-quick: environment
	$(RUN) -m benchmarks.run --quick
