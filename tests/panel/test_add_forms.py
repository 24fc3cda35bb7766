from collections.abc import Callable

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from apps.content.models import Theme
from apps.core.tenancy.models import Installation, Membership
from apps.core.tenancy.scope import shop_scope
from tests.support import factories
from tests.support.panel.add_forms import LEAST, get_edit_form, get_newest, submit_add_form
from tests.support.panel.admin_urls import TABLE
from tests.support.panel.client import Panel
from tests.support.panel.html_forms import get_form
from tests.support.subtests import Subtests

# Fields that are filled in automatically if left empty, as the form explains.
COMPLETED = {"handle", "author", "vendor", "published_at", "addresses-0-is_default"} | {
    f"options-0-{part}" for part in ("id", "name", "values")
}
# Screens with a custom add page, which have separate tests.
OWN = {
    "shops_app",
    "shops_installation",
    "content_storefile",
    "content_theme",
    "staff_membership",
    "webhooks_subscription",
    "fulfillment_fulfillmentservice",
    "gift_cards_giftcard",
    "draft_orders_draftorder",
    "discounts_pricerule",
    # Their forms are tested in test_receipts.py and test_transfers.py.
    "inventory_stockreceipt",
    "inventory_stocktransfer",
}


def test_every_screen_where_something_is_added_is_tried() -> None:
    screens = {name.removesuffix("_add") for name, row in TABLE.items() if name.endswith("_add") and row.lets}

    assert screens == {*LEAST, *OWN}


def test_each_add_form_left_as_shown_stores_what_it_showed(owner_client: Panel) -> None:
    with Subtests() as checks:
        for screen, typed in LEAST.items():
            with checks(screen):
                output, payload, stored_value = submit_add_form(owner_client, screen)
                compared = {
                    name
                    for name in stored_value.names | payload.keys()
                    if not name.startswith(("_", "csrf", "form_key", "seen_version", "metafields-", "rules-"))
                    and not name.endswith(("-id", "-product", "-place", "-customer", "_FORMS", "-DELETE"))
                    and "__prefix__" not in name
                    and name not in COMPLETED
                    and name in output.names | payload.keys()
                    and name in stored_value.names
                }
                assert compared >= {name for name in typed if not name.startswith("rules-")} & stored_value.names
                differing = {
                    name: (payload.get(name), stored_value.data.get(name))
                    for name in compared
                    if not is_same(payload.get(name), stored_value.data.get(name))
                }
                assert differing == {}


def is_same(sent_values: list[str] | None, stored_values: list[str] | None) -> bool:
    """Return True if the sent and the stored values are equal, apart from trailing zeros of decimals."""

    def plain(values: list[str] | None) -> list[str]:
        return [value.rstrip("0").rstrip(".") if "." in value else value for value in values or []]

    return plain(sent_values) == plain(stored_values)


def test_added_variants_are_tracked_if_tracking_is_left_on(owner_client: Panel) -> None:
    submit_add_form(owner_client, "catalog_product")
    pk = get_newest("catalog_product")
    page = get_edit_form(owner_client, "catalog_product", pk)
    row = page.new_row("variants", option1="Large")
    del row["variants-1-tracked"]
    owner_client.http.post(owner_client.url("catalog_product_change", pk), page.data | row)

    data = get_edit_form(owner_client, "catalog_product", pk).data

    assert data["variants-0-tracked"] == ["on"]
    assert data["variants-1-option1"] == ["Large"]
    assert "variants-1-tracked" not in data


def _theme(owner: Panel) -> None:
    data = get_form(owner.get("content_theme_add").content, "archive").data
    archive = SimpleUploadedFile("dawn.zip", b"PK\x05\x06" + bytes(18))
    owner.http.post(owner.url("content_theme_add"), data | {"name": ["Dawn"], "archive": archive})
    theme = Theme.objects.latest("pk")
    assert (theme.name, [theme.role]) == ("Dawn", data["role"])


def _app(owner: Panel) -> None:
    data = get_form(owner.get("shops_installation_add").content, "application_url").data
    owner.http.post(owner.url("shops_installation_add"), data | {"name": ["Sync"]})
    installation = Installation.objects.select_related("app").latest("pk")
    scopes = get_form(owner.get("shops_installation_scopes", installation.pk).content, "scope_content").data
    assert installation.app.name == "Sync"
    assert {name: value for name, value in scopes.items() if name.startswith("scope_")} == {
        name: value for name, value in data.items() if name.startswith("scope_")
    }


def _member(owner: Panel) -> None:
    data = get_form(owner.get("staff_membership_add").content, "email").data
    owner.http.post(owner.url("staff_membership_add"), data | {"email": ["new@example.com"], "first_name": ["Alex"]})
    membership = Membership.objects.select_related("user").latest("pk")
    assert (membership.user.email, membership.permissions) == (
        "new@example.com",
        [name for name in data.get("permissions", []) if name],
    )


def _service(owner: Panel) -> None:
    factories.make_installation(owner.shop, (), name="Sync")
    screen, typed = "fulfillment_fulfillmentservice", {"name": "Depot", "callback_url": "https://depot.example/hooks/"}
    form = get_edit_form(owner, screen)
    response = owner.http.post(owner.url(f"{screen}_add"), form.data | {name: [value] for name, value in typed.items()})
    assert response.status_code == 302
    data = get_edit_form(owner, screen, get_newest(screen)).data
    listed_fields = {"requires_shipping_method", "permits_sku_sharing", "inventory_management", "tracking_support"}
    assert {name: data.get(name) for name in listed_fields} == {name: form.data.get(name) for name in listed_fields}
    assert {name: data[name] for name in typed} == {name: [value] for name, value in typed.items()}


@pytest.mark.parametrize("check", [_theme, _app, _member, _service])
def test_unchanged_add_pages_store_the_displayed_values(owner_client: Panel, check: Callable[[Panel], None]) -> None:
    with shop_scope(owner_client.shop):
        check(owner_client)
