"""Tests that the benchmark's other programs match the product's tables, and tests for the benchmark's errors."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.apps import apps
from django.conf import settings
from django.db.models import NOT_PROVIDED, Field

from benchmarks.floors import create_customer

Columns = dict[str, set[str]]
WRITTEN = {"customers_customer", "customers_address", "events_event"}
INSERT = re.compile(r"INSERT INTO (\w+) \((.*?)\)", re.DOTALL)
NAIVE = """
import django, json
django.setup()
models = django.apps.apps.get_app_config("naive").get_models()
print(json.dumps({model._meta.db_table: [field.column for field in model._meta.concrete_fields] for model in models}))
"""


def run_python(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=settings.BASE_DIR,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.fixture(scope="module")
def naive_columns() -> Columns:
    """Return the columns of the naive program's models, by table."""
    django = {"DJANGO_SETTINGS_MODULE": "benchmarks.naive.settings", "DATABASE_URL": "sqlite://:memory:"}
    process = run_python("-c", NAIVE, **django)
    assert process.returncode == 0, process.stderr
    return {table: set(columns) for table, columns in json.loads(process.stdout).items()}


@pytest.fixture(scope="module")
def floor_columns() -> Columns:
    """Return the columns in the floor program's INSERT statements, by table."""
    statements = INSERT.findall(Path(create_customer.__file__).read_text())
    return {table: {column.strip(' \n"') for column in columns.split(",")} for table, columns in statements}


def is_required(field: "Field[object, object]") -> bool:
    """Return True if PostgreSQL rejects a row without this column."""
    return not (field.null or field.primary_key or field.generated or field.db_default is not NOT_PROVIDED)


@pytest.mark.parametrize("variant", ["naive_columns", "floor_columns"])
def test_variants_have_every_column_that_a_row_needs(variant: str, request: pytest.FixtureRequest) -> None:
    variant_columns: Columns = request.getfixturevalue(variant)
    fields = {model._meta.db_table: model._meta.concrete_fields for model in apps.get_models()}

    missing = {
        f"{table}.{field.column}"
        for table in WRITTEN
        for field in fields[table]
        if is_required(field) and field.column not in variant_columns[table]
    }
    unknown = {
        f"{table}.{column}"
        for table, columns in variant_columns.items()
        for column in columns - {field.column for field in fields[table]}
    }

    assert missing == set()
    assert unknown == set()


def test_a_benchmark_without_wrk_fails(tmp_path: Path) -> None:
    process = run_python("-m", "benchmarks.run", "--quick", PATH=str(tmp_path))

    assert (process.returncode, process.stderr) == (1, "The benchmark needs wrk: apt install wrk\n")


def test_a_benchmark_without_postgresql_fails(tmp_path: Path) -> None:
    (tmp_path / "wrk").touch(mode=0o755)

    process = run_python(
        "-m", "benchmarks.run", "--quick", PATH=str(tmp_path), DATABASE_URL="postgres://127.0.0.1:1/none"
    )

    assert process.returncode == 1
    assert "The benchmark needs PostgreSQL; set DATABASE_URL." in process.stderr


def test_a_benchmark_whose_server_breaks_off_fails(tmp_path: Path) -> None:
    wrk = tmp_path / "wrk"
    wrk.write_text('#!/bin/sh\necho \'RESULT {"requests": 9, "refused": 0, "broken": 1}\'\n')
    wrk.chmod(0o755)
    code = "from benchmarks import load; load.run_load(1, 'list', 'token', '/', 1, 1)"

    process = run_python("-c", code, PATH=f"{tmp_path}:{os.environ['PATH']}")

    assert process.returncode == 1
    assert "1 requests were broken off" in process.stderr
