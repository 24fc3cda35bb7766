"""Tests for metafields in the panel: the shop's metafields page, and the inline in every owner's form."""

from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin.checks import ModelAdminChecks
from django.http import QueryDict
from django.test import RequestFactory

from apps.catalog.models import Product
from apps.core.admin.model_admin.base import ShopOwnedAdmin
from apps.core.events.models import Event
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.core.types import Attrs
from apps.metafields.admin.inline import MetafieldInline
from apps.metafields.domain import write
from apps.metafields.models import Metafield
from tests.support.factories.metafield_owners import make_owner
from tests.support.panel.client import Panel, PanelWith

ROW = {"namespace": "care", "key": "wash", "type": "single_line_text_field", "value": "Cold", "description": ""}


def create_by_form(shop: Shop, **fields: Any) -> Metafield:
    with shop_scope(shop):
        (metafield,) = write.set_metafields(shop, [ROW | fields], actor="system", at=shop.created_at)
        return metafield


def get_topics(shop: Shop, prefix: str) -> list[str]:
    with shop_scope(shop):
        return list(Event.objects.filter(topic__startswith=prefix).order_by("id").values_list("topic", flat=True))


# --- shop metafields ---


def test_staff_make_change_and_delete_a_metafield_of_the_shop(admin_client_with: PanelWith, shop: Shop) -> None:
    panel = admin_client_with("preferences")

    panel.post("metafields_metafield_add", **ROW)
    with shop_scope(shop):
        metafield = Metafield.objects.get()
    changes = ROW | {"type": "number_integer", "value": "040", "key": "ignored", "seen_version": str(metafield.version)}
    panel.post("metafields_metafield_change", metafield.pk, **changes)
    metafield.refresh_from_db()
    html = panel.get("metafields_metafield_changelist").content.decode()
    panel.post("metafields_metafield_delete", metafield.pk, post="yes")

    assert (metafield.owner_resource, metafield.owner_id) == ("shop", shop.pk)
    assert (metafield.key, metafield.type, metafield.value) == ("wash", "number_integer", "40")
    assert "care.wash" in html
    with shop_scope(shop):
        assert not Metafield.objects.exists()
    assert [topic.split("/")[1] for topic in get_topics(shop, "shop_metafields/")] == ["create", "update", "delete"]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"value": "x", "type": "number_integer"}, "Must be a whole number."),
        ({"type": "nonsense"}, "Select a valid choice"),
        ({"namespace": "n" * 21}, "at most 20 characters"),
        ({"value": ""}, "required"),
    ],
)
def test_invalid_values_are_refused(
    admin_client_with: PanelWith, shop: Shop, fields: dict[str, str], says: str
) -> None:
    response = admin_client_with("preferences").post("metafields_metafield_add", **ROW | fields)

    assert response.status_code == 200
    assert says in response.content.decode()
    with shop_scope(shop):
        assert not Metafield.objects.exists()


def test_a_second_one_of_the_same_name_is_refused_on_the_form(admin_client_with: PanelWith, shop: Shop) -> None:
    create_by_form(shop)

    response = admin_client_with("preferences").post("metafields_metafield_add", **ROW)

    assert response.status_code == 200
    assert "Has already been taken." in response.content.decode()


def test_shop_metafields_alone_are_listed(admin_client_with: PanelWith, shop: Shop, other_shop: Shop) -> None:
    product = make_owner("product", shop)
    with shop_scope(shop):
        (of_product,) = write.set_metafields(product, [ROW], actor="system", at=shop.created_at)
    foreign = create_by_form(other_shop)
    panel = admin_client_with("preferences")

    assert panel.get("metafields_metafield_changelist").context["cl"].result_count == 0
    for metafield in (of_product, foreign):
        assert panel.get("metafields_metafield_change", metafield.pk).status_code == 404
        assert panel.post("metafields_metafield_delete", metafield.pk, post="yes").status_code == 404
    assert admin_client_with("products").get("metafields_metafield_changelist").status_code == 403
    assert Metafield._base_manager.count() == 2


# --- the inline ---


class OwnerAdmin(ShopOwnedAdmin[Any]):
    inlines = (MetafieldInline,)


