"""Tests of the commands in docs/operators.md."""

import base64
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.test import override_settings

from apps.content.domain import blob_store
from apps.core.rest.reading import render_cache
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from backoffice.configuration.storages import get_storage_settings
from tests.faults.conftest import connect_from_outside
from tests.support import factories, services
from tests.support.api_client import ApiClient
from tests.support.files.images import make_plain_image
from tests.support.servers.live import get_database_url
from tests.support.servers.timed_client import TAG
from tests.support.types import JsonObject

pytestmark = [pytest.mark.slow, pytest.mark.own_sessions]

PAGE = (Path(settings.BASE_DIR) / "docs" / "operators.md").read_text()


def get_documented_command(section: str, folder: Path) -> list[str]:
    """Return the command below a heading of docs/operators.md, with ``folder`` as the backup folder."""
    match = re.search(r"# " + section + r"\n.*?```sh\n\.venv/bin/python (.*?) /var/backups/\S+\n```", PAGE, re.DOTALL)
    assert match
    return [sys.executable, *match[1].split(), str(folder)]


# Runs several manage.py commands in one process, because starting Django takes longer than most commands. Prints the
# exit status and output of each command.
_IN_TURN = """
import contextlib, io, json, os, sys
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backoffice.settings")
from django.core.management import ManagementUtility
ended = []
for arguments in json.loads(sys.argv[1]):
    code, said = 0, io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            ManagementUtility(arguments).execute()
        except SystemExit as end:
            code = end.code or 0
    ended.append((code, said.getvalue()))
print(json.dumps(ended))
"""


