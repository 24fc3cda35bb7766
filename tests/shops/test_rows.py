import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from decimal import Decimal
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.db.models import AutoField, Model
from django.utils import timezone
from django_scopes.exceptions import ScopeError
from pytest_django import Settings

from apps.catalog.models import Product, Variant
from apps.content.models import ScriptTag
from apps.core.db.compiled_queries import CompiledQuery
from apps.core.db.id_sequences import LAST_RESERVED_ID, RANGE_SIZE, initialize_sequences, reserve_ids
from apps.core.db.prepared_sql import MANY_ROWS
from apps.core.events.models import Event
from apps.core.events.recording import record_event
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import all_shops_scope, get_current_shop, shop_scope
from apps.core.tenancy.shop_owned import ShopOwned
from apps.inventory.models import InventoryItem
from tests.support import factories
from tests.support.api_client import ApiClient
from tests.support.factories.catalog import make_product


def get_tables() -> dict[str, type[Model]]:
    ours = [model for model in apps.get_models() if model.__module__.startswith("apps.")]
    return {model._meta.db_table: model for model in ours if isinstance(model._meta.pk, AutoField)}


def get_last_id(table: str) -> int:
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("SELECT seq FROM sqlite_sequence WHERE name = %s", [table])
        else:
            cursor.execute("SELECT pg_sequence_last_value(pg_get_serial_sequence(%s, 'id')::regclass)", [table])
        row = cursor.fetchone()
    return int(row[0] or 0) if row else 0


def reset_sequence(table: str, last: int) -> None:
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

    (variant,) = product["variants"]
    assert [row["id"] for row in products] == [product["id"]]
    assert min(product["id"], variant["id"], variant["inventory_item_id"]) > LAST_RESERVED_ID


@pytest.mark.django_db(transaction=True)
def test_migrating_lifts_the_ids_of_an_old_installation_and_lowers_none() -> None:
    shop = factories.make_shop()
    app = factories.make_installation(shop).app
    with all_shops_scope():
        old = ScriptTag.objects.create(pk=7, shop=shop, app=app, src="https://a.example/old.js")
        reset_sequence("content_scripttag", 7)
        reset_sequence("jobs_job", later := LAST_RESERVED_ID + 500_000)
        if connection.vendor == "sqlite":
            with connection.cursor() as cursor:
                # Simulate a table that never had a row. Such a table has no entry in ``sqlite_sequence``.
                cursor.execute("DELETE FROM sqlite_sequence WHERE name = 'content_theme'")

        call_command("migrate", verbosity=0)

        new = ScriptTag.objects.create(shop=shop, app=app, src="https://a.example/new.js")
        job = Job.objects.create(shop=shop, task="x")
        assert (ScriptTag.objects.get(src=old.src).pk, new.pk, job.pk) == (7, LAST_RESERVED_ID + 1, later + 1)
        assert get_last_id("content_theme") >= LAST_RESERVED_ID


@pytest.mark.django_db(transaction=True)
def test_ids_of_an_emptied_database_begin_as_high() -> None:
    call_command("flush", verbosity=0, interactive=False)

    assert factories.make_shop().pk > LAST_RESERVED_ID
    assert Shop.objects.count() == 1


@pytest.fixture
def default_range_afterwards(transactional_db: None, settings: Settings) -> Iterator[None]:
    """Continue the sequences in the default range, because emptying the tables does not change sequences."""
    default_range = settings.ID_RANGE
    yield
    settings.ID_RANGE = default_range
    initialize_sequences(using="default")


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("default_range_afterwards")
def test_each_cell_gives_ids_of_its_own_range(settings: Settings) -> None:
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


OWNED = [model for model in apps.get_models() if issubclass(model, ShopOwned)]


@pytest.mark.parametrize("model", OWNED, ids=lambda model: model._meta.label)
def test_rows_of_a_shop_need_its_scope(model: type[ShopOwned]) -> None:
    with pytest.raises(ScopeError):
        model.objects.all().exists()
    with pytest.raises(ScopeError):
        model.objects.all().update()
    with pytest.raises(ScopeError):
        model.rows()


def test_no_shop_is_active_outside_of_every_scope() -> None:
    assert ScriptTag in OWNED
    with pytest.raises(ScopeError):
        get_current_shop()


