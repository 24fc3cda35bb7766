"""Tests of the panel pages that move a store here, and of the background jobs that import it."""

import csv
import io
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from apps.core.events.models import Event
from apps.core.jobs.models import Job
from apps.core.jobs.queue import cancel_job, run_job
from apps.core.tenancy.permissions import NAMES, get_granted_permissions
from apps.core.tenancy.scope import all_shops_scope, shop_scope
from apps.imports_exports.domain.resources import get_importers
from apps.store_imports.admin.report import list_settings
from apps.store_imports.domain import background_runs, selection
from apps.store_imports.domain.background_runs import RUN_TASK, continue_stalled_runs
from apps.store_imports.domain.connections import complete_address, delete_expired_tokens
from apps.store_imports.domain.report import SETTING_COLUMNS
from apps.store_imports.domain.streams import streams
from apps.store_imports.models import ImportProblem, MappedId, StoreConnection, StoreImport, StreamState
from tests.store_imports.conftest import StoreImporter
from tests.store_imports.faulty_proxy import BROKEN, OK, FaultyProxy
from tests.store_imports.old_store import post
from tests.support import factories
from tests.support.api_client import Response
from tests.support.panel.client import Panel, read_stream

CONNECT, CHANGE = "store_imports_storeimport_connect", "store_imports_storeimport_change"
START, PAUSE = "store_imports_storeimport_start", "store_imports_storeimport_pause"
PROBLEMS = "store_imports_storeimport_problems"


@pytest.fixture
def panel(importer: StoreImporter) -> Panel:
    return Panel(factories.make_member(importer.shop, owner=True), importer.shop)


def connect(panel: Panel, importer: StoreImporter, **values: str) -> Response:
    body = {"platform": "backoffice", "address": importer.url, "token": importer.source.token, **values}
    return panel.post(CONNECT, **body)


def get_connection(importer: StoreImporter) -> StoreConnection:
    with shop_scope(importer.shop):
        return StoreConnection.objects.select_related("store_import").get()


def start(panel: Panel, importer: StoreImporter, *groups: str) -> int:
    connect(panel, importer)
    pk = get_connection(importer).store_import_id
    panel.forge(START, pk, group=list(groups))
    return pk


def run_next_job(importer: StoreImporter) -> Job:
    with all_shops_scope():
        job = Job.objects.filter(shop=importer.shop, task=RUN_TASK, state=Job.State.WAITING).latest("pk")
    run_job(job.key)
    with all_shops_scope():
        job.refresh_from_db()
    return job


def fill(importer: StoreImporter) -> None:
    for number in range(3):
        post(importer.source, "products", "product", {"title": f"Chair {number}"})
    post(importer.source, "customers", "customer", {"last_name": "Lovelace", "email": "ada@example.com"})


def test_each_stream_has_a_label_and_each_but_staff_one_group() -> None:
    grouped = [name for group in selection.GROUPS for name in group.streams]

    assert sorted(grouped) == sorted(streams.keys() - {"staff"})
    assert selection._LABELS.keys() == streams.keys()


def test_staff_need_the_permissions_of_the_importers() -> None:
    groups = {group.name: group.permissions for group in selection.GROUPS}
    importers = {
        "products": ("products",),
        "customers": ("customers",),
        "online_store": ("pages", "redirects"),
        "orders": ("orders",),
        "discounts": ("discounts",),
        "gift_cards": ("giftcards",),
    }

    for group, names in importers.items():
        assert {get_importers()[name].permission for name in names} <= set(groups[group])
    permissions = {permission for names in groups.values() for permission in names}
    assert permissions <= get_granted_permissions(NAMES)


def test_the_report_names_all_imported_settings_that_differ(importer: StoreImporter) -> None:
    theirs = {**dict.fromkeys(SETTING_COLUMNS, "other"), "taxes_included": True, "tax_shipping": False, "phone": None}

    with shop_scope(importer.shop):
        rows = {row.label: (row.theirs, row.ours) for row in list_settings(theirs)}

    assert len(rows) == len(SETTING_COLUMNS) - 2
    assert rows["prices include tax"] == ("Yes", "No")
    assert rows["owner"] == ("other", importer.shop.name)
    assert rows["city"] == ("other", "–")


