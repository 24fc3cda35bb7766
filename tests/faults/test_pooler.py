"""Behind a pooler in transaction mode everything works, and nothing stays in a session that others get.

``make test-pooled`` runs the whole suite behind one.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from django.core.management import CommandError, call_command

from apps.shops.models import Shop
from apps.webhooks.domain.engine.dispatcher import notify
from tests import factories
from tests.client.conftest import database_url
from tests.conftest import ApiClient
from tests.pooler import behind_a_pooler

pytestmark = [pytest.mark.slow, pytest.mark.postgres, pytest.mark.own_sessions]

SESSIONS = 2
TAG = {"script_tag": {"src": "https://a.example/a.js", "event": "onload"}}
# What the pooler itself tells each session anew, and what each transaction begins with.
ITS_OWN = {"client_encoding", "DateStyle", "TimeZone", "standard_conforming_strings", "application_name"}
EACH_ANEW = {"transaction_isolation", "transaction_read_only", "transaction_deferrable"}


@pytest.fixture
def _pooled(shop: Shop) -> Iterator[None]:
    with behind_a_pooler(SESSIONS):
        yield


def told_in_sessions() -> set[str]:
    """What was set in the sessions that the pooler has, but for its own; and the channels that they listen to."""
    found: set[str] = set()
    lines = [psycopg.connect(database_url(), prepare_threshold=None) for _ in range(SESSIONS)]
    # Each holds a session while the next one asks.
    for line in lines:
        found.update(name for (name,) in line.execute("SELECT name FROM pg_settings WHERE source = 'session'"))
        found.update(name for (name,) in line.execute("SELECT pg_listening_channels()"))
    for line in lines:
        line.close()
    return found - ITS_OWN - EACH_ANEW


@pytest.mark.usefixtures("_pooled")
def test_nothing_stays_in_the_sessions_of_a_pooler(shop: Shop, tmp_path: Path) -> None:
    installation = factories.make_installation(shop)
    api = ApiClient(factories.make_token(installation), installation)

    call_command("migrate", verbosity=0)
    asyncio.run(asyncio.wait_for(notify.listen_for_notifications(lambda: None), 10))
    with pytest.raises(CommandError, match="cannot work through a pooler"):
        call_command("backup", str(tmp_path / "backup"))

    assert api.post("script_tags.json", TAG).status_code == 201
    assert told_in_sessions() == set()


@pytest.mark.usefixtures("_pooled")
def test_a_read_only_shop_is_so_behind_a_pooler_and_its_archive_is_whole(shop: Shop, tmp_path: Path) -> None:
    installation = factories.make_installation(shop)
    api = ApiClient(factories.make_token(installation), installation)
    written = api.post("script_tags.json", TAG)

    call_command("export_shop", shop.domain, str(tmp_path / "archive"), "--final")
    refused = api.post("script_tags.json", TAG)
    read = api.get("script_tags.json")
    call_command("set_shop_read_only", shop.domain, "--off")

    assert (written.status_code, refused.status_code, read.status_code) == (201, 503, 200)
    assert [tag["id"] for tag in read.json()["script_tags"]] == [written.json()["script_tag"]["id"]]
    assert api.post("script_tags.json", TAG).status_code == 201
    assert told_in_sessions() == set()
