from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from functools import partial
from itertools import count
from pathlib import Path

import pytest
from django.apps import apps
from django.contrib.messages import get_messages
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from apps.content.models import Blog, Policy, Redirect
from apps.core.admin.forms import idempotency
from apps.core.tenancy.models import SentForm, Shop
from apps.core.tenancy.scope import all_shops_scope, shop_scope
from apps.core.types import Attrs
from apps.shops.domain.app_installation import ensure_shop_app
from apps.staff.domain import submitted_forms
from tests.support import factories
from tests.support.api_client import Response
from tests.support.databases.races import run_concurrently
from tests.support.factories.catalog import PNG, make_product
from tests.support.factories.content import create_zip, make_blog, make_draft, make_rewritten
from tests.support.factories.customers import make_customer
from tests.support.factories.draft_orders import make_draft_order
from tests.support.factories.fulfillment import make_fulfillment_order
from tests.support.factories.gift_cards import make_gift_card
from tests.support.factories.orders import make_order
from tests.support.panel.add_forms import LEAST, ROWS, get_edit_form
from tests.support.panel.client import Panel
from tests.support.panel.html_forms import get_form, get_forms
from tests.support.subtests import Subtests
from tests.support.types import JsonObject
from tests.support.webhooks import make_subscription

# Tables that are not counted: tables that a login or any form submission writes to, and shared file contents.
BESIDES = {"staff.sentform", "sessions.session", "usersessions.usersession", "content.filecontent"}
# Fields with unique values within a shop.
OF_THEIR_OWN: dict[str, Callable[[int], str]] = {
    "application_id": "ABCDE12345.com.example.app{}".format,
    "key": "wash{}".format,
    "email": "new-{}@example.com".format,
    "uri": "https://erp.example.com/{}".format,
}
NUMBERS = count(1)
Target = tuple[object, ...]


@dataclass
class OnceForm:
    """A form with a page, an action URL and the values to enter."""

    page: str
    typed: Attrs
    about: Callable[[Shop], Target] = lambda _: ()
    to: str = ""

    def fill(self, panel: Panel) -> tuple[str, Attrs]:
        """Open the page; return the form's action URL and the data that a browser sends."""
        args = self.about(panel.shop)
        page = panel.url(self.page, *args)
        address = panel.url(self.to, *args) if self.to else page
        names = {"form_key", *self.typed}
        forms = (form for form in get_forms(panel.http.get(page).content) if form.names.issuperset(names))
        form = next(form for form in forms if form.attrs.get("action", page) in {address, ""})
        return address, form.data | self.typed


def _order(shop: Shop, **values: object) -> Target:
    return (make_order(shop, **values).pk,)


def _draft(_shop: Shop) -> Target:
    return (make_draft_order().pk,)


def _authorized(shop: Shop) -> Target:
    payment = {"kind": "authorization", "status": "success", "amount": Decimal("20.00")}
    return _order(shop, transactions=[payment])


def _installation(shop: Shop) -> Target:
    installation = factories.make_installation(shop, ())
    factories.make_token(installation)
    return (installation.pk,)


def _customer(_shop: Shop) -> Target:
    return (make_customer().pk,)


def _archive() -> SimpleUploadedFile:
    return SimpleUploadedFile("dawn.zip", create_zip({"layout/theme.liquid": "Hello"}), "application/zip")


def _subscription(shop: Shop) -> Target:
    # Each subscription needs a unique address.
    address = f"https://apps.example.com/{next(NUMBERS)}"
    return (make_subscription(factories.make_installation(shop, ()), address, topic="shop/update").pk,)


def _own_app(shop: Shop) -> Target:
    with shop_scope(shop):
        ensure_shop_app(shop, at=timezone.now())
    return ()


def _picture() -> SimpleUploadedFile:
    return SimpleUploadedFile("a.png", PNG)


def _orders() -> SimpleUploadedFile:
    return SimpleUploadedFile("in.jsonl", b'{"kind": "customer", "email": "a@example.com"}\n')


