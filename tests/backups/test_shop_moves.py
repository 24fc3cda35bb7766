"""``export_shop`` and ``import_shop`` transfer a shop completely, without rows of other shops.

The tests import into the same installation after deleting everything, so all rows come from the archive.
"""

import gzip
import io
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.mail import EmailMessage
from django.core.management import CommandError, call_command
from django.test import override_settings
from django.utils import timezone
from pytest_django import Settings

from apps.backups.domain.manifests import digest_file
from apps.backups.domain.shop_archive import schema
from apps.backups.domain.shop_archive.export import stream_rows
from apps.catalog.domain import products
from apps.catalog.domain.inputs import ProductParts
from apps.catalog.models import Product
from apps.content.domain import blob_store
from apps.core.jobs import queue
from apps.core.jobs.models import Job
from apps.core.rest.reading import render_cache
from apps.core.tenancy.models import Shop, User
from apps.core.tenancy.scope import all_shops_scope, shop_scope
from apps.core.tenancy.shop_owned import ShopOwned
from apps.core.types import Attrs
from apps.inventory.models import Location
from apps.orders.models import Order
from apps.webhooks.domain.engine.fan_out import create_deliveries
from apps.webhooks.models import Delivery
from backoffice.configuration.storages import get_storage_settings
from tests.support import factories
from tests.support.api_client import ApiClient
from tests.support.databases.emptying import empty_database
from tests.support.factories.fulfillment import make_service
from tests.support.factories.payments import make_handler
from tests.support.types import JsonObject
from tests.support.webhooks import make_subscription

TAG = {"script_tag": {"src": "https://a.example/a.js", "event": "onload"}}


def test_every_table_moves_or_is_left_out_for_a_reason() -> None:
    moved = {table.model._meta.label for table in schema.list_tables()}
    all_models = [model for model in apps.get_models(include_auto_created=True) if not model._meta.proxy]

    assert {model._meta.label for model in all_models} == moved | set(schema.EXCLUDED_TABLES)
    assert not moved & set(schema.EXCLUDED_TABLES)
    assert {model._meta.label for model in all_models if issubclass(model, ShopOwned)} <= moved


def get_rows(shop_id: int) -> dict[str, list[Any]]:
    with all_shops_scope():
        return {table.name: [repr(row) for row in table.rows(shop_id)] for table in schema.list_tables()}


def run_command(command: str, *arguments: object) -> str:
    out = io.StringIO()
    call_command(command, *map(str, arguments), stdout=out)
    return out.getvalue()


def empty_installation() -> None:
    """Make the installation as empty as after ``migrate``."""
    render_cache.cache.clear()
    empty_database()


def create_rows(shop: Shop, word: str) -> ApiClient:
    installation = factories.make_installation(shop, name=f"App of {word}")
    api = ApiClient(factories.make_token(installation), installation)
    bodies: JsonObject = {
        "products.json": {"product": {"title": f"Mug {word} ☕", "variants": [{"price": "9.95"}]}},
        "customers.json": {"customer": {"email": f"{word}@example.com", "addresses": [{"city": word}]}},
        "orders.json": {"order": {"email": f"{word}@example.com", "line_items": [{"title": word, "price": "9.95"}]}},
        "script_tags.json": TAG,
    }
    for path, body in bodies.items():
        assert api.post(path, body, idempotency_key=path).status_code == 201
    with shop_scope(shop):
        blob_store.store_blob(f"a file of {word}".encode())
    return api