def build_formset(panel: Panel, product: Any, data: Attrs | None = None) -> Any:
    """Return the metafield formset of the product's page."""
    request = RequestFactory().get("/")
    request.user = panel.user
    inline = MetafieldInline(Product, admin.site)
    made_class = inline.get_formset(request, product)
    if data is None:
        return made_class(instance=product)
    posted = QueryDict(mutable=True)
    posted.update(data)
    return made_class(data=posted, instance=product)


def build_management_fields(total: int, initial: int = 0) -> dict[str, str]:
    return {"metafields-TOTAL_FORMS": str(total), "metafields-INITIAL_FORMS": str(initial)}


def build_row(index: int, **fields: Any) -> dict[str, str]:
    return {f"metafields-{index}-{name}": str(value) for name, value in (ROW | fields).items()}


def test_the_inline_passes_the_admins_checks() -> None:
    checks = ModelAdminChecks().check(OwnerAdmin(Product, admin.site))

    assert [check for check in checks if "Metafield" in str(check.obj)] == []


def test_the_inline_makes_changes_and_deletes_through_the_service(admin_client_with: PanelWith, shop: Shop) -> None:
    panel, product = admin_client_with(owner=True), make_owner("product", shop)
    with shop_scope(shop):
        first, second = write.set_metafields(product, [ROW, ROW | {"key": "dry"}], actor="system", at=shop.created_at)
        # Sorted by key: dry, wash.
        data = {
            **build_management_fields(3, initial=2),
            **build_row(0, key="dry", id=second.pk),
            "metafields-0-DELETE": "on",
            **build_row(1, value="Hot", id=first.pk),
            **build_row(2, key="iron", type="boolean", value="true"),
        }

        formset = build_formset(panel, product, data)
        assert formset.is_valid(), formset.errors
        left_for_the_caller = formset.save(commit=False)
        rows = list(Metafield.objects.order_by("key").values_list("key", "value", "owner_resource", "owner_id"))

    assert left_for_the_caller == []
    assert rows == [("iron", "true", "product", product.pk), ("wash", "Hot", "product", product.pk)]
    with shop_scope(shop):
        events = list(Event.objects.filter(topic__startswith="product_metafields/").order_by("id"))[2:]
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
    data = build_management_fields(len(rows))
    for index, fields in enumerate(rows):
        data |= build_row(index, **fields)

    with shop_scope(shop):
        formset = build_formset(panel, product, data)
        valid = formset.is_valid()

    assert not valid
    assert says in str(formset.errors[-1].get(field))


def test_the_inline_reaches_no_metafield_of_another_owner(admin_client_with: PanelWith, shop: Shop) -> None:
    panel, product, sibling = admin_client_with(owner=True), make_owner("product", shop), make_owner("product", shop)
    with shop_scope(shop):
        (foreign,) = write.set_metafields(sibling, [ROW], actor="system", at=shop.created_at)
        forged = {**build_management_fields(1, initial=1), **build_row(0, value="Hot", id=foreign.pk)}
        formset = build_formset(panel, product, forged)
        assert formset.is_valid()
        formset.save(commit=False)
        deleting = build_formset(panel, product, forged | {"metafields-0-DELETE": "on"})
        assert deleting.is_valid()
        deleting.save(commit=False)

        rows = list(Metafield.objects.order_by("id").values_list("owner_id", "value"))

    # The submitted row is treated as a new metafield of the product itself.
    assert rows == [(sibling.pk, "Cold"), (product.pk, "Hot")]


def test_the_inline_follows_the_owners_permission(admin_client_with: PanelWith, shop: Shop) -> None:
    product = make_owner("product", shop)
    inline = MetafieldInline(Product, admin.site)
    request = RequestFactory().get("/")

    def may(panel: Panel) -> list[bool]:
        request.user = panel.user
        with shop_scope(shop):
            return [
                inline.has_view_permission(request, product),
                inline.has_add_permission(request, product),
                inline.has_change_permission(request, product),
                inline.has_delete_permission(request, product),
            ]

    assert may(admin_client_with(owner=True)) == [True] * 4
    assert may(admin_client_with("pages")) == [False] * 4