ACTIONS: dict[str, OnceForm] = {
    "comment": OnceForm("orders_order_change", {"comment": "Called."}, _order, "orders_order_comment"),
    "capture": OnceForm("orders_order_change", {}, _authorized, "orders_order_capture"),
    "paid": OnceForm("orders_order_change", {}, _order, "orders_order_paid"),
    "cancel": OnceForm("orders_order_cancel", {"reason": "other"}, _order),
    "sending": OnceForm("fulfillment_fulfillmentorder_fulfill", {}, lambda _: (make_fulfillment_order().order_id,)),
    "hold": OnceForm(
        "fulfillment_fulfillmentorder_act", {"reason": "other"}, lambda _: (make_fulfillment_order().pk, "hold")
    ),
    "refund": OnceForm("refunds_refund_new", {}, partial(_order, financial_status="paid")),
    "order by phone": OnceForm("draft_orders_draftorder_add", {}),
    "draft order's copy": OnceForm("draft_orders_draftorder_change", {}, _draft, "draft_orders_draftorder_duplicate"),
    "order's copy": OnceForm("orders_order_change", {}, _order, "draft_orders_draftorder_from_order"),
    "draft order's invoice": OnceForm("draft_orders_draftorder_invoice", {"to": "a@example.com"}, _draft),
    "token": OnceForm("shops_installation_change", {}, _installation, "shops_installation_new_token"),
    "rotation": OnceForm("shops_installation_change", {"overlap": "24"}, _installation, "shops_installation_rotate"),
    "purchase": OnceForm("shops_installation_new_purchase", {"name": "Setup", "price": "10"}, _installation),
    "app": OnceForm("shops_installation_add", {"name": "Sync"}),
    "member": OnceForm("staff_membership_add", {"email": "new@example.com", "first_name": "Alex"}),
    "customer's invitation": OnceForm("customers_customer_invite", {"to": "a@example.com"}, _customer),
    "customer's link": OnceForm("customers_customer_activation", {}, _customer),
    "gift card": OnceForm("gift_cards_giftcard_add", {"initial_value": "5"}),
    "gift card's adjustment": OnceForm(
        "gift_cards_giftcard_adjust", {"amount": "5", "note": "Lunch"}, lambda _: (make_gift_card().pk,)
    ),
    "theme": OnceForm("content_theme_add", {"name": "Dawn", "archive": _archive}),
    "theme's copy": OnceForm("content_theme_changelist", {}, lambda _: (), "content_theme_duplicate"),
    "earlier text": OnceForm("content_article_version", {}, lambda _: make_rewritten()),
    "product's copy": OnceForm("catalog_product_duplicate", {}, lambda _: (make_product().pk,)),
    "images": OnceForm("catalog_product_images", {"files": _picture}, lambda _: (make_product().pk,)),
    "export": OnceForm("imports_exports_export_new", {"kind": "orders", "format": "csv"}),
    "import": OnceForm("imports_exports_import_upload", {"file": _orders}),
    "webhook": OnceForm(
        "webhooks_subscription_add", {"topic": "orders/create", "uri": "https://erp.example.com/"}, _own_app
    ),
    "webhook's test": OnceForm("webhooks_subscription_change", {}, _subscription, "webhooks_subscription_test"),
}


def prepare_form(panel: Panel, name: str) -> tuple[str, Attrs]:
    """Open the page; return the form's URL and data."""
    if name in LEAST:
        return _add_form(panel, name)
    own = {"theme's copy": _copy_of_a_theme, "refund": _second_look, "order by phone": _order_by_phone}
    return own[name](panel) if name in own else ACTIONS[name].fill(panel)


def _add_form(panel: Panel, screen: str) -> tuple[str, Attrs]:
    form = get_edit_form(panel, screen)
    typed: Attrs = dict(LEAST[screen])
    if screen == "payments_paymenthandlerconfig":
        # Each handler needs a unique id in the shop and a unique shop id at the wallet.
        typed |= {"handler_id": f"wallet_{next(NUMBERS)}", "wallet_shop": f"{next(NUMBERS)}"}
    if "blog" in form.names:
        typed["blog"] = make_blog().pk
    for prefix, row in ROWS.get(screen, {}).items():
        typed |= form.new_row(prefix, **row)
    return panel.url(f"{screen}_add"), form.data | typed


def _copy_of_a_theme(panel: Panel) -> tuple[str, Attrs]:
    draft, _ = make_draft()
    address = panel.url("content_theme_duplicate", draft.pk)
    forms = get_forms(panel.get("content_theme_changelist").content)
    return address, next(form for form in forms if form.attrs.get("action") == address).data


def _order_by_phone(panel: Panel) -> tuple[str, Attrs]:
    address, form = ACTIONS["order by phone"].fill(panel)
    line = {"line-0-title": "Engraving", "line-0-price": "20", "line-0-quantity": "1"}
    return address, form | line | {"step": "paid"}


def _second_look(panel: Panel) -> tuple[str, Attrs]:
    """Return the form's URL and data in the review step of a refund."""
    address, form = ACTIONS["refund"].fill(panel)
    units = {name: "1" for name in form if name.startswith("units-")}
    look = send_form(panel.http, address, form | units | {"step": "look"})
    return address, get_form(look.content, "seen").data | {"step": ["refund"]}


def send_form(client: Client, address: str, data: JsonObject) -> Response:
    """Send a form's data. Callable values create a new file for each request, because a file can only be read once."""
    return client.post(address, {name: value() if callable(value) else value for name, value in data.items()})


def count_rows() -> Counter[str]:
    """Return the number of rows in each table."""
    models = {model._meta.label_lower: model for model in apps.get_models() if not model._meta.proxy}
    with all_shops_scope():
        return Counter({name: model._base_manager.count() for name, model in models.items() if name not in BESIDES})


EVERY = sorted({*LEAST, *ACTIONS})


