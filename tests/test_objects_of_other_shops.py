"""Check that deliveries, exports, imports, bulk edits, files and saved views cannot be reached from another shop.

The caller has the same rights in both shops: the user owns both shops, and the app is installed in both. Nothing but
the shop separates their objects. Each test repeats its requests in the objects' own shop, where they succeed.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from django.contrib import admin
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.http import HttpRequest
from django.test import Client
from django.utils import timezone
from graphql import GraphQLField, get_named_type

from apps.bulk_edits.domain.edits import RUN_TASK
from apps.bulk_edits.models import BulkEdit, EditedRow
from apps.catalog.models import Product
from apps.content.models import StoreFile
from apps.core.admin.forms.idempotency import create_form_key
from apps.core.graphql.schema import get_schema
from apps.core.jobs import queue
from apps.core.jobs.job_tasks import tasks
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Membership, SavedView, Shop, User
from apps.core.tenancy.scope import shop_scope
from apps.core.tenancy.shop_owned import ShopOwned
from apps.imports_exports.models import Export, Import
from apps.shops.domain import app_installation
from apps.webhooks.models import Delivery, Subscription
from tests.support import factories
from tests.support.api_client import VERSION, ApiClient, Response
from tests.support.databases.snapshots import assert_database_unchanged, rolled_back, snapshot_database
from tests.support.factories.catalog import make_product
from tests.support.factories.content import make_store_file
from tests.support.graphql_client import execute
from tests.support.panel.admin_urls import TABLE
from tests.support.panel.client import Panel, send_all
from tests.support.panel.one_of_each import make_one_of_each
from tests.support.rest.routes import get_all_routes
from tests.support.subtests import Subtests
from tests.support.types import JsonObject
from tests.support.webhooks import make_delivery, make_subscription

# A word in every object of the other shop, and in nothing else.
MARK = "quagga"
# The start of the word. Pages repeat the searched term.
TERM = MARK[:4]
MODELS: tuple[type[ShopOwned], ...] = (Delivery, Export, Import, BulkEdit, StoreFile)
PREFIXES = tuple(f"{model._meta.app_label}_{model._meta.model_name}_" for model in MODELS)
PAGES = [name for name, row in TABLE.items() if name.startswith(PREFIXES) and row.about and row.lets]
# The arguments of the URL of an object, by kind.
Ids = dict[str, tuple[Any, ...]]
# A refused request spends the form's key, is recorded, and changes the user's last shop.
TRACES = {"events.Event", "staff.User", "staff.SentForm"}
YESTERDAY = (timezone.now() - timedelta(days=1)).isoformat(timespec="seconds")
POSTED = {"post": "yes", "confirm": "yes", "_save": "Save", "name": "Mine", "remove": "1"}


@dataclass(frozen=True)
class World:
    """A user and an app in two shops, and the objects of both shops."""

    here: Panel
    there: Panel
    api: ApiClient
    foreign_api: ApiClient
    own: Ids
    foreign: Ids


def make_objects(shop: Shop, user: User, mark: str) -> Ids:
    with shop_scope(shop):
        export = Export(shop=shop, kind="customers", format="csv", user=user, key=f"{mark}key", state="ready")
        export.expires_at = timezone.now() + timedelta(days=1)
        export.file = default_storage.save(f"exports/{shop.pk}/{mark}.csv", ContentFile(mark.encode()))
        export.save()
        row = make_product(title=f"{mark} mug")
        edit = BulkEdit.objects.create(
            shop=shop, kind="products", actor=f"staff:{user.pk}", ids=[row.pk], total=1, operations={"vendor": mark}
        )
        view = SavedView.objects.create(
            shop=shop, user=user, screen="jobs.job", name=mark, query="state__exact=failed", shared=True
        )
        return {
            "export": (export.pk,),
            "export_file": (export.pk, export.key),
            "import": (_make_import(shop, mark).pk,),
            "bulk_edit": (edit.pk,),
            "store_file": (make_store_file(f"{mark}.png").pk,),
            "view": (view.pk,),
            "product": (row.pk,),
        }


@pytest.fixture
def world(shop: Shop, other_shop: Shop, media_root: Path) -> World:
    user, app = factories.UserFactory.create(), app_installation.create_app(name="Both")
    clients, things = [], []
    for place, mark in ((shop, "zebra"), (other_shop, MARK)):
        with shop_scope(place):
            Membership.objects.create(shop=place, user=user, account_owner=True)
        installation = app_installation.install_app(
            app, place, scopes=factories.ALL_SCOPES, actor="system", at=timezone.now()
        )
        clients.append(ApiClient(factories.make_token(installation), installation))
        subscription = make_subscription(installation, f"https://{mark}.example.com/hooks", topic="shop/update")
        delivery = make_delivery(installation, subscription, state="dead", topic=f"shop/{mark}")
        rows = make_objects(place, user, mark)
        things.append({**rows, "subscription": (subscription.pk,), "delivery": (delivery.pk,)})
    here, there = Panel(user, shop), Panel(user, other_shop)
    here.get(), there.get()
    return World(here, there, clients[0], clients[1], things[0], things[1])


def _make_import(shop: Shop, mark: str) -> Import:
    """Create an import with a file of refused rows."""
    path = default_storage.save(f"imports/{shop.pk}/refused.csv", ContentFile(f"email\n{mark}\n".encode()))
    return Import.objects.create(shop=shop, name=f"{mark}.csv", format="csv", actor="system", refused_file=path)


def send(panel: Panel, method: str, address: str, data: JsonObject | None = None) -> Response:
    if method == "post":
        key = create_form_key(cast("HttpRequest", SimpleNamespace(user=panel.user)))
        response = panel.http.post(address, {"form_key": key, **(POSTED if data is None else data)})
    else:
        response = getattr(panel.http, method)(address)
    send_all(response)
    return response


def read(response: Response) -> str:
    content: bytes = response.getvalue() if response.streaming else response.content
    return content.decode()


def test_pages_of_every_kind_are_tried() -> None:
    kinds = {TABLE[name].about for name in PAGES}

    assert kinds == {"delivery", "export", "export_file", "import", "bulk_edit", "store_file"}


@pytest.mark.parametrize("method", ["get", "head", "post", "put", "delete"])
def test_pages_of_another_shops_objects_are_not_found(world: World, method: str) -> None:
    with Subtests() as checks:
        for name in PAGES:
            args = world.foreign[TABLE[name].about]
            with checks(name), assert_database_unchanged(ignored_tables=TRACES):
                response = send(world.here, method, world.here.url(name, *args))
                # A POST to a page without a form is refused before the object is looked up.
                assert response.status_code in ({404} if method in {"get", "head"} else {403, 404, 405})
                assert MARK not in read(response)
            with checks(name, "in its own shop"), rolled_back():
                assert send(world.there, method, world.there.url(name, *args)).status_code != 404


@pytest.mark.parametrize("data", [{"remove": "1"}, {"name": "Mine", "is_default": "on"}], ids=["delete", "rename"])
def test_a_saved_view_of_another_shop_is_not_found(world: World, data: JsonObject) -> None:
    with assert_database_unchanged(ignored_tables=TRACES):
        response = send(world.here, "post", world.here.url("change_view", *world.foreign["view"]), data)
        assert response.status_code == 404

    before = snapshot_database()["staff.SavedView"]
    assert send(world.there, "post", world.there.url("change_view", *world.foreign["view"]), data).status_code == 302
    assert snapshot_database()["staff.SavedView"] != before


def list_searches(panel: Panel, foreign: Ids) -> Iterator[str]:
    """Yield URLs that list or search objects. Their queries name objects of the other shop, by ID or by ``TERM``."""
    delivery = Delivery._base_manager.get(pk=foreign["delivery"][0])
    for prefix in PREFIXES:
        yield f"{panel.url(f'{prefix}changelist')}?all=1"
    deliveries = panel.url("webhooks_delivery_changelist")
    yield f"{deliveries}?subscription={delivery.subscription_id}"
    yield from (f"{deliveries}?q={term}" for term in (delivery.key, f"shop/{TERM}"))
    yield f"{panel.url('webhooks_delivery_live')}?rows=1"
    yield from (f"{panel.url(f'content_storefile_{page}')}?q={TERM}" for page in ("changelist", "pick"))
    yield f"{panel.url('jobs_job_changelist')}?all=1"
    yield f"{panel.url('search')}?s={TERM}"


def test_lists_and_searches_show_nothing_of_another_shop(world: World) -> None:
    there = [*list_searches(world.there, world.foreign)]
    exports = "/imports_exports/export/"
    export_link = f'"{world.foreign["export"][0]}/change/'

    def shows_foreign(address: str, text: str) -> bool:
        # The list of exports shows no names. In other lists, a row may have the same id as the export.
        return MARK in text or (exports in address and export_link in text)

    assert any(exports in address for address in there)
    with Subtests() as checks:
        for address, own_address in zip(list_searches(world.here, world.foreign), there, strict=True):
            with checks(address):
                response = world.here.http.get(address)
                assert response.status_code == 200
                assert not shows_foreign(address, read(response))
            with checks(own_address, "in its own shop"):
                assert shows_foreign(own_address, read(world.there.http.get(own_address)))


def test_a_list_filtered_by_a_foreign_id_exports_nothing(world: World) -> None:
    query = f"id__exact%3D{world.foreign['product'][0]}"

    def count(panel: Panel) -> set[str]:
        """Return the number of rows in the form and its summary."""
        page = panel.open(f"{panel.url('imports_exports_export_new')}?kind=products&list={query}")
        return set(re.findall(r"Current list: (\d+)", page.content.decode()))

    assert (count(world.here), count(world.there)) == (set(), {"1"})


def list_actions(panel: Panel) -> Iterator[tuple[str, str, int]]:
    """Yield the list, the action, and a row of the panel's shop, for all actions of all lists."""
    for model in admin.site._registry:
        row = model._base_manager.filter(shop=panel.shop).first() if issubclass(model, ShopOwned) else None
        if row is not None:
            name = f"{model._meta.app_label}_{model._meta.model_name}_changelist"
            form = (panel.get(name, all="1").context or {}).get("action_form")
            yield from (
                (name, action, row.pk) for action, _ in (form.fields["action"].choices if form else ()) if action
            )