def test_a_store_is_moved_and_its_token_is_only_stored_until_then(panel: Panel, importer: StoreImporter) -> None:
    fill(importer)
    token = importer.source.token

    refused = connect(panel, importer, token="wrong-token")
    connected = connect(panel, importer)
    pk = get_connection(importer).store_import_id
    choice = panel.get(CHANGE, pk)
    nothing = panel.forge(START, pk)
    started = panel.forge(START, pk, group=["products"])
    progress = panel.get(CHANGE, pk)
    stored = get_connection(importer).token
    job = run_next_job(importer)
    report = panel.get(CHANGE, pk)

    assert "does not accept the token" in refused.content.decode()
    assert "wrong-token" not in refused.content.decode()
    assert connected["Location"] == nothing["Location"] == started["Location"] == panel.url(CHANGE, pk)
    assert "Products: 3" in choice.content.decode()
    assert "Select what to import." in progress.content.decode()
    assert 'data-progress="running"' in progress.content.decode()
    assert stored == token
    assert get_connection(importer).token == ""
    assert job.state == Job.State.DONE
    assert len(importer.target.get("products.json").json()["products"]) == 3
    assert importer.target.get("customers.json").json()["customers"] == []
    assert "Bring over changes" in report.content.decode()
    assert "Passwords of customers" in report.content.decode()
    pages = (refused, choice, progress, report)
    assert not any(token in page.content.decode() for page in pages)
    with all_shops_scope():
        recorded = [str(row.arguments) for row in Job.objects.all()]
        recorded += [f"{row.changes} {row.message}" for row in Event.objects.filter(shop=importer.shop)]
    assert not any(token in text for text in recorded)


def test_the_report_links_imported_objects_with_notes_by_name(panel: Panel, importer: StoreImporter) -> None:
    fill(importer)
    pk = start(panel, importer, "products")
    run_next_job(importer)
    with shop_scope(importer.shop):
        known = MappedId.objects.filter(resource="product").first()
        assert known is not None
        values = {"shop": importer.shop, "store_import_id": pk, "stream": "products", "reason": "Too long"}
        ImportProblem.objects.create(source_id=known.source_id, is_failure=False, **values)
        ImportProblem.objects.create(source_id=12345678, is_failure=True, **values)

    page = " ".join(panel.get(CHANGE, pk).content.decode().split())

    assert f'<a href="{panel.url("catalog_product_change", known.target_id)}">Chair 0</a>' in page
    assert "Products: 12345678" in page
    assert "1 object was not imported. The reasons are listed below. 1 imported object has a note." in page


@pytest.mark.parametrize(
    ("address", "platform", "expected"),
    [
        (" mystore ", "shopify", "mystore.myshopify.com"),
        ("https://admin.shopify.com/store/my-store/products", "shopify", "my-store.myshopify.com"),
        ("mystore.example", "shopify", "mystore.example"),
        ("https://mystore.example", "shopify", "https://mystore.example"),
        ("mystore", "backoffice", "mystore"),
    ],
)
def test_the_name_of_a_store_becomes_its_address(address: str, platform: str, expected: str) -> None:
    assert complete_address(address, platform) == expected


def test_an_address_without_a_domain_is_explained(panel: Panel, importer: StoreImporter) -> None:
    page = connect(panel, importer, address="mystore").content.decode()

    assert "https://mystore is not a public internet address." in page
    assert "Enter the token again." in page
    assert importer.source.token not in page


