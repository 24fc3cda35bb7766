"""Tests that an invalid setting prevents the start with a one-line error that names the variable."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

from backoffice.configuration import env
from tests.support.servers.ports import find_free_port

SECONDS = 300
OPERATORS = Path(settings.BASE_DIR, "docs", "operators.md")
BAD = {
    "PORT": ("abc", "70000", "0", "-1"),
    "WEB_PROCESSES": ("x", "0"),
    "WEB_THREADS": ("1.5",),
    "WORKERS": ("many",),
    # The second URL is valid, but a replica needs PostgreSQL and a cache.
    "BACKOFFICE_REPLICA_URL": ("foo://x", "postgres://a@b/c"),
    "BACKOFFICE_REPLICA_LAG_SECONDS": ("0", "soon"),
    "BACKOFFICE_MAX_JOBS_PER_SHOP": ("-1", "some"),
    "BACKOFFICE_TASK_ROUTES": ("orders.*", "orders.*=nosuch", "=bulk"),
    "EMAIL_URL": ("foo", "foo://x"),
    "BROKER_URL": ("foo://x", "redis", "amqp://"),
    "CACHE_URL": ("foo://x", "redis://"),
    "STORAGE_URL": ("ftp://x", "s3://"),
    "DATABASE_URL": ("foo://x", "nonsense", "postgres://a:b@c:99999999/d", "postgres://a@b:5432,:1/d"),
    "BACKOFFICE_BASE_URL": ("shop.example", "ftp://shop.example", "https://"),
    "BACKOFFICE_DATA_DIR": ("/proc/x",),
    "BACKOFFICE_LOG_LEVEL": ("LOUD",),
    "BACKOFFICE_RATE_LIMIT": ("yes",),
    "BACKOFFICE_RATE_LIMIT_PER_SECOND": ("0", "nan", "x"),
    "BACKOFFICE_LOG_FORMAT": ("xml",),
    "BACKOFFICE_ACCESS_LOG": ("yes",),
    "OTEL_EXPORTER_OTLP_ENDPOINT": ("collector:4318", "ftp://collector", "http://"),
    "SENTRY_DSN": ("nonsense", "https://sentry.example/1"),
    "BACKOFFICE_TRUSTED_PROXIES": ("10.0.0.0/99", "proxy"),
    "BACKOFFICE_REQUIRE_TWO_FACTOR_FROM": ("soon",),
    "BACKOFFICE_ID_RANGE": ("-1", "9007", "2"),
    "BACKOFFICE_BRAND": ("my brand",),
    "BACKOFFICE_WEBHOOK_BROKERS": (
        "amqp://mq/?exchange=e",
        "a=amqp://mq/",
        "a=http://mq/?exchange=e",
        "A b=amqp://mq/?exchange=e",
    ),
    "BACKOFFICE_WEBHOOK_EVENTBRIDGE": ("yes",),
}


def run_product(data: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a process of the product with these environment variables, and without the test run's own settings."""
    ours = ("BACKOFFICE_", env.CHECKED, "DATABASE_URL", "BROKER_URL", "CACHE_URL", "STORAGE_URL", "EMAIL_URL", "PORT")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    variables = {
        **clean,
        "BACKOFFICE_DATA_DIR": str(data),
        "DJANGO_SETTINGS_MODULE": "backoffice.settings",
        **variables,
    }
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=settings.BASE_DIR,
        env=variables,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def assert_one_sentence(ended: subprocess.CompletedProcess[str], variable: str) -> None:
    assert ended.returncode != 0
    assert ended.stdout == ""
    assert ended.stderr.startswith("Backoffice cannot start: "), ended.stderr
    assert ended.stderr.count("\n") == 1, ended.stderr
    assert variable in ended.stderr


ALL_AT_ONCE = """
import os
from backoffice.configuration.env import exit_on_configuration_error
from importlib import reload
import backoffice.settings
for name, value in {pairs!r}:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        with exit_on_configuration_error():
            reload(backoffice.settings)
        print(name, value, "was taken")
    except SystemExit as end:
        print(end)
    finally:
        os.environ.pop(name) if before is None else os.environ.update({{name: before}})
"""


