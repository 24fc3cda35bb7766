"""The form of the shop's settings, and through it what every form of the panel does."""

from typing import Any

import pytest

from apps.events.models import Event
from apps.ground.errors import DomainError
from apps.ground.tenancy import shop_scope
from apps.shops.models import Shop
from tests.panel.conftest import Panel, PanelWith


def form_of(panel: Panel, shop: Shop) -> dict[str, Any]:
    """What a browser would send if nothing were changed."""
    form = panel.get("shops_shop_change", shop.pk).context["adminform"].form
    values = {name: form[name].value() for name in form.fields}
    return {name: value for name, value in values.items() if value not in (None, False)}


@pytest.fixture
def panel(panel_with: PanelWith) -> Panel:
    return panel_with("preferences")


def test_saving_changes_the_shop_and_is_recorded_once(panel: Panel, shop: Shop) -> None:
    data = form_of(panel, shop) | {"name": "Acme & Daughters", "presentment_currencies": "gbp, EUR"}

    answer = panel.post("shops_shop_change", shop.pk, **data)

    shop.refresh_from_db()
    assert answer.status_code == 302
    assert shop.name == "Acme & Daughters"
    assert shop.presentment_currencies == ["EUR", "GBP"]
    with shop_scope(shop):
        event = Event.objects.get(topic="shop/update")
    assert event.actor == f"staff:{panel.user.pk}"
    assert event.changes["name"] == ["Acme", "Acme & Daughters"]
    assert event.request_id
    assert event.address == "127.0.0.1"


def test_saving_nothing_records_nothing(panel: Panel, shop: Shop) -> None:
    panel.post("shops_shop_change", shop.pk, **form_of(panel, shop))

    with shop_scope(shop):
        assert not Event.objects.filter(topic="shop/update").exists()


@pytest.mark.parametrize("field", ["domain", "handle", "plan"])
def test_what_is_the_operators_cannot_be_forged(panel: Panel, shop: Shop, field: str) -> None:
    before = getattr(shop, field)
    data = form_of(panel, shop) | {field: "premium"}

    panel.post("shops_shop_change", shop.pk, **data)

    shop.refresh_from_db()
    assert getattr(shop, field) == before


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("timezone", "Mars/Olympus"),
        ("currency", "XXQ"),
        ("country_code", "ZZ"),
        ("presentment_currencies", "EUR, NOPE"),
    ],
)
def test_values_that_do_not_exist_are_refused(panel: Panel, shop: Shop, field: str, value: str) -> None:
    before = getattr(shop, field)

    page = panel.post("shops_shop_change", shop.pk, **form_of(panel, shop) | {field: value})

    shop.refresh_from_db()
    assert field in page.context["adminform"].form.errors
    assert getattr(shop, field) == before


def test_a_form_that_was_overtaken_saves_nothing_and_says_who(panel: Panel, owner: Panel, shop: Shop) -> None:
    mine, theirs = form_of(panel, shop), form_of(owner, shop)
    owner.post("shops_shop_change", shop.pk, **theirs | {"name": "Theirs"})

    page = panel.post("shops_shop_change", shop.pk, **mine | {"name": "Mine"})

    shop.refresh_from_db()
    assert shop.name == "Theirs"
    assert page.context["adminform"].form.conflict.fields == ["name"]
    assert f"{owner.user} changed this" in page.content.decode()
    assert 'value="Mine"' in page.content.decode()


def test_overwriting_is_possible_once_one_has_been_told(panel: Panel, owner: Panel, shop: Shop) -> None:
    mine, theirs = form_of(panel, shop), form_of(owner, shop)
    owner.post("shops_shop_change", shop.pk, **theirs | {"name": "Theirs"})
    told = panel.post("shops_shop_change", shop.pk, **mine | {"name": "Mine"})
    version = told.context["adminform"].form.conflict.version

    panel.post("shops_shop_change", shop.pk, **mine | {"name": "Mine", "_overwrite": version})

    shop.refresh_from_db()
    assert shop.name == "Mine"


def test_overwriting_does_not_cover_a_still_newer_change(panel: Panel, owner: Panel, shop: Shop) -> None:
    mine = form_of(panel, shop)
    owner.post("shops_shop_change", shop.pk, **form_of(owner, shop) | {"name": "Second"})
    told = panel.post("shops_shop_change", shop.pk, **mine | {"name": "Mine"})
    version = told.context["adminform"].form.conflict.version
    owner.post("shops_shop_change", shop.pk, **form_of(owner, shop) | {"name": "Third"})

    panel.post("shops_shop_change", shop.pk, **mine | {"name": "Mine", "_overwrite": version})

    shop.refresh_from_db()
    assert shop.name == "Third"


def test_a_form_without_a_version_saves_nothing(panel: Panel, shop: Shop) -> None:
    data = form_of(panel, shop) | {"name": "Mine"}
    del data["seen_version"]

    panel.post("shops_shop_change", shop.pk, **data)

    shop.refresh_from_db()
    assert shop.name == "Acme"


def test_what_a_service_refuses_stands_on_the_form_and_nothing_is_saved(
    panel: Panel, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    from apps.shops.admin.settings import ShopAdmin

    def save_and_refuse(self: Any, request: Any, obj: Shop, form: Any, change: bool) -> None:
        obj.save()
        raise DomainError({"name": ["is not to our taste"], "colour": ["is missing"]})

    monkeypatch.setattr(ShopAdmin, "save_model", save_and_refuse)

    page = panel.post("shops_shop_change", shop.pk, **form_of(panel, shop) | {"name": "Mine"})

    shop.refresh_from_db()
    errors = page.context["adminform"].form.errors
    assert page.status_code == 200
    assert errors == {"name": ["is not to our taste"], "__all__": ["colour is missing"]}
    assert shop.name == "Acme"
    assert 'value="Mine"' in page.content.decode()


def test_a_new_handle_moves_the_panel(operator: Panel, shop: Shop) -> None:
    answer = operator.post("shops_shop_change", shop.pk, **form_of(operator, shop) | {"handle": "acme-new"})

    assert answer.headers["Location"] == f"/s/acme-new/admin/shops/shop/{shop.pk}/change/"
    assert operator.http.get(answer.headers["Location"]).status_code == 200


def test_somebody_who_may_only_look_gets_no_save_button(panel_with: PanelWith, shop: Shop) -> None:
    from apps.staff.domain import permissions

    permissions.grant("reports", "v", "shops.shop")
    try:
        panel = panel_with("reports")
        page = panel.get("shops_shop_change", shop.pk).content.decode()
        refused = panel.post("shops_shop_change", shop.pk, name="Mine")
    finally:
        permissions._grants["reports"].discard("shops.view_shop")

    assert 'name="_save"' not in page
    assert refused.status_code == 403