def test_an_import_is_paused_after_a_page_and_continues_there(
    panel: Panel, importer: StoreImporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(importer)
    pk = start(panel, importer, "products", "customers")
    report_progress = background_runs._report_progress

    def pause_first(job: Job, connection: StoreConnection) -> None:
        report_progress(job, connection)
        with shop_scope(importer.shop):
            if StreamState.objects.filter(name="products", new=2).exists():
                panel.forge(PAUSE, pk)

    monkeypatch.setattr(background_runs, "_report_progress", pause_first)
    run_next_job(importer)
    paused = panel.get(CHANGE, pk)
    imported = len(importer.target.get("products.json").json()["products"])
    monkeypatch.undo()
    panel.forge(START, pk, **{"continue": "on"})
    run_next_job(importer)

    assert "Continue import" in paused.content.decode()
    assert imported == 2
    assert get_connection(importer).state == "done"
    with shop_scope(importer.shop):
        assert StreamState.objects.get(name="products").new == 3
    assert len(importer.target.get("products.json").json()["products"]) == 3


def test_a_store_without_response_is_tried_again_and_other_errors_are_final(
    panel: Panel, importer: StoreImporter, proxy: FaultyProxy
) -> None:
    pk = start(panel, importer, "products")

    proxy.choose_fault = lambda number: BROKEN
    job = run_next_job(importer)
    waiting = panel.get(CHANGE, pk)
    proxy.choose_fault = lambda number: OK
    proxy.edit = lambda path, data: data.get("shop", {}).update(currency="XXX")
    with all_shops_scope():
        Job.objects.filter(pk=job.pk).update(due_at=timezone.now() - timedelta(minutes=1))
    run_job(job.key)
    failed = panel.get(CHANGE, pk)

    assert job.state == Job.State.WAITING
    assert "The import tries again at" in waiting.content.decode()
    assert get_connection(importer).state == "failed"
    assert "currency is XXX" in failed.content.decode()
    assert "Continue import" in failed.content.decode()


def test_the_page_says_who_can_reopen_an_ended_import(panel: Panel, importer: StoreImporter) -> None:
    pk = start(panel, importer, "products")
    with shop_scope(importer.shop):
        StoreImport.objects.filter(pk=pk).update(ended_at=timezone.now())

    run_next_job(importer)

    assert get_connection(importer).state == "failed"
    assert "Only the operator can import again" in panel.get(CHANGE, pk).content.decode()


def test_one_import_of_a_shop_runs_and_lost_jobs_are_replaced(panel: Panel, importer: StoreImporter) -> None:
    pk = start(panel, importer, "products")
    second = panel.forge(START, pk, group=["products"])
    with all_shops_scope():
        Job.objects.filter(task=RUN_TASK, shop=importer.shop).delete()
        soon = continue_stalled_runs(timezone.now())
        later = continue_stalled_runs(timezone.now() + timedelta(minutes=5))
        again = continue_stalled_runs(timezone.now() + timedelta(minutes=5))
        job = Job.objects.get(task=RUN_TASK, shop=importer.shop)
        cancel_job(job)
        after_cancel = continue_stalled_runs(timezone.now() + timedelta(minutes=5))

    assert "An import into this shop is running" in panel.open(second["Location"]).content.decode()
    assert (soon, later, again, after_cancel) == (0, 1, 0, 0)
    assert get_connection(importer).state == "paused"


def test_unused_tokens_expire_and_stopping_deletes_them(panel: Panel, importer: StoreImporter) -> None:
    pk = start(panel, importer, "products")
    panel.forge(PAUSE, pk, stop="on")
    stopped = get_connection(importer)
    connect(panel, importer)
    with all_shops_scope():
        early = delete_expired_tokens(timezone.now() + timedelta(days=6))
        late = delete_expired_tokens(timezone.now() + timedelta(days=8))
    refused = panel.forge(START, pk, **{"continue": "on"})

    assert (stopped.state, stopped.token) == ("paused", "")
    assert early == 0
    assert late >= 1
    assert get_connection(importer).token == ""
    assert "The access token was deleted" in panel.open(refused["Location"]).content.decode()


def test_staff_see_and_import_only_what_they_may_import(panel: Panel, importer: StoreImporter) -> None:
    fill(importer)
    editor = Panel(factories.make_member(importer.shop, "preferences", "products", "locations"), importer.shop)
    no_locations = Panel(factories.make_member(importer.shop, "preferences", "products"), importer.shop)
    stranger = Panel(factories.make_member(importer.shop, "products"), importer.shop)
    pk = start(panel, importer, "products")
    values: dict[str, Any] = {"source_id": 7, "is_failure": True, "store_import_id": pk, "shop": importer.shop}
    with shop_scope(importer.shop):
        ImportProblem.objects.create(stream="customers", reason="ada@example.com is taken", **values)
        ImportProblem.objects.create(stream="products", reason="The title is missing", **values)

    seen, everything = (
        read_stream(staff.http.get(staff.url(PROBLEMS, pk))).decode("utf-8-sig") for staff in (editor, panel)
    )

    rows = list(csv.DictReader(io.StringIO(everything)))
    assert {row["objects"]: row["reason"] for row in rows} == {
        "Customers": "ada@example.com is taken",
        "Products": "The title is missing",
    }
    assert "The title is missing" in seen
    assert "ada@example.com" not in seen
    assert stranger.get(CHANGE, pk).status_code == 403
    panel.forge(PAUSE, pk, stop="on")
    connect(panel, importer)
    refused = no_locations.forge(START, pk, group=["products"])
    assert "Select what to import." in no_locations.open(refused["Location"]).content.decode()
    assert get_connection(importer).state == "paused"
    editor.forge(START, pk, group=["products", "customers", "gift_cards", "themes"])
    assert "products" in get_connection(importer).streams
    assert not {"customers", "gift_cards", "themes", "script_tags"} & set(get_connection(importer).streams)


def test_an_ended_import_says_so_and_is_not_started_again(panel: Panel, importer: StoreImporter) -> None:
    pk = start(panel, importer, "customers")
    run_next_job(importer)
    with shop_scope(importer.shop):
        StoreImport.objects.update(ended_at=timezone.now())
    connect(panel, importer)

    html = panel.get(CHANGE, pk).content.decode()
    panel.forge(START, pk, group=["customers"])
    refused = panel.get(CHANGE, pk).content.decode()

    assert "The import of this store ended on" in html
    assert [text for text in ("Start import", "Bring over changes") if text in html] == []
    # The page has a note, and a message about the refused start.
    assert refused.count("The import of this store ended on") == 2
    assert get_connection(importer).state != StoreConnection.State.RUNNING
