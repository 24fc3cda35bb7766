from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from apps.catalog.models import Variant
from apps.core.tenancy.models import Shop
from apps.customers.models import Customer
from apps.draft_orders.domain.draft_orders import update_draft_order
from apps.draft_orders.models import DraftOrder
from apps.inventory.models import InventoryItem
from apps.orders.models import Order
from tests.support.api_client import Response
from tests.support.factories.catalog import make_product
from tests.support.factories.customers import make_address, make_customer
from tests.support.factories.draft_orders import complete, make_draft_order
from tests.support.factories.inventory import get_first_location, set_stock
from tests.support.factories.orders import make_order
from tests.support.panel.client import Panel, PanelWith
from tests.support.panel.html_forms import get_form
from tests.support.panel.pages import get_messages

pytestmark = pytest.mark.usefixtures("in_shop")

LIST, ADD, CHANGE, DUPLICATE, FROM = (
    f"draft_orders_draftorder_{name}" for name in ("changelist", "add", "change", "duplicate", "from_order")
)


@pytest.fixture
def panel(admin_client_with: PanelWith) -> Panel:
    return admin_client_with("draft_orders", "orders")


def make_variant(sku: str, price: str = "10.00", barcode: str = "", stock: int | None = None) -> Variant:
    """Create a product. Its stock is tracked if ``stock`` is given."""
    variant = make_product(f"Product {sku}", prices=(price,)).variants.get()
    Variant.objects.filter(pk=variant.pk).update(barcode=barcode, title="Large")
    InventoryItem.objects.filter(pk=variant.inventory_item_id).update(sku=sku, tracked=stock is not None)
    if stock is not None:
        set_stock(InventoryItem.objects.get(pk=variant.inventory_item_id), get_first_location(variant.shop), stock)
    return Variant.objects.get(pk=variant.pk)


def fill_line(number: int, variant: Variant, quantity: object = 1, **values: object) -> dict[str, object]:
    fields = {"variant": variant.pk, "name": "Mug", "quantity": quantity, **values}
    return {f"line-{number}-{name}": value for name, value in fields.items()}


def get_input(response: Response) -> dict[str, str]:
    """Return the values of the form on a page, without the key and the blank values."""
    assert response.status_code == 200, response.content
    data = get_form(response.content, "last").data
    return {name: values[-1] for name, values in data.items() if values[-1] and name not in ("form_key",)}


def run(panel: Panel, response: "Response | None" = None, /, **values: object) -> Response:
    """Change values of the form on a page, and send it."""
    opened = response or panel.get(ADD)
    return panel.http.post(opened.request["PATH_INFO"], get_input(opened) | values)


def get_quantities(response: Response) -> dict[str, str]:
    return {line.display_name: line["quantity"].value() for line in response.context["state"].lines}


def get_totals(response: Response) -> dict[str, str]:
    return {**dict(response.context["totals"]), "Total": response.context["total"]}


def get_errors(response: Response) -> dict[str, list[str]]:
    """Return the errors of a page by field, with the number of the line."""
    state = response.context["state"]
    forms = {"": state.form, **{f"{line.number}-": line for line in state.lines}}
    found = {f"{prefix}{name}": list(errors) for prefix, form in forms.items() for name, errors in form.errors.items()}
    return found | ({"page": state.errors} if state.errors else {})


def test_codes_add_products_without_scripts(panel: Panel) -> None:
    make_variant("MUG-1", barcode="4006381333931")
    make_variant("CUP-1")

    pages = [run(panel, step="find", code="4006381333931")]
    for code in ("mug-1", "12", "+3", "CUP"):
        pages.append(run(panel, pages[-1], step="find", code=code))
    removed = panel.http.post(panel.url(ADD), get_input(pages[-1]) | {"remove": "0"})

    mug, cup = "Product MUG-1 · Large", "Product CUP-1 · Large"
    assert [get_quantities(page) for page in [*pages, removed]] == [
        {mug: "1"}, {mug: "2"}, {mug: "12"}, {mug: "15"}, {mug: "15", cup: "1"}, {cup: "1"}
    ]  # fmt: skip
    assert get_totals(pages[-1]) == {"Subtotal": "160.00 USD", "Tax": "0.00 USD", "Total": "160.00 USD"}
    assert not DraftOrder.objects.exists()


def test_an_order_is_created_as_paid(panel: Panel, shop: Shop) -> None:
    variant, customer = make_variant("MUG-1", stock=5), make_customer(email="ada@example.com", first_name="Ada")
    make_address(customer)
    page = run(panel, step="find", code="MUG-1")
    page = run(panel, page, step="find_customer", term="ada@example.com")
    assert get_input(page)["shipping_city"] == "Lund"

    values = {"shipping_title": "Parcel", "shipping_price": "4,90", "note": "Ring twice", "tags": "phone"}
    created = run(panel, page, **values, step="paid")

    order = Order.objects.get()
    assert created["Location"] == panel.url("orders_order_change", order.pk)
    assert (order.total_price, order.financial_status, order.customer) == (Decimal("14.90"), "paid", customer)
    assert (order.note, order.tags, order.shipping_address["city"]) == ("Ring twice", "phone", "Lund")
    variant.refresh_from_db()
    assert variant.inventory_quantity == 4
    draft = DraftOrder.objects.get()
    page = panel.get("orders_order_change", order.pk).content.decode()
    assert f'from <a href="{panel.url(CHANGE, draft.pk)}">draft #D1</a>' in page
    assert "Order #1001" in panel.get(CHANGE, draft.pk).content.decode()


def test_the_payment_of_an_order_can_be_due_later(panel: Panel) -> None:
    run(panel, run(panel, code="MUG-1", step="find") if make_variant("MUG-1") else None, step="pending")

    assert Order.objects.get().financial_status == "pending"