def test_actions_of_lists_take_no_row_of_another_shop(world: World) -> None:
    for panel in (world.here, world.there):
        make_one_of_each(panel.shop)
    actions = [*list_actions(world.there)]
    effective = set()

    with Subtests() as checks:
        for name, action, pk in actions:
            data = {"action": action, "_selected_action": [pk], "post": "yes", "index": "0"}
            address = f"{world.here.url(name)}?all=1"
            for extra in ({}, {"select_across": "1"}):
                with checks(name, action, extra), assert_database_unchanged(ignored_tables=TRACES):
                    filtered = f"{address}&id__exact={pk}" if extra else address
                    response = send(world.here, "post", filtered, {**data, **extra})
                    assert response.status_code in {200, 302}
                    assert MARK not in read(response)
            with rolled_back():
                before = snapshot_database()
                response = send(world.there, "post", f"{world.there.url(name)}?all=1", data)
                after = snapshot_database()
                if {table for table in before if before[table] != after[table]} - TRACES:
                    effective.add(action)

    assert len(actions) > 10
    assert effective >= {"delete_selected", "edit_selected", "export_selected", "send_again"}


def run_job(shop: Shop, task: str, actor: str, **arguments: Any) -> Job:
    with shop_scope(shop):
        job = queue.enqueue(task, actor=actor, **arguments)
        queue.run_job(job.key)
        job.refresh_from_db()
    return job


