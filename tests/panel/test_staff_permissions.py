import pytest
from django.core import mail
from django.utils import translation

from apps.core.events.models import Event
from apps.core.tenancy.models import Shop, User
from apps.core.tenancy.permissions import DESCRIPTIONS, NAMES
from apps.staff.admin.forms import PermissionsForm
from tests.panel.test_staff import MANAGE, change_permissions
from tests.support import factories
from tests.support.api_client import Response
from tests.support.panel.client import Panel, PanelWith, get_membership

pytestmark = pytest.mark.usefixtures("in_shop")


def test_every_name_has_a_sentence_also_in_german() -> None:
    assert sorted(DESCRIPTIONS) == sorted(NAMES)
    with translation.override("de"):
        german = {name: translation.gettext(sentence) for name, sentence in DESCRIPTIONS.items()}
    for name, sentence in DESCRIPTIONS.items():
        assert sentence.endswith(".")
        assert german[name].endswith(".")
        assert german[name] != sentence


def test_an_owners_page_says_once_what_owners_may(owner_client: Panel, operator_client: Panel, shop: Shop) -> None:
    owner = get_membership(factories.make_member(shop, owner=True), shop)

    for panel in (owner_client, operator_client):
        page = panel.get("staff_membership_change", owner.pk).content.decode()
        assert page.count("Owners may do everything in this shop.") == 1
        assert 'name="permissions"' not in page
        assert "data-preset" not in page


def test_a_former_owner_has_the_stored_permissions(operator_client: Panel, shop: Shop) -> None:
    factories.make_member(shop, owner=True)
    former = get_membership(factories.make_member(shop, "orders", owner=True), shop)

    change_permissions(operator_client, former)

    assert (former.account_owner, former.permissions) == (False, ["orders"])


def test_the_matrix_says_what_each_permission_allows(owner_client: Panel, shop: Shop) -> None:
    index = get_membership(factories.make_member(shop), shop)

    page = owner_client.get("staff_membership_change", index.pk).content.decode()

    assert 'aria-describedby="permission-refund_orders-about"' in page
    assert "Pays money back to customers, also when an order is canceled." in page


def test_members_without_the_right_see_only_granted_permissions(admin_client_with: PanelWith, shop: Shop) -> None:
    panel = admin_client_with("staff_management_delete")
    index = get_membership(factories.make_member(shop, "orders", view_only=["themes"]), shop)
    empty = get_membership(factories.make_member(shop), shop)

    page = panel.get("staff_membership_change", index.pk).content.decode()

    assert "<select" not in page.partition("bo-matrix")[2]
    assert "View orders and comment on them" in page
    assert "Manage themes and view script tags" in page
    assert "Refund orders" not in page
    assert b"No permissions yet." in panel.get("staff_membership_change", empty.pk).content


# --- presets ---


def get_selected(page: Response) -> dict[str, str]:
    """Return the label of each selected level other than no access, by permission name."""
    lines = [line for _, lines in page.context["form"].groups for line in lines]
    return {line.name: line.level for line in lines if line.is_granted}


@pytest.mark.parametrize("preset", ["Fulfillment", "Support", "Content", "Accounting"])
def test_a_preset_fills_the_form_and_saves_nothing(owner_client: Panel, shop: Shop, preset: str) -> None:
    index = get_membership(factories.make_member(shop, "staff_audit_log_view"), shop)
    buttons = {button.key: button.values.split() for button in PermissionsForm(grantable={}).presets}

    page = change_permissions(owner_client, index, "refund_orders", preset=preset)

    selected = get_selected(page)
    assert selected == {
        value.removesuffix(":view"): "View" if value.endswith(":view") else "Full" for value in buttons[preset]
    }
    assert index.permissions == ["staff_audit_log_view"]
    assert not Event.objects.filter(topic="staff/update").exists()


def test_a_preset_of_an_invitation_keeps_what_was_typed(owner_client: Panel) -> None:
    page = owner_client.post("staff_membership_add", email="New@example.com", first_name="Nia", preset="Support")

    assert get_selected(page) == {"orders": "Full", "customers": "Full", "products": "View"}
    assert b'value="New@example.com"' in page.content
    assert page.context["form"].errors == {}
    assert not User.objects.filter(email="new@example.com").exists()
    assert mail.outbox == []


def test_a_preset_leaves_what_one_cannot_grant(admin_client_with: PanelWith, shop: Shop) -> None:
    panel = admin_client_with(*MANAGE, view_only=["orders"])
    index = get_membership(factories.make_member(shop, "themes"), shop)

    page = change_permissions(panel, index, preset="Support")

    assert get_selected(page) == {"orders": "View", "themes": "Full"}


def test_an_unknown_preset_changes_nothing(owner_client: Panel, shop: Shop) -> None:
    index = get_membership(factories.make_member(shop, "orders"), shop)

    page = change_permissions(owner_client, index, "themes", preset="Everything")

    assert get_selected(page) == {"orders": "Full"}
    assert index.permissions == ["orders"]