def test_every_bad_value_gives_one_sentence_that_names_its_variable(tmp_path: Path) -> None:
    pairs = [(name, value) for name, values in BAD.items() for value in values]

    ended = run_product(tmp_path, "-c", ALL_AT_ONCE.format(pairs=pairs))

    lines = ended.stdout.splitlines()
    assert len(lines) == len(pairs), ended.stdout + ended.stderr
    wrong = [
        (name, value, line)
        for (name, value), line in zip(pairs, lines, strict=True)
        if not line.startswith("Backoffice cannot start: ") or name not in line
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "command",
    [
        "manage.py migrate",
        *(f"-m backoffice.entrypoints.{name}" for name in ("serve", "worker", "scheduler", "run_all")),
    ],
)
def test_every_process_says_so_and_ends(tmp_path: Path, command: str) -> None:
    ended = run_product(tmp_path, *command.split(), PORT=str(find_free_port()), BACKOFFICE_RATE_LIMIT="perhaps")

    assert_one_sentence(ended, "BACKOFFICE_RATE_LIMIT")


def test_passwords_in_addresses_are_not_repeated(tmp_path: Path) -> None:
    ended = run_product(tmp_path, "manage.py", "check", BROKER_URL="rediss3://user:hunter2@broker:6379/0")

    assert_one_sentence(ended, "BROKER_URL")
    assert "hunter2" not in ended.stderr


def test_a_port_in_use_is_reported_before_anything_is_written(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    with socket.socket() as listening_socket:
        listening_socket.bind(("127.0.0.1", 0))
        listening_socket.listen()
        port = str(listening_socket.getsockname()[1])
        ended = run_product(folder, "-m", "backoffice.entrypoints.run_all", PORT=port)

    assert_one_sentence(ended, f"127.0.0.1:{port}")
    assert not folder.exists()


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("DATABASE_URL", "postgres://nobody:secret@127.0.0.1:{port}/x"),
        ("DATABASE_URL", "sqlite:////nowhere/at/all.sqlite3"),
        ("BROKER_URL", "redis://127.0.0.1:{port}/0"),
        ("BROKER_URL", "amqp://guest:secret@127.0.0.1:{port}//"),
        ("CACHE_URL", "redis://127.0.0.1:{port}/0"),
        ("STORAGE_URL", "s3://key:secret@bucket?endpoint_url=http://127.0.0.1:{port}&region=eu"),
    ],
)
def test_a_part_that_does_not_answer_is_named_in_seconds(tmp_path: Path, variable: str, value: str) -> None:
    values = {"PORT": str(find_free_port()), variable: value.format(port=find_free_port())}

    ended = run_product(tmp_path, "-m", "backoffice.entrypoints.run_all", **values)

    assert_one_sentence(ended, variable)
    assert "secret" not in ended.stderr
    assert not (tmp_path / "backoffice.sqlite3").exists() or variable != "DATABASE_URL"


def test_an_unknown_variable_is_named_with_the_nearest_setting(tmp_path: Path) -> None:
    ended = run_product(tmp_path, "manage.py", "version", BACKOFFICE_RATELIMIT="off", BACKOFFICE_COLOR="blue")

    assert ended.returncode == 0
    assert ended.stderr == (
        "BACKOFFICE_COLOR is set, but Backoffice has no such setting. See docs/operators.md.\n"
        "BACKOFFICE_RATELIMIT is set, but Backoffice has no such setting. Did you mean BACKOFFICE_RATE_LIMIT?\n"
    )


@pytest.mark.parametrize("database_url", ["", "postgres://a@b/c"])
def test_every_variable_that_is_read_is_documented(tmp_path: Path, database_url: str) -> None:
    code = "import backoffice.settings; from backoffice.configuration import env; print(*env.read_names)"

    ended = run_product(tmp_path, "-c", code, DATABASE_URL=database_url)

    tables = "".join(line for line in OPERATORS.read_text().splitlines() if line.startswith("| `"))
    documented = {name for name in re.findall(r"`([A-Z_]+)`", tables) if name.startswith("BACKOFFICE_")}
    assert {name for name in ended.stdout.split() if name.startswith("BACKOFFICE_")} == documented
    assert {name for name in ended.stdout.split() if f"`{name}`" not in tables} == set()