def test_production_is_as_strict(tmp_path: Path) -> None:
    code = "import django; django.setup(); from apps.orders.models import Order; print(Order.objects.count())"
    env = {**os.environ, "DJANGO_SETTINGS_MODULE": "backoffice.settings", "BACKOFFICE_DATA_DIR": str(tmp_path)}

    process = subprocess.run(
        [sys.executable, "-c", code], cwd=settings.BASE_DIR, env=env, capture_output=True, text=True, check=False
    )

    assert process.returncode != 0
    assert "ScopeError" in process.stderr


pytestmark = pytest.mark.django_db

TEXTS = ["", "NULL", "null", '"', "{1,2}", "a,b", "back\\slash", "it's", "%s", "line\nbreak", "ä€😀", " both "]
JSON: list[Any] = [{}, {"a": [None, 1, "x"]}, {"it's": '{"}'}, [], [1, [2]], {"%s": "\\"}]
ADDRESSES = ["192.0.2.7", "2001:db8::1", None]


@pytest.mark.parametrize("count", [2, 3, MANY_ROWS - 1, MANY_ROWS, 3 * MANY_ROWS])
@pytest.mark.parametrize("mixed", [True, False], ids=["each its own", "all the same"])
def test_rows_written_together_read_back(shop: Shop, count: int, mixed: bool) -> None:
    def pick(values: list[Any], number: int) -> Any:
        return values[number % len(values)] if mixed else values[-1]

    at = timezone.now()
    fixed = {"shop_id": shop.pk, "topic": "products/update", "subject_type": "catalog.product", "created_at": at}
    events = [
        Event(
            **fixed,
            subject_id=number if mixed else 2**62,
            subject_label=pick(TEXTS, number),
            actor=pick(TEXTS, number + 1),
            message=pick(TEXTS, number + 2),
            changes=pick(JSON, number),
            payload=pick([*JSON, None], number),
            group=uuid.uuid4(),
            address=pick(ADDRESSES, number),
        )
        for number in range(count)
    ]

    with shop_scope(shop):
        created = Event.objects.bulk_create(events)
        stored_events = list(Event.objects.filter(pk__in=[event.pk for event in created]).order_by("pk"))

    read_columns = attrgetter(*(field.attname for field in Event._meta.concrete_fields))
    assert list(map(read_columns, stored_events)) == list(map(read_columns, created))
    assert [event.pk for event in created] == sorted(event.pk for event in created)


@pytest.mark.parametrize("count", [2, 2 * MANY_ROWS])
def test_a_column_refuses_what_it_refuses_of_one_row(shop: Shop, count: int) -> None:
    with shop_scope(shop):
        product = make_product()
        items = InventoryItem.objects.bulk_create([InventoryItem(shop_id=shop.pk) for _ in range(count)])
        rows = [
            Variant(shop_id=shop.pk, product=product, inventory_item=item, option1=f"{number}", position=number + 2)
            for number, item in enumerate(items)
        ]
        rows[1].price = Decimal(-1)
        before = Variant.objects.count()
        with pytest.raises(IntegrityError), transaction.atomic():
            Variant.objects.bulk_create(rows)

        assert Variant.objects.count() == before
        rows[1].price = Decimal(0)
        Variant.objects.bulk_create(rows)
        assert Product.objects.get(pk=product.pk).variants.count() == before + count


@pytest.mark.both_databases
def test_reserved_ids_are_given_to_no_other_row(api: ApiClient, shop: Shop) -> None:
    with transaction.atomic():
        reserved = reserve_ids(ScriptTag, 3)
        row = factories.ScriptTagFactory.create(shop=shop, app=api.installation.app)
        (later,) = reserve_ids(ScriptTag, 1)

    assert reserved == list(range(reserved[0], reserved[0] + 3))
    assert reserved[-1] < row.pk < later


@pytest.mark.both_databases
@pytest.mark.parametrize("number", [5, 10**17, 10**19, -(10**30), 0.1])
def test_numbers_in_json_are_read_exactly(shop: Shop, number: float) -> None:
    with shop_scope(shop), transaction.atomic():
        record_event("shop/update", shop, actor="system", at=timezone.now(), changes={"number": [None, number]})
        query = CompiledQuery(lambda: Event.objects.order_by("-pk").values_list("changes", "payload")[:1])

        ((changes, payload),) = query.fetch()

    assert changes == {"number": [None, number]}
    assert payload is None