def test_a_form_that_is_sent_again_makes_nothing_more(owner_client: Panel, in_shop: Shop) -> None:
    with Subtests() as checks:
        for name in EVERY:
            with checks(name):
                address, data = prepare_form(owner_client, name)
                empty = count_rows()
                first = send_form(owner_client.http, address, data)
                new_rows = count_rows()
                second = send_form(owner_client.http, address, data)
                assert first.status_code in {201, 302}, first.content.decode()
                assert new_rows != empty
                assert count_rows() == new_rows
                assert second.status_code == 302
                assert any("already submitted" in str(message) for message in get_messages(second.wsgi_request))
                if first.status_code == 302:
                    assert second["Location"] == first["Location"]


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.race(control="test_forms_work_twice_without_the_key")
def test_a_form_that_is_sent_many_times_at_once_works_once(owner_client: Panel, in_shop: Shop) -> None:
    with Subtests() as checks:
        for name in EVERY:
            with checks(name):
                raced = race_form(owner_client, name, 4)
                # Handles of policies and paths of redirects can be used again only after their deletion.
                for model in (Policy, Redirect):
                    model.objects.all().delete()
                assert raced == race_form(owner_client, name, 1)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_forms_work_twice_without_the_key(owner_client: Panel, in_shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Show what goes wrong if form keys can be reused: each submission takes effect."""
    monkeypatch.setattr(idempotency, "_claim_key", lambda user, key, fingerprint: SentForm(key=key))

    for name in ("comment", "token", "content_blog", "images"):
        assert race_form(owner_client, name, 4).total() > race_form(owner_client, name, 1).total(), name


def race_form(panel: Panel, name: str, times: int) -> Counter[str]:
    """Submit a form ``times`` times concurrently as one user; return the number of new rows by table."""
    address, data = prepare_form(panel, name)
    data |= {field: value(next(NUMBERS)) for field, value in OF_THEIR_OWN.items() if field in data}
    clients = [Client() for _ in range(times)]
    for client in clients:
        client.cookies.update(panel.http.cookies)
    before = count_rows()
    run_concurrently(panel.shop, *[lambda client=client: send_form(client, address, data) for client in clients])
    return count_rows() - before


def test_any_number_of_pages_may_be_open_at_once(owner_client: Panel, in_shop: Shop) -> None:
    order = make_order(in_shop)
    keys = [owner_client.form_key("orders_order_change", order.pk) for _ in range(60)]

    for number, key in enumerate(keys):
        owner_client.post("orders_order_comment", order.pk, form_key=key, comment=f"Comment {number}")

    assert order.comments.count() == 60


def test_a_page_that_was_sent_keeps_what_was_typed_into_it_since(owner_client: Panel, in_shop: Shop) -> None:
    address, data = prepare_form(owner_client, "content_blog")
    send_form(owner_client.http, address, data)

    second = send_form(owner_client.http, address, data | {"title": "Other news"})
    form = get_form(second.content, "commentable")
    response = send_form(owner_client.http, address, form.data)

    assert "submitted this form with different values" in second.content.decode()
    assert form.data["title"] == ["Other news"]
    assert response.status_code == 302


def test_a_refused_form_can_be_sent_again(owner_client: Panel, in_shop: Shop) -> None:
    address, data = prepare_form(owner_client, "content_blog")

    refused = send_form(owner_client.http, address, data | {"title": ""})
    response = send_form(owner_client.http, address, data)

    assert (refused.status_code, response.status_code) == (200, 302)


def test_a_made_up_key_does_nothing(owner_client: Panel, in_shop: Shop) -> None:
    order = make_order(in_shop)

    for made_up in ("", "made-up", "\x00", "1-abc:def"):
        response = owner_client.post("orders_order_comment", order.pk, form_key=made_up, comment="Hello")
        assert (response.status_code, b"no longer valid" in response.content) == (409, True), made_up

    assert not order.comments.exists()


def test_the_key_of_another_person_does_nothing(owner_client: Panel, in_shop: Shop) -> None:
    colleague = Panel(factories.make_member(in_shop, owner=True), in_shop)
    address, data = prepare_form(owner_client, "content_blog")

    response = send_form(colleague.http, address, data)

    assert "no longer valid" in response.content.decode()
    assert not Blog.objects.exists()


def test_sent_forms_go_after_thirty_days(owner_client: Panel, in_shop: Shop) -> None:
    send_form(owner_client.http, *prepare_form(owner_client, "content_blog"))

    moments = [timezone.now() + timedelta(days=days) for days in (29, 31)]
    assert [submitted_forms.delete_old_submissions(at) for at in moments] == [0, 1]


def test_every_form_of_the_panels_own_pages_carries_a_key() -> None:
    templates = Path(__file__).parents[2] / "templates" / "panel"
    # These forms need no key. Saving a view with the same name replaces the view, selecting rows twice only creates an
    # unused draft, and choosing the same columns twice changes nothing. Each order is fulfilled or paid in its own
    # transaction, and a second request finds the orders fulfilled or paid. Connecting to a store again saves the same
    # connection.
    keyless = {"form_key.html", "save_view.html", "list_header.html", "list_columns.html", "tour_end.html"}
    keyless |= {"fulfill_many.html", "mark_paid.html", "connect.html"}
    bare = {path.name for path in templates.rglob("*.html") if "{% csrf_token %}" in path.read_text()}

    assert bare - keyless == set()
