"""Helpers for filling in the stock grid."""

from typing import Any

from tests.conftest import Response
from tests.panel.conftest import Panel

GRID = "inventory_inventoryitem_changelist"


def get_messages(response: Response) -> str:
    return " ".join(str(message) for message in response.context["messages"])


def build_cell(item: Any, location: Any, quantity: Any, displayed: Any = "") -> dict[str, str]:
    return {f"cell-{item.pk}-{location.pk}-{displayed}": str(quantity)}


def save_grid(panel: Panel, reason: str = "count", **cells: str) -> Response:
    return panel.http.post(panel.url(GRID), {"reason": reason, **cells}, follow=True)