@pytest.mark.parametrize(
    ("task", "argument", "kind"),
    [
        ("bulk_edits.run_edit", "edit_id", "bulk_edit"),
        ("bulk_edits.undo_edit", "edit_id", "bulk_edit"),
        ("imports_exports.validate_import", "import_id", "import"),
        ("imports_exports.run_import", "import_id", "import"),
        ("imports_exports.write_export", "export_id", "export"),
        ("imports_exports.expire_export", "export_id", "export"),
        ("webhooks.replay_deliveries", "subscription_id", "subscription"),
    ],
)
def test_a_job_leaves_objects_of_another_shop_alone(world: World, task: str, argument: str, kind: str) -> None:
    assert task in tasks
    tables = {Product._meta.label, *(model._meta.label for model in MODELS)}
    before, path = snapshot_database(), Export._base_manager.get(pk=world.foreign["export"][0]).path

    run_job(world.here.shop, task, f"staff:{world.here.user.pk}", **{argument: world.foreign[kind][0]})

    after = snapshot_database()
    assert {table for table in tables if before[table] != after[table]} == set()
    assert default_storage.exists(path)


def test_a_bulk_edit_with_foreign_rows_changes_nothing(world: World) -> None:
    (product_id,), actor = world.foreign["product"], f"staff:{world.here.user.pk}"
    BulkEdit._base_manager.update(ids=[product_id], operations={"vendor": MARK}, state="running")
    before = snapshot_database()

    for panel, things in ((world.here, world.own), (world.there, world.foreign)):
        run_job(panel.shop, RUN_TASK, actor, edit_id=things["bulk_edit"][0])
        rows = list(EditedRow._base_manager.filter(shop=panel.shop).values_list("fate", flat=True))
        if panel is world.here:
            assert rows == ["refused"]
            assert snapshot_database()["catalog.Product"] == before["catalog.Product"]
        else:
            assert rows == ["changed"]


