from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin.checks import ModelAdminChecks
from django.http import QueryDict
from django.test import RequestFactory
from django.utils import timezone

from apps.catalog.models import Product
from apps.core.admin.model_admin.base import ShopOwnedAdmin
from apps.core.events.models import Event
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.core.tenancy.shop_owned import ShopOwned
from apps.core.types import Attrs
from apps.metafields.admin.inline import MetafieldInline
from apps.metafields.domain import write
from apps.metafields.models import Metafield
from tests.support.factories.metafield_owners import make_owner
from tests.support.panel.client import Panel, PanelWith

pytestmark = pytest.mark.usefixtures("in_shop")

ROW = {"namespace": "care", "key": "wash", "type": "single_line_text_field", "value": "Cold", "description": ""}


def make_metafields(owner: Shop | ShopOwned, *rows: Attrs) -> list[Metafield]:
    at = timezone.now()
    return write.set_metafields(owner, [ROW | row for row in rows or ({},)], actor="system", at=at)


def get_events(prefix: str) -> list[Event]:
    return list(Event.objects.filter(topic__startswith=prefix).order_by("id"))


# --- shop metafields ---


def test_staff_make_change_and_delete_a_metafield_of_the_shop(admin_client_with: PanelWith, shop: Shop) -> None:
    panel = admin_client_with("preferences")

    panel.post("metafields_metafield_add", **ROW)
    metafield = Metafield.objects.get()
    changes = ROW | {"type": "number_integer", "value": "040", "key": "ignored", "seen_version": str(metafield.version)}
    panel.post("metafields_metafield_change", metafield.pk, **changes)
    metafield.refresh_from_db()
    html = panel.get("metafields_metafield_changelist").content.decode()
    panel.post("metafields_metafield_delete", metafield.pk, post="yes")

    assert (metafield.owner_resource, metafield.owner_id) == ("shop", shop.pk)
    assert (metafield.key, metafield.type, metafield.value) == ("wash", "number_integer", "40")
    assert "care.wash" in html
    assert not Metafield.objects.exists()
    assert [event.topic.split("/")[1] for event in get_events("shop_metafields/")] == ["create", "update", "delete"]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"value": "x", "type": "number_integer"}, "Must be a whole number."),
        ({"type": "nonsense"}, "Select a valid choice"),
        ({"namespace": "n" * 21}, "at most 20 characters"),
        ({"value": ""}, "required"),
        ({"key": "taken"}, "Has already been taken."),
    ],
)
def test_invalid_values_are_refused(
    admin_client_with: PanelWith, shop: Shop, fields: dict[str, str], says: str
) -> None:
    make_metafields(shop, {"key": "taken"})

    response = admin_client_with("preferences").post("metafields_metafield_add", **ROW | fields)

    assert response.status_code == 200
    assert says in response.content.decode()
    assert Metafield.objects.count() == 1


def test_shop_metafields_alone_are_listed(admin_client_with: PanelWith, shop: Shop, other_shop: Shop) -> None:
    of_product = make_metafields(make_owner("product", shop))
    with shop_scope(other_shop):
        foreign = make_metafields(other_shop)
    panel = admin_client_with("preferences")

    assert panel.get("metafields_metafield_changelist").context["cl"].result_count == 0
    for metafield in of_product + foreign:
        assert panel.get("metafields_metafield_change", metafield.pk).status_code == 404
        assert panel.post("metafields_metafield_delete", metafield.pk, post="yes").status_code == 404
    assert Metafield._base_manager.count() == 2


# --- the inline ---


class OwnerAdmin(ShopOwnedAdmin[Any]):
    inlines = (MetafieldInline,)


def build_formset(panel: Panel, product: Any, *rows: Attrs, initial: int = 0) -> Any:
    """Return the product page's metafield formset with these rows. The first ``initial`` rows already exist."""
    request = RequestFactory().get("/")
    request.user = panel.user
    posted = QueryDict(mutable=True)
    posted.update({"metafields-TOTAL_FORMS": str(len(rows)), "metafields-INITIAL_FORMS": str(initial)})
    for index, row in enumerate(rows):
        posted.update({f"metafields-{index}-{name}": str(value) for name, value in (ROW | row).items()})
    return MetafieldInline(Product, admin.site).get_formset(request, product)(data=posted, instance=product)


def test_the_inline_passes_the_admins_checks() -> None:
    checks = ModelAdminChecks().check(OwnerAdmin(Product, admin.site))

    assert [check for check in checks if "Metafield" in str(check.obj)] == []


def test_the_inline_makes_changes_and_deletes_through_the_service(admin_client_with: PanelWith, shop: Shop) -> None:
    panel, product = admin_client_with(owner=True), make_owner("product", shop)
    first, second = make_metafields(product, {}, {"key": "dry"})
    # Sorted by key: dry, wash.
    deleted, changed = {"key": "dry", "id": second.pk, "DELETE": "on"}, {"value": "Hot", "id": first.pk}
    added = {"key": "iron", "type": "boolean", "value": "true"}

    formset = build_formset(panel, product, deleted, changed, added, initial=2)
    assert formset.is_valid(), formset.errors
    left_for_the_caller = formset.save(commit=False)
    rows = list(Metafield.objects.order_by("key").values_list("key", "value", "owner_resource", "owner_id"))

    assert left_for_the_caller == []
    assert rows == [("iron", "true", "product", product.pk), ("wash", "Hot", "product", product.pk)]
    events = get_events("product_metafields/")[2:]
    assert [event.topic.split("/")[1] for event in events] == ["delete", "update", "create"]
    assert {event.actor for event in events} == {f"staff:{panel.user.pk}"}


@pytest.mark.parametrize(
    ("rows", "field", "says"),
    [
        ([{"value": "x", "type": "number_integer"}], "value", "Must be a whole number."),
        ([{}, {"value": "Hot"}], "key", "above already uses this"),
        ([{"key": "k" * 31}], "key", "at most 30 characters"),
    ],
)
def test_the_inline_shows_errors(
    admin_client_with: PanelWith, shop: Shop, rows: list[dict[str, str]], field: str, says: str
) -> None:
    panel, product = admin_client_with("products"), make_owner("product", shop)

    formset = build_formset(panel, product, *rows)

    assert not formset.is_valid()
    assert says in str(formset.errors[-1].get(field))


def test_the_inline_reaches_no_metafield_of_another_owner(admin_client_with: PanelWith, shop: Shop) -> None:
    panel, product, sibling = admin_client_with(owner=True), make_owner("product", shop), make_owner("product", shop)
    (foreign,) = make_metafields(sibling)

    for deletion in ({}, {"DELETE": "on"}):
        formset = build_formset(panel, product, {"value": "Hot", "id": foreign.pk, **deletion}, initial=1)
        assert formset.is_valid()
        formset.save(commit=False)

    rows = list(Metafield.objects.order_by("id").values_list("owner_id", "value"))
    # The submitted row is treated as a new metafield of the product itself.
    assert rows == [(sibling.pk, "Cold"), (product.pk, "Hot")]


def test_the_inline_follows_the_owners_permission(admin_client_with: PanelWith, shop: Shop) -> None:
    product = make_owner("product", shop)
    inline = MetafieldInline(Product, admin.site)
    request = RequestFactory().get("/")

    def may(panel: Panel) -> list[bool]:
        request.user = panel.user
        actions = ("view", "add", "change", "delete")
        return [getattr(inline, f"has_{action}_permission")(request, product) for action in actions]

    assert may(admin_client_with(owner=True)) == [True] * 4
    assert may(admin_client_with("pages")) == [False] * 4
