import re
from functools import cache
from pathlib import Path

import pytest
from django.apps import apps
from django.conf import settings
from django.contrib import admin

from apps.core.tenancy.models import Membership, Shop
from apps.core.tenancy.permissions import GROUPS, NAMES, get_offered_names, grants
from tests.support import factories
from tests.support.panel.client import Panel, get_membership

pytestmark = pytest.mark.usefixtures("in_shop")


@cache
def read_code() -> str:
    """Return the source code of the apps, without the calls that declare grants."""
    files = Path(settings.BASE_DIR, "apps").rglob("*.py")
    return "\n".join(re.sub(r"grants\.add\((?:[^()]|\([^()]*\))*\)", "", file.read_text()) for file in files)


def is_checked(permission: str) -> bool:
    """Return True if the panel checks a Django permission: for the pages of a model, or by its name."""
    app_label, codename = permission.split(".")
    action, _, model_name = codename.partition("_")
    is_standard = action in {"view", "add", "change", "delete"}
    models = {model for model in apps.get_app_config(app_label).get_models() if model._meta.model_name == model_name}
    return (is_standard and bool(models & admin.site._registry.keys())) or f'"{permission}"' in read_code()


@pytest.mark.parametrize("name", get_offered_names())
def test_an_offered_permission_is_checked_by_code(name: str) -> None:
    permissions = {permission for grant in grants.values() if grant.name == name for permission in grant.permissions}

    assert any(map(is_checked, permissions))


def get_shown_names(page: bytes, attribute: str) -> set[str]:
    """Return the permission names in an attribute of a page's tags, without their levels."""
    values = re.findall(rf'{attribute}="([^"]+)"', page.decode())
    return {name.removesuffix(":view") for value in values for name in value.split()}


def test_permissions_without_effect_are_not_offered(owner_client: Panel, shop: Shop) -> None:
    index = get_membership(factories.make_member(shop), shop)
    offered = set(get_offered_names())

    matrix = get_shown_names(owner_client.get("staff_membership_change", index.pk).content, "<option value")
    presets = get_shown_names(owner_client.get("staff_membership_add").content, "data-preset")

    assert matrix == presets == offered
    assert "gift_cards" in offered
    assert "marketing_section" not in offered
    assert {name for names in GROUPS.values() for name in names} == set(NAMES)


def test_a_permission_without_effect_can_only_be_removed(owner_client: Panel, shop: Shop) -> None:
    holder = get_membership(factories.make_member(shop, "marketing_section", "orders"), shop)
    other = get_membership(factories.make_member(shop, "orders"), shop)

    page = owner_client.get("staff_membership_change", holder.pk)
    owner_client.post("staff_membership_change", other.pk, permissions=["orders", "marketing_section"])
    owner_client.post("staff_membership_change", holder.pk, permissions=["orders"])

    assert b"Open the marketing section" in page.content
    stored = Membership.objects.filter(pk__in=(holder.pk, other.pk)).values_list("permissions", flat=True)
    assert list(stored) == [["orders"], ["orders"]]