# --- REST -------------------------------------------------------------------------------------------------------------

# Every route with the ID of a subscription or a delivery. The other kinds of objects have no routes.
ROUTES = [route.name for route in get_all_routes() if route.name.split(" ")[1].startswith("webhooks/<")]
BODIES: dict[str, JsonObject] = {
    "PUT": {"webhook": {"name": "mine"}},
    "POST": {"replay": {"since": YESTERDAY}},
}


def fill(route: str, subscription: Ids, delivery: Ids) -> str:
    path = route.split(" ")[1].replace("<subscription_id>", str(subscription["subscription"][0]))
    owner = "delivery" if "deliveries/" in route else "subscription"
    return path.replace("<id>", str((delivery if owner == "delivery" else subscription)[owner][0]))


def call(api: ApiClient, route: str, path: str) -> Response:
    method = route.split(" ", maxsplit=1)[0]
    body = BODIES.get(method) if not path.endswith(("test.json", "resend.json")) else None
    return api._send(method.lower(), path, body, {}) if body else getattr(api, method.lower())(path)


def test_no_other_route_names_an_object_of_these_kinds() -> None:
    words = ("deliver", "export", "import", "bulk", "files", "views")
    # Imports of stores are other objects than imports of files. The checks of all routes cover them.
    names = [route.name for route in get_all_routes() if "store_imports" not in route.name]
    named = {name for name in names if any(word in name for word in words)}

    assert named <= set(ROUTES)
    assert len(ROUTES) == 8


@pytest.mark.parametrize("route", ROUTES)
def test_routes_find_no_delivery_of_another_shop(world: World, route: str) -> None:
    pairs = [pair for pair in product((world.own, world.foreign), repeat=2) if pair != (world.own, world.own)]
    if "deliveries/" not in route:
        pairs = [(world.foreign, world.foreign)]

    for subscription, delivery in pairs:
        with assert_database_unchanged():
            response = call(world.api, route, fill(route, subscription, delivery))
            assert (response.status_code, response.json()) == (404, {"errors": "Not Found"})
    assert call(world.foreign_api, route, fill(route, world.foreign, world.foreign)).status_code in {200, 202}


def test_ids_in_bodies_reach_no_subscription_of_another_shop(world: World) -> None:
    own, foreign = world.own["subscription"][0], world.foreign["subscription"][0]
    body = {"webhook": {"id": foreign, "subscription_id": foreign, "shop_id": world.there.shop.pk, "name": "mine"}}
    before = Subscription._base_manager.values().get(pk=foreign)

    assert world.api.put(f"webhooks/{own}.json", body).json()["webhook"]["id"] == own
    assert MARK not in read(world.api.get("webhooks.json", ids=str(foreign)))
    assert Subscription._base_manager.values().get(pk=foreign) == before