def run_command(arguments: list[str], installation: "BackupInstallation") -> str:
    for program in () if connection.vendor == "sqlite" else ("pg_dump", "pg_restore"):
        services.require_service(program, shutil.which(program))
    environment = {name: value for name, value in os.environ.items() if name != "BACKOFFICE_SECRET_KEY"}
    env = {**environment, "DATABASE_URL": installation.url, "BACKOFFICE_DATA_DIR": str(installation.data)}
    ended = subprocess.run(arguments, cwd=settings.BASE_DIR, env=env, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def run_in_one_process(commands: list[list[str]], installation: "BackupInstallation") -> list[tuple[int, str]]:
    arguments = [words[words.index("manage.py") :] for words in commands]
    ended = json.loads(run_command([sys.executable, "-c", _IN_TURN, json.dumps(arguments)], installation))
    return [(code, output) for code, output in ended]


class BackupInstallation:
    def __init__(self, data: Path, url: str) -> None:
        data.mkdir(exist_ok=True)
        self.data, self.url = data, url

    def connect(self) -> Any:
        if connection.vendor == "sqlite":
            return sqlite3.connect(self.url.removeprefix("sqlite:///"), isolation_level=None)
        return psycopg.connect(self.url, autocommit=True)

    def rows(self) -> dict[str, list[str]]:
        """Return every row of every table as text, and other database objects such as keys, triggers and sequences."""
        if connection.vendor == "sqlite":
            tables = "SELECT name FROM sqlite_master WHERE type = 'table'"
            row, other_queries = "SELECT * FROM {}", _SQLITE
        else:
            tables = "SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = 'public'"
            row, other_queries = "SELECT one::text FROM {} AS one", _POSTGRESQL
        with self.connect() as other:
            names = [name for (name,) in other.execute(tables).fetchall()]
            queries = {name: row.format(name) for name in names} | other_queries
            return {name: sorted(map(repr, other.execute(sql).fetchall())) for name, sql in queries.items()}

    def files(self) -> dict[str, bytes]:
        paths = [path for path in self.data.rglob("*") if path.is_file() and "sqlite3" not in path.name]
        return {str(path.relative_to(self.data)): path.read_bytes() for path in paths}


_SQLITE = {"keys and triggers": "SELECT type, name, sql FROM sqlite_master"}
_POSTGRESQL = {
    # PostgreSQL formats types and parentheses differently after a restore.
    "keys": "SELECT conrelid::regclass::text, conname,"
    r" regexp_replace(pg_get_constraintdef(oid), '::(text|character varying)(\[\])?|[()]', '', 'g') FROM pg_constraint"
    " WHERE connamespace = 'public'::regnamespace",
    # PostgreSQL also formats index definitions differently after a restore, so compare only their properties.
    "indexes": "SELECT indexrelid::regclass::text, indisunique, indisvalid, indpred IS NOT NULL FROM pg_index i"
    " JOIN pg_class c ON c.oid = indexrelid WHERE relnamespace = 'public'::regnamespace",
    "triggers": "SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal",
    "functions": "SELECT pg_get_functiondef(p.oid) FROM pg_proc p WHERE pronamespace = 'public'::regnamespace"
    " AND prokind = 'f' AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = p.oid AND deptype = 'e')",
    "sequences": "SELECT sequencename, last_value FROM pg_sequences WHERE schemaname = 'public'",
}


@pytest.fixture
def source(db: None, tmp_path: Path) -> Iterator[BackupInstallation]:
    data = tmp_path / "data"
    installation = BackupInstallation(data, get_database_url())
    (data / "secret_key").write_text(settings.SECRET_KEY)
    if connection.vendor == "sqlite":
        (data / "backoffice.sqlite3").symlink_to(connection.settings_dict["NAME"])
    with override_settings(STORAGES={**settings.STORAGES, **get_storage_settings("", data / "media")}):
        yield installation


@pytest.fixture
def restored(source: BackupInstallation, tmp_path: Path) -> Iterator[BackupInstallation]:
    data = tmp_path / "elsewhere"
    if connection.vendor == "sqlite":
        yield BackupInstallation(data, f"sqlite:///{data / 'backoffice.sqlite3'}")
        return
    name = f"{connection.settings_dict['NAME']}_restored"
    with connect_from_outside() as other:
        other.execute(f"DROP DATABASE IF EXISTS {name}")
        other.execute(f"CREATE DATABASE {name}")
        yield BackupInstallation(data, f"{source.url.rpartition('/')[0]}/{name}")
        other.execute(f"DROP DATABASE {name} WITH (FORCE)")


def create_rows(shop: Shop, api: ApiClient) -> int:
    picture = base64.b64encode(make_plain_image("PNG", (40, 30))).decode()
    factories.make_member(shop, owner=True)
    bodies: JsonObject = {
        "products.json": {"product": {"title": "Mug ☕ \\ \t'", "images": [{"attachment": picture}]}},
        "customers.json": {"customer": {"email": "ada@example.com", "note": "a\nb"}},
        "orders.json": {"order": {"email": "ada@example.com", "line_items": [{"title": "Mug", "price": "9.95"}]}},
        "blogs.json": {"blog": {"title": "News"}},
        "metafields.json": {"metafield": {"namespace": "n", "key": "k", "value": "1", "type": "number_integer"}},
        "script_tags.json": TAG,
    }
    responses = {path: api.post(path, body, idempotency_key=path) for path, body in bodies.items()}
    assert {path: response.status_code for path, response in responses.items()} == dict.fromkeys(bodies, 201)
    with shop_scope(shop):
        blob_store.store_blob(b"a file of a theme")
    return int(responses["products.json"].json()["product"]["id"])


def is_refused(installation: BackupInstallation, sql: str) -> bool:
    with installation.connect() as other:
        try:
            other.execute(sql)
        except (sqlite3.Error, psycopg.Error) as error:
            return "never changed or deleted" in str(error)
    return False


@contextmanager
def use_installation(installation: BackupInstallation) -> Iterator[None]:
    connection.close()
    url = installation.url
    name = url.removeprefix("sqlite:///") if connection.vendor == "sqlite" else url.rpartition("/")[2]
    files = {**settings.STORAGES, **get_storage_settings("", installation.data / "media")}
    with pytest.MonkeyPatch.context() as patch, override_settings(STORAGES=files):
        patch.setitem(connection.settings_dict, "NAME", name)
        render_cache.cache.clear()
        yield
        connection.close()


def test_a_restored_backup_is_equal(
    source: BackupInstallation, restored: BackupInstallation, shop: Shop, tmp_path: Path
) -> None:
    installation = factories.make_installation(shop)
    api = ApiClient(factories.make_token(installation), installation)
    product = create_rows(shop, api)
    deleted_tag_id = api.post("script_tags.json", TAG).json()["script_tag"]["id"]
    api.delete(f"script_tags/{deleted_tag_id}.json")
    connection.close()

    backup = tmp_path / "backups" / "today"
    output = run_command(get_documented_command("Backups", backup), source)
    before = source.rows()
    back = run_command(get_documented_command("Restoring", backup), restored)

    assert output.startswith("The backup of ")
    assert back.endswith("No differences.\n") or "No differences." in back
    assert len([name for name, rows in before.items() if rows]) > 30
    assert restored.rows() == before
    assert len(source.files()) > 2
    assert restored.files() == source.files()
    for sql in ("DELETE FROM events_event", "UPDATE events_event SET topic = 'x'"):
        assert is_refused(restored, sql)
    assert restored.rows() == before

    with use_installation(restored):
        assert api.get("shop.json").json()["shop"]["id"] == shop.pk
        image = api.get(f"products/{product}.json").json()["product"]["image"]["src"]
        image_bytes = api.http.get(image.removeprefix(settings.BASE_URL)).content
        assert api.post("script_tags.json", TAG).json()["script_tag"]["id"] > deleted_tag_id
        call_command("check_blobs", stdout=StringIO())
        call_command("check_consistency", stdout=StringIO())

    assert image_bytes in source.files().values()
    # The comparison must be able to find differences.
    differing = {name for name, rows in restored.rows().items() if rows != before[name]}
    assert {"content_scripttag", "events_event"} <= differing

    # A backup or restore that cannot succeed must change nothing.
    rows_before = restored.rows()
    assert oct(backup.stat().st_mode)[-3:] == "700"
    damaged, incomplete, unreadable = (
        shutil.copytree(backup, backup.parent / name) for name in ("damaged", "incomplete", "unreadable")
    )
    archive = damaged / "files.tar"
    archive.write_bytes(archive.read_bytes()[:-1] + b"x")
    (incomplete / "files.tar").unlink()
    (unreadable / "manifest.json").write_text("{}")
    back_up, back_up_damaged = (get_documented_command("Backups", folder) for folder in (backup, damaged))
    checks = [back_up, [*back_up, "--check"], [*back_up_damaged, "--check"]]
    second_backup, intact, broken = run_in_one_process(checks, source)
    put_back = run_in_one_process(
        [get_documented_command("Restoring", folder) for folder in (backup, damaged, incomplete, unreadable)], restored
    )
    assert second_backup == (1, f"CommandError: {backup} already exists.\n")
    assert intact[0] == 0
    assert "is undamaged" in intact[1]
    assert [code for code, _ in (broken, *put_back)] == [1] * 5
    missing = f"{incomplete / 'files.tar'} is missing"
    messages = ["is damaged", "The database is not empty", "is damaged", missing, "Cannot read"]
    for (_, output), message in zip((broken, *put_back), messages, strict=True):
        assert message in output
    assert restored.rows() == rows_before