@pytest.mark.django_db(transaction=True)
@pytest.mark.slow
def test_a_shop_leaves_and_comes_back_the_same(media_root: Path, tmp_path: Path, settings: Settings) -> None:
    shop, other = factories.make_shop(), factories.make_shop()
    api = create_rows(shop, "mine")
    create_rows(other, "theirs")
    member = factories.make_member(shop, owner=True)
    before, archive = get_rows(shop.pk), tmp_path / "archive"

    output = run_command("export_shop", shop.domain, archive)

    assert output.startswith(f"Exported {shop.domain} as of ")
    parts = [path for path in archive.rglob("*") if path.is_file()]
    contents = b"".join(
        gzip.decompress(part.read_bytes()) if part.suffix == ".gz" else part.read_bytes() for part in parts
    )
    secret = api.installation.app.api_secret.encode()
    assert (b"mine" in contents, b"theirs" in contents, secret in contents) == (True, False, False)
    with pytest.raises(CommandError, match="contains a finished archive"):
        call_command("export_shop", shop.domain, archive)
    with pytest.raises(CommandError, match="The shop already exists here"):
        call_command("import_shop", archive)
    assert "match the archive" in run_command("import_shop", archive, "--verify")

    # Delete the manifest, as if the export had been killed before the end. The next export must not copy files again.
    (archive / "manifest.json").unlink()
    with pytest.raises(CommandError, match="is unfinished"):
        call_command("import_shop", archive)
    copied = {path: path.stat().st_mtime_ns for path in (archive / "files").rglob("*") if path.is_file()}
    run_command("export_shop", shop.domain, archive)
    assert copied == {path: path.stat().st_mtime_ns for path in copied}

    empty_installation()
    with override_settings(STORAGES={**settings.STORAGES, **get_storage_settings("", tmp_path / "elsewhere")}):
        with override_settings(SECRET_KEY="another"), pytest.raises(CommandError, match="SECRET_KEY_FALLBACKS"):
            call_command("import_shop", archive)
        assert not Shop.objects.exists()
        factories.UserFactory.create(email="first@example.com", id=member.pk)
        with override_settings(SECRET_KEY="another", SECRET_KEY_FALLBACKS=[settings.SECRET_KEY]):
            assert "match the archive" in run_command("import_shop", archive)
            assert "match the archive" in run_command("import_shop", archive, "--verify")
            # If a member's id is taken, the member gets another id. Everything else is unchanged.
            user = User.objects.get(email=member.email)
            assert user.pk != member.pk
            assert not user.has_usable_password()
            after = get_rows(shop.pk)
            assert {name for name, rows in after.items() if rows != before[name]} == {"staff_membership"}
            assert api.get("shop.json").json()["shop"]["id"] == shop.pk
            newest = max(int(row["id"]) for row in api.get("script_tags.json").json()["script_tags"])
            assert api.post("script_tags.json", TAG).json()["script_tag"]["id"] > newest
            with pytest.raises(CommandError, match="content_scripttag: the number of rows differs"):
                call_command("import_shop", archive, "--verify")
            for command in ("check_stock", "check_money", "check_blobs"):
                run_command(command)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("spoilt", ["tables", "files", "migrations", "taken", "deep", "typed", "rows"])
def test_unfitting_archives_are_refused_and_nothing_is_written(media_root: Path, tmp_path: Path, spoilt: str) -> None:
    shop = factories.make_shop()
    create_rows(shop, "mine")
    archive = tmp_path / "archive"
    run_command("export_shop", shop.domain, archive)
    rows = gzip.decompress((archive / "tables/inventory_location.jsonl.gz").read_bytes())
    location = json.loads(rows.splitlines()[0])[0]
    empty_installation()
    spoil: dict[str, tuple[Callable[[], object], str]] = {
        "tables": (lambda: (archive / "tables/orders_order.jsonl.gz").write_bytes(b"x"), "is damaged"),
        "files": (lambda: next(p for p in (archive / "files").rglob("*") if p.is_file()).write_bytes(b"x"), "damaged"),
        "migrations": (
            lambda: _change_manifest(archive, lambda manifest: manifest["migrations"].update(orders="0000_older")),
            "from another release",
        ),
        "taken": (lambda: _take_shop_id(location), f"inventory_location.id {location}"),
        "deep": (lambda: (archive / "manifest.json").write_text('{"format":' * 100_000), "Cannot read"),
        "typed": (lambda: _change_manifest(archive, lambda manifest: manifest.update(shop_id="x")), "Cannot read"),
        "rows": (lambda: _nest_deeply(archive, "tables/orders_order.jsonl.gz"), "Cannot read .*orders_order"),
    }
    spoil[spoilt][0]()
    shops = Shop.objects.count()

    with pytest.raises(CommandError, match=spoil[spoilt][1]):
        call_command("import_shop", archive)

    assert Shop.objects.count() == shops
    with all_shops_scope():
        assert not [row for table in schema.list_tables() for row in stream_rows(table, shop.pk)]


