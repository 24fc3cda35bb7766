"""Tests that ids start above 1,000,000, so that ``since_id=1`` returns all rows."""

from typing import Any

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection
from django.db.models import AutoField, Model

from apps.content.models import ScriptTag
from apps.ground.id_sequences import LAST_RESERVED_ID, RANGE_SIZE, initialize_sequences
from apps.ground.tenancy import all_shops_scope
from apps.jobs.models import Job
from apps.shops.models import Shop
from tests import factories
from tests.conftest import ApiClient


def get_tables() -> dict[str, type[Model]]:
    """Return the product's models with an automatic integer id, by table."""
    ours = [model for model in apps.get_models() if model.__module__.startswith("apps.")]
    return {model._meta.db_table: model for model in ours if isinstance(model._meta.pk, AutoField)}


def get_last_id(table: str) -> int:
    """Return the last value of a table's id sequence."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("SELECT seq FROM sqlite_sequence WHERE name = %s", [table])
        else:
            cursor.execute("SELECT pg_sequence_last_value(pg_get_serial_sequence(%s, 'id')::regclass)", [table])
        row = cursor.fetchone()
    return int(row[0] or 0) if row else 0


def reset_sequence(table: str, last: int) -> None:
    """Set the last value of a table's id sequence, as in an installation from before this rule."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("UPDATE sqlite_sequence SET seq = %s WHERE name = %s", [last, table])
        else:
            cursor.execute("SELECT setval(pg_get_serial_sequence(%s, 'id'), %s)", [table, last])


def test_ids_of_every_table_begin_above_a_million(db: None) -> None:
    assert len(get_tables()) > 40
    assert {table: last for table in get_tables() if (last := get_last_id(table)) < LAST_RESERVED_ID} == {}


def test_lists_after_id_1_hold_every_row(api: ApiClient) -> None:
    product = api.post("products.json", {"product": {"title": "First"}}).json()["product"]

    products = api.get("products.json", since_id=1).json()["products"]

    assert [row["id"] for row in products] == [product["id"]]
    assert (
        min(product["id"], product["variants"][0]["id"], product["variants"][0]["inventory_item_id"]) > LAST_RESERVED_ID
    )


@pytest.mark.django_db(transaction=True)
def test_migrating_lifts_the_ids_of_an_old_installation_and_lowers_none() -> None:
    shop = factories.make_shop()
    app = factories.make_installation(shop).app
    with all_shops_scope():
        old = ScriptTag.objects.create(pk=7, shop=shop, app=app, src="https://a.example/old.js")
        reset_sequence("content_scripttag", 7)
        reset_sequence("jobs_job", 5_000_000)
        if connection.vendor == "sqlite":
            with connection.cursor() as cursor:
                # Simulate a table that never had a row. Such a table has no entry in ``sqlite_sequence``.
                cursor.execute("DELETE FROM sqlite_sequence WHERE name = 'content_theme'")

        call_command("migrate", verbosity=0)

        new = ScriptTag.objects.create(shop=shop, app=app, src="https://a.example/new.js")
        job = Job.objects.create(shop=shop, task="x")
        assert (ScriptTag.objects.get(src=old.src).pk, new.pk, job.pk) == (7, LAST_RESERVED_ID + 1, 5_000_001)
        assert get_last_id("content_theme") >= LAST_RESERVED_ID


@pytest.mark.django_db(transaction=True)
def test_ids_of_an_emptied_database_begin_as_high() -> None:
    call_command("flush", verbosity=0, interactive=False)

    assert factories.make_shop().pk > LAST_RESERVED_ID
    assert Shop.objects.count() == 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_each_cell_gives_ids_of_its_own_range(settings: Any) -> None:
    settings.ID_RANGE = 3
    initialize_sequences(using="default")
    third = factories.make_shop(domain="third.example")
    assert RANGE_SIZE * 3 + LAST_RESERVED_ID < third.pk < RANGE_SIZE * 4

    settings.ID_RANGE = 0
    with all_shops_scope():
        moved = Shop.objects.create(pk=RANGE_SIZE * 5 + 7, domain="moved.example", name="Moved", currency="USD")
    initialize_sequences(using="default")
    first = factories.make_shop(domain="first.example")
    assert LAST_RESERVED_ID < first.pk < RANGE_SIZE

    settings.ID_RANGE = 3
    initialize_sequences(using="default")
    another_shop = factories.make_shop(domain="again.example")
    assert (another_shop.pk, Shop.objects.filter(pk=moved.pk).exists()) == (third.pk + 1, True)

    settings.ID_RANGE = 0
    initialize_sequences(using="default")
