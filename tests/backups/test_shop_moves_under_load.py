"""A shop moves while apps write to it: no acknowledged write is lost, and all other writes get an error."""

import gzip
import json
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.management import CommandError
from django.db import DatabaseError, connection, connections, transaction
from django.test import override_settings
from django.utils import timezone
from pytest_django import Settings

from apps.core.db.transient_errors import SHOP_MOVING_MESSAGE, is_read_only_shop_error, is_transient_db_error
from apps.core.jobs import publishing, queue
from apps.core.jobs.periodic_tasks import Every
from apps.core.tenancy import read_only
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import all_shops_scope, shop_scope
from apps.webhooks.domain.engine.claims import claim_deliveries
from apps.webhooks.domain.engine.dispatcher.endpoint_slots import AttemptKind
from apps.webhooks.domain.engine.fan_out import create_deliveries
from apps.webhooks.domain.engine.maintenance import scan_endpoints
from apps.webhooks.models import Endpoint, Pending
from backoffice.configuration.storages import get_storage_settings
from tests.backups.test_shop_moves import TAG, create_rows, empty_installation, run_command
from tests.support import factories
from tests.support.api_client import ApiClient
from tests.support.panel.client import Panel
from tests.support.panel.pages import NO_METAFIELDS
from tests.support.periodic import run_periodic_tasks
from tests.support.webhooks import create_blogs, make_subscription

pytestmark = pytest.mark.django_db(transaction=True)
SECONDS = 120
MUTATION = """mutation {
  webhookSubscriptionCreate(topic: SHOP_UPDATE, webhookSubscription: {uri: "https://app.example/"}) {
    webhookSubscription { id }
  }
}"""


class TagWriter(threading.Thread):
    """A thread that writes script tags until a write is rejected, and records acknowledged ids and the rejection."""

    def __init__(self, api: ApiClient) -> None:
        super().__init__(daemon=True)
        self.api, self.ids, self.written = api, list[int](), threading.Condition()
        self.refusal: Any = None

    def run(self) -> None:
        try:
            while self.refusal is None:
                response = self.api.post("script_tags.json", TAG)
                with self.written:
                    if response.status_code == 201:
                        self.ids.append(response.json()["script_tag"]["id"])
                    else:
                        self.refusal = response
                    self.written.notify_all()
        finally:
            connections.close_all()

    def await_more(self, number: int = 3) -> None:
        with self.written:
            target = len(self.ids) + number
            assert self.written.wait_for(lambda: len(self.ids) >= target or self.refusal is not None, SECONDS)


def read_archived_ids(archive: Path) -> set[int]:
    path = archive / "tables" / "content_scripttag.jsonl.gz"
    return {json.loads(line)[0] for line in gzip.decompress(path.read_bytes()).splitlines()}


def read_ids(api: ApiClient) -> Iterator[int]:
    last = 0
    while page := api.get("script_tags.json", limit=250, since_id=last).json()["script_tags"]:
        yield from (row["id"] for row in page)
        last = page[-1]["id"]


def test_acknowledged_writes_are_in_the_new_installation(media_root: Path, tmp_path: Path, settings: Settings) -> None:
    settings.RATE_LIMIT = False
    shop, other = factories.make_shop(), factories.make_shop()
    api = create_rows(shop, "mine")
    owner = Panel(factories.make_member(shop, owner=True), shop, raise_request_exception=False)
    apart = factories.make_installation(other)
    writers = [TagWriter(api) for _ in range(3)]
    for writer in writers:
        writer.start()
        writer.await_more()

    # Without ``--final``, the shop accepts writes during the export, so the archive lacks the newest rows.
    run_command("export_shop", shop.domain, tmp_path / "archive")
    for writer in writers:
        writer.await_more()
    assert {pk for writer in writers for pk in writer.ids} - read_archived_ids(tmp_path / "archive")

    assert "is now read-only here" in run_command("export_shop", shop.domain, tmp_path / "archive", "--final")
    for writer in writers:
        writer.join(SECONDS)
        assert (writer.refusal.status_code, writer.refusal.json()) == (503, {"errors": SHOP_MOVING_MESSAGE})
        assert float(writer.refusal.headers["Retry-After"]) > 0
    acknowledged = {pk for writer in writers for pk in writer.ids}
    assert acknowledged <= read_archived_ids(tmp_path / "archive")

    rejecting_tables = api.post("graphql.json", {"query": MUTATION})
    page = owner.forge("content_blog_add", title="News", commentable="no", **NO_METAFIELDS)
    assert (rejecting_tables.status_code, rejecting_tables.json()) == (503, {"errors": SHOP_MOVING_MESSAGE})
    assert (page.status_code, SHOP_MOVING_MESSAGE in page.content.decode()) == (503, True)
    assert owner.get().status_code == 200
    assert ApiClient(factories.make_token(apart), apart).post("script_tags.json", TAG).status_code == 201

    run_command("set_shop_read_only", shop.domain, "--off")
    assert api.post("script_tags.json", TAG).status_code == 201
    empty_installation()
    with override_settings(STORAGES={**settings.STORAGES, **get_storage_settings("", tmp_path / "elsewhere")}):
        run_command("import_shop", tmp_path / "archive")
        assert acknowledged <= set(read_ids(api))
        assert api.post("script_tags.json", TAG).status_code == 201


