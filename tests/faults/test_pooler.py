"""Tests with PgBouncer. ``make test-pooled`` runs the whole suite behind it."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from django.core.management import CommandError, call_command

from apps.core.tenancy.models import Shop
from tests.support import factories
from tests.support.api_client import ApiClient
from tests.support.databases.pooler import use_pooler
from tests.support.servers.live import get_database_url
from tests.support.servers.timed_client import TAG

pytestmark = [pytest.mark.slow, pytest.mark.postgres, pytest.mark.own_sessions]

SESSIONS = 2
# Settings that the pooler resets for each session or transaction.
POOLER_SETTINGS = {"client_encoding", "DateStyle", "TimeZone", "standard_conforming_strings", "application_name"}
EACH_ANEW = {"transaction_isolation", "transaction_read_only", "transaction_deferrable"}


@pytest.fixture
def api(shop: Shop) -> Iterator[ApiClient]:
    """Yield a client of a shop behind the pooler."""
    with use_pooler(SESSIONS):
        installation = factories.make_installation(shop)
        yield ApiClient(factories.make_token(installation), installation)


def get_session_leftovers() -> set[str]:
    leftovers: set[str] = set()
    lines = [psycopg.connect(get_database_url(), prepare_threshold=None) for _ in range(SESSIONS)]
    # Each connection occupies a session until closed, so the next connection queries another session.
    for line in lines:
        leftovers.update(name for (name,) in line.execute("SELECT name FROM pg_settings WHERE source = 'session'"))
    for line in lines:
        line.close()
    return leftovers - POOLER_SETTINGS - EACH_ANEW


def test_sessions_of_a_pooler_keep_no_state(api: ApiClient, tmp_path: Path) -> None:
    call_command("migrate", verbosity=0)
    with pytest.raises(CommandError, match="cannot work through a pooler"):
        call_command("backup", str(tmp_path / "backup"))

    assert api.post("script_tags.json", TAG).status_code == 201
    assert get_session_leftovers() == set()


def test_a_read_only_shop_behind_a_pooler_has_a_complete_archive(api: ApiClient, shop: Shop, tmp_path: Path) -> None:
    write_response = api.post("script_tags.json", TAG)

    call_command("export_shop", shop.domain, str(tmp_path / "archive"), "--final")
    refused = api.post("script_tags.json", TAG)
    read_response = api.get("script_tags.json")
    call_command("set_shop_read_only", shop.domain, "--off")

    assert (write_response.status_code, refused.status_code, read_response.status_code) == (201, 503, 200)
    assert [tag["id"] for tag in read_response.json()["script_tags"]] == [write_response.json()["script_tag"]["id"]]
    assert api.post("script_tags.json", TAG).status_code == 201
    assert get_session_leftovers() == set()