# --- GraphQL ----------------------------------------------------------------------------------------------------------

SCHEMA = get_schema(VERSION)._schema
# The values of all other required arguments, by type.
VALUES: JsonObject = {
    "DateTime": YESTERDAY,
    "WebhookSubscriptionInput": {"name": "mine"},
    "PubSubWebhookSubscriptionInput": {"pubSubProject": "mine", "pubSubTopic": "mine"},
    "EventBridgeWebhookSubscriptionInput": {"arn": "arn:aws:events:eu-west-1::event-source/x/1/mine"},
}
# Fields for endpoints that this installation does not allow, and fields for other objects.
FAILING = {"pubSubWebhookSubscriptionUpdate", "eventBridgeWebhookSubscriptionUpdate", "app", "appInstallation"}


def list_fields_with_ids() -> Iterator[tuple[str, str, GraphQLField]]:
    for operation, kind in (("query", SCHEMA.query_type), ("mutation", SCHEMA.mutation_type)):
        assert kind is not None
        for name, field in kind.fields.items():
            if any(get_named_type(argument.type).name == "ID" for argument in field.args.values()):
                yield operation, name, field


FIELDS = {name: (operation, field) for operation, name, field in list_fields_with_ids()}


def build_document(name: str, kinds: Ids) -> tuple[str, JsonObject]:
    """Return a document that passes the IDs of all kinds of objects, one after the other, and its variables."""
    operation, field = FIELDS[name]
    ids = [
        f"gid://platform/{kind}/{kinds[key][0]}"
        for kind, key in (("WebhookSubscription", "subscription"), ("WebhookDelivery", "delivery"))
    ]
    variables: JsonObject = {}
    parts, declared = [], []
    given = {k: v for k, v in field.args.items() if str(v.type).endswith("!") or get_named_type(v.type).name == "ID"}
    for number, global_id in enumerate(ids):
        words = []
        for argument, kind in given.items():
            variable = f"{argument}{number}"
            is_id = get_named_type(kind.type).name == "ID"
            variables[variable] = (
                (ids if "[" in str(kind.type) else global_id) if is_id else VALUES[get_named_type(kind.type).name]
            )
            declared.append(f"${variable}: {kind.type}")
            words.append(f"{argument}: ${variable}")
        parts.append(f"a{number}: {name}({', '.join(words)}) {{ __typename {select(field)} }}")
    return f"{operation} ({', '.join(declared)}) {{ {' '.join(parts)} }}", variables


def select(field: GraphQLField) -> str:
    """Return the selection of the IDs and the errors in the result."""
    names = getattr(get_named_type(field.type), "fields", {})
    selected = "userErrors { message }" if "userErrors" in names else ""
    for name in names:
        if name.startswith("webhook"):
            selected += f" {name} {{ id {'topic' if 'Delivery' in name else 'uri'} }}"
    return selected or "id"


def test_all_fields_with_ids_are_tried() -> None:
    assert len(FIELDS) > 8
    assert {"node", "nodes", "webhookSubscription", "webhookDeliveryResend", "webhookSubscriptionReplay"} <= set(FIELDS)


@pytest.mark.parametrize("name", FIELDS)
def test_graphql_finds_no_object_of_another_shop(world: World, name: str) -> None:
    with assert_database_unchanged():
        result = execute(world.api, *build_document(name, world.foreign))
    assert MARK not in json.dumps(result)
    for answer in (result["data"] or {}).values():
        found = answer if isinstance(answer, list) else [answer]
        assert all(item is None or item.get("userErrors") for item in found)

    own = execute(world.foreign_api, *build_document(name, world.foreign))["data"] or {}
    answers = [item for answer in own.values() for item in (answer if isinstance(answer, list) else [answer])]
    assert any(item and not item.get("userErrors") for item in answers) == (name not in FAILING)


# --- Public files -----------------------------------------------------------------------------------------------------


def test_a_shops_domain_serves_no_file_of_another_shop(world: World) -> None:
    path = f"/storefront/{{}}/files/{MARK}.png"

    answers = [Client().get(path.format(panel.shop.domain)).status_code for panel in (world.here, world.there)]

    assert answers == [404, 200]