def test_jobs_of_a_read_only_shop_wait_while_other_shops_continue(
    media_root: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    settings.OUTGOING_ALLOW = ["127.0.0.1"]
    processed: list[int] = []
    monkeypatch.setitem(queue.tasks, "test.work", queue.Task(lambda job, **_: processed.append(job.shop_id)))
    moving, other = factories.make_shop(), factories.make_shop()
    jobs = {}
    for shop in (moving, other):
        make_subscription(create_rows(shop, shop.handle).installation, "http://127.0.0.1:9/")
        create_blogs(shop)
        with shop_scope(shop), transaction.atomic():
            jobs[shop.pk] = queue.enqueue("test.work").key
    create_deliveries()
    for shop in (moving, other):
        create_blogs(shop)

    run_command("set_shop_read_only", moving.domain)

    assert [queue.run_job(jobs[shop.pk]) for shop in (moving, other)] == [False, True]
    create_deliveries()
    with all_shops_scope():
        assert set(Pending.objects.values_list("shop_id", flat=True)) == {moving.pk}
        lanes = {shop.pk: Endpoint.objects.get(shop=shop).pk for shop in (moving, other)}
    assert {waiting.endpoint for waiting in scan_endpoints()} == {lanes[other.pk]}
    claimed = claim_deliveries(dict.fromkeys(lanes.values(), 10), AttemptKind.DUE)
    assert {delivery.shop for delivery in claimed} == {other.pk}
    publishing.send_due_jobs()
    for at in (timezone.now(), timezone.now() + timedelta(days=100)):
        run_periodic_tasks(Every.HOUR, at)
        run_periodic_tasks(Every.MINUTE, at)
    assert [record.message for record in caplog.records if "failed" in record.message] == []

    # In every table, the database itself rejects changes to rows of the moving shop, but not to rows of other shops.
    rejecting_tables: set[str] = set()
    for model in read_only._get_shop_models():
        table, column = model._meta.db_table, "id" if model is Shop else "shop_id"
        for shop in (moving, other):
            with connection.cursor() as cursor:
                cursor.execute(f"SELECT count(*) FROM {table} WHERE {column} = {shop.pk}")
                if not cursor.fetchone()[0] or "UPDATE" in read_only._ALLOWED_OPERATIONS.get(model._meta.label, {}):
                    continue
                statement = f"UPDATE {table} SET {column} = {column} WHERE {column} = {shop.pk}"
                if shop == other:
                    cursor.execute(statement)
                    continue
                with pytest.raises(DatabaseError) as error_info:
                    cursor.execute(statement)
                assert is_read_only_shop_error(error_info.value), table
                assert is_transient_db_error(error_info.value), table
                rejecting_tables.add(table)
    assert len(rejecting_tables) > 20
    labels = set(read_only._ALLOWED_OPERATIONS)
    assert {apps.get_model(label)._meta.label for label in labels} == labels

    run_command("set_shop_read_only", moving.domain, "--off")
    assert queue.run_job(jobs[moving.pk])
    assert processed == [other.pk, moving.pk]
    assert create_deliveries().events > 0
    with pytest.raises(CommandError, match="no shop"):
        run_command("set_shop_read_only", "nowhere.example")
