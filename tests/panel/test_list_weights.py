"""Tests for the uncompressed size of lists, because staff members also use phones."""

import pytest
from django.contrib import admin

from apps.ground.tenancy import shop_scope
from tests.panel.conftest import Panel
from tests.panel.realistic_rows import MAKE

MOST, ROWS = 60_000, 25  # bytes
# Pages without a table: the shop settings, the themes (at most twenty) and the stock grid.
OTHERWISE = {"shops.shop", "content.theme", "inventory.inventoryitem"}
LISTS = sorted(
    label
    for model, screen in admin.site._registry.items()
    if getattr(screen, "menu", None) and (label := model._meta.label_lower) not in OTHERWISE
)
# Query parameters for lists that do not display all rows by default.
WHOLE = {"fulfillment.fulfillmentorder": {"view": "all"}}


@pytest.mark.parametrize("label", LISTS)
def test_a_list_of_25_rich_rows_is_light(owner_client: Panel, label: str) -> None:
    """Check the size of the complete page: rows, menu, filters, columns, search and pagination."""
    with shop_scope(owner_client.shop):
        for number in range(ROWS + 1):
            MAKE[label](owner_client.shop, number)

    owner_client.http.defaults["HTTP_ACCEPT_LANGUAGE"] = "de"  # German texts are longer than English texts.
    response = owner_client.get(f"{label.replace('.', '_')}_changelist", size=str(ROWS), **WHOLE.get(label, {}))
    weight = len(response.content)
    print(f"| {label} | {weight:,} |")  # noqa: T201 - pytest -rP shows this table

    assert response.content.count(b"data-row") == ROWS
    assert weight < MOST
    assert b"bo-badge-default" not in response.content  # badges with the default color need no class
