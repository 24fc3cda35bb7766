"""What the lists weigh that people open on a phone, before anything is compressed.

Rule: performance, panel lists.
"""

import pytest
from django.contrib import admin

from apps.ground.tenancy import shop_scope
from tests.panel.conftest import Panel
from tests.panel.rich_rows import MAKE

MOST, ROWS = 60_000, 25  # bytes
# No tables: the shop's own form, the themes, of which there are twenty at most, and the grid of the stock.
OTHERWISE = {"shops.shop", "content.theme", "inventory.inventoryitem"}
LISTS = sorted(
    label
    for model, screen in admin.site._registry.items()
    if getattr(screen, "menu", None) and (label := model._meta.label_lower) not in OTHERWISE
)
# Whole lists, where less is shown at first.
WHOLE = {"fulfillment.fulfillmentorder": {"view": "all"}}


@pytest.mark.parametrize("label", LISTS)
def test_a_list_of_25_rich_rows_is_light(owner: Panel, label: str) -> None:
    """Its rows, and the menu, filters, columns, search and pages around them."""
    with shop_scope(owner.shop):
        for number in range(ROWS + 1):
            MAKE[label](owner.shop, number)

    owner.http.defaults["HTTP_ACCEPT_LANGUAGE"] = "de"  # In which more is said than in English.
    answer = owner.get(f"{label.replace('.', '_')}_changelist", size=str(ROWS), **WHOLE.get(label, {}))
    weight = len(answer.content)
    print(f"| {label} | {weight:,} |")  # noqa: T201 - pytest -rP shows this table

    assert answer.content.count(b"data-row") == ROWS
    assert weight < MOST
    assert b"bo-badge-default" not in answer.content  # Without a colour of its own a badge needs no name for it.