def _change_manifest(archive: Path, change: Callable[[JsonObject], object]) -> None:
    manifest = json.loads((archive / "manifest.json").read_text())
    change(manifest)
    (archive / "manifest.json").write_text(json.dumps(manifest))


def _nest_deeply(archive: Path, part: str) -> None:
    """Replace the rows of a part with deeply nested JSON, as an attacker would do it."""
    (archive / part).write_bytes(gzip.compress(b"[" * 100_000))
    digest = asdict(digest_file(archive / part))
    _change_manifest(archive, lambda manifest: manifest["parts"].update({part: digest}))


def _take_shop_id(location: int) -> None:
    other = Shop.objects.create(id=5, domain="other.example", handle="other", name="Other", email="o@other.example")
    with shop_scope(other):
        Location.objects.create(id=location, shop=other, name="Elsewhere")


@pytest.mark.django_db(transaction=True)
@pytest.mark.slow
def test_a_staging_copy_sends_nothing(media_root: Path, tmp_path: Path, mailoutbox: list[EmailMessage]) -> None:
    shop = factories.make_shop()
    api = create_rows(shop, "mine")
    make_subscription(api.installation, "https://a.example/hook", topic="products/update")
    with shop_scope(shop):
        make_handler(config={"shop_id": f"s{shop.pk}"})
        make_service(api.installation.app, inventory_management=True)
        queue.enqueue("orders.send_receipt", order_id=Order.objects.get().pk)
    before, archive = get_rows(shop.pk), tmp_path / "archive"
    run_command("export_shop", shop.domain, archive)
    with pytest.raises(CommandError, match="The shop already exists here"):
        call_command("import_shop", archive, "--as-copy", "staging.example")
    empty_installation()

    for domain, message in (("no domain", "is not a valid shop domain"), (shop.domain.upper(), "needs its own domain")):
        with pytest.raises(CommandError, match=message):
            call_command("import_shop", archive, "--as-copy", domain)
    assert "is a copy of" in run_command("import_shop", archive, "--as-copy", "staging.example")

    assert "match the archive" in run_command("import_shop", archive, "--verify", "--as-copy", "staging.example")
    copy, after = Shop.objects.get(), get_rows(shop.pk)
    expected = (shop.pk, "staging.example", "staging", shop.domain)
    assert (copy.pk, copy.domain, copy.handle, copy.copied_from) == expected
    emptied = {name for name, rows in before.items() if rows and not after[name]}
    expected_tables = "api_idempotencykey content_scripttag fulfillment_pull jobs_job webhooks_subscription"
    assert sorted(emptied) == expected_tables.split()
    changed = {name for name, rows in after.items() if rows and rows != before[name]}
    assert changed == {"shops_shop", "shops_accesstoken", "shops_installation", "payments_paymenthandlerconfig"}
    assert api.get("shop.json").status_code == 401
    # Staff changes in the copy send no emails or webhooks either, and the panel says so.
    with shop_scope(copy):
        order = Order.objects.get()
        job = queue.enqueue("orders.send_receipt", order_id=order.pk)
        assert queue.run_job(job.key)
        job.refresh_from_db()
        assert (job.state, job.attempts) == (Job.State.FAILED, 1)
        assert f"this shop is a copy of {shop.domain}" in job.error
        by: Attrs = {"actor": "system", "at": timezone.now()}
        products.update_product(Product.objects.get(), {"title": "Changed"}, ProductParts(), **by)
    with all_shops_scope():
        while create_deliveries().events:
            pass
        assert not Delivery.objects.exists()
    assert mailoutbox == []
