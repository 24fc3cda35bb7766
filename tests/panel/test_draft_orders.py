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
PHONE_WITHOUT_COUNTRY = "Include the country code, such as +49 171 2345678."


@pytest.fixture
def panel(admin_client_with: PanelWith) -> Panel:
    return admin_client_with("draft_orders", "orders", "customers")


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
    return {name: values[-1] for name, values in data.items() if values[-1] and name != "form_key"}


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
    assert (order.note, order.tags) == ("Ring twice", "phone")
    assert order.shipping_address is not None
    assert order.shipping_address["city"] == "Lund"
    variant.refresh_from_db()
    assert variant.inventory_quantity == 4
    draft = DraftOrder.objects.get()
    link = f'from <a href="{panel.url(CHANGE, draft.pk)}">draft #D1</a>'
    assert link in panel.get("orders_order_change", order.pk).content.decode()
    assert "Order #1001" in panel.get(CHANGE, draft.pk).content.decode()


def test_the_payment_of_an_order_can_be_due_later(panel: Panel) -> None:
    run(panel, **fill_line(0, make_variant("MUG-1")), step="pending")

    assert Order.objects.get().financial_status == "pending"


@pytest.mark.parametrize("payment", ["paid", "pending"])
def test_the_chosen_payment_is_the_status_of_the_order(panel: Panel, payment: str) -> None:
    page = run(panel, **fill_line(0, make_variant("MUG-1")), payment=payment, step="calculate")
    assert get_input(page)["payment"] == payment

    run(panel, page, step="create")

    assert Order.objects.get().financial_status == payment


def test_stock_and_codes_that_are_refused_are_named_at_their_fields(panel: Panel) -> None:
    mug, cup = make_variant("MUG-1", stock=5), make_variant("CUP-1", stock=1)
    lines = fill_line(0, mug, 2) | fill_line(4, cup, 3)

    page = run(panel, **lines, step="calculate")
    short = run(panel, page, step="paid")
    unknown = run(panel, short, discount_codes="NO-SUCH", step="save")

    assert "Only 1 in stock" in page.content.decode()
    assert get_errors(short) == {"4-quantity": ["Is more than the quantity in stock (1)."]}
    assert get_errors(unknown) == {"discount_codes": ["NO-SUCH: The discount code does not exist."]}
    assert (DraftOrder.objects.count(), Order.objects.count()) == (0, 0)


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("work shirt ink", ["Work shirt · Ink"]),
        ("INK shirt", ["Work shirt · Ink"]),
        ("shirt WS-2", ["Work shirt · Sand"]),
        ("shirt sa", ["Work shirt · Sand"]),
        ("work shirt", ["Work shirt · Ink", "Work shirt · Sand"]),
        ("work shirt red", []),
        ("red ink", ["Red hat · Ink"]),
    ],
)
def test_products_are_searched_by_words_of_titles_and_skus(panel: Panel, code: str, names: list[str]) -> None:
    for title, skus in (("Work shirt", {"Ink": "WS-1", "Sand": "WS-2"}), ("Red hat", {"Ink": "RH-1"})):
        product = make_product(title, prices=("10.00",) * len(skus))
        for variant, (option, sku) in zip(product.variants.order_by("pk"), skus.items(), strict=True):
            Variant.objects.filter(pk=variant.pk).update(title=option, option1=option)
            InventoryItem.objects.filter(pk=variant.inventory_item_id).update(sku=sku)

    found = run(panel, step="suggest", code=code, part="1").context["state"].items.found

    assert [row.variant.full_name for row in found] == names


@pytest.mark.parametrize(
    ("values", "field", "error"),
    [
        ({"line-0-quantity": "x"}, "0-quantity", "Enter a whole number."),
        ({"line-0-quantity": ""}, "0-quantity", "Enter a quantity."),
        ({"line-0-quantity": "0"}, "0-quantity", "Ensure this value is greater than or equal to 1."),
        ({"line-0-variant": "999999"}, "0-__all__", "This product was deleted. Remove the line."),
        ({"line-0-variant": "", "line-0-title": "Engraving"}, "0-price", "Enter a price."),
        ({"line-0-variant": "", "line-0-price": "3"}, "0-title", "Enter a title."),
        ({"line-0-discount": "x", "line-0-discount_type": "fixed_amount"}, "0-discount", "Enter an amount in USD."),
        ({"discount": "101", "discount_type": "percentage"}, "discount", "Enter a percentage of up to 100."),
        ({"shipping_title": "Parcel"}, "shipping_price", "Enter a price. Free shipping has the price 0."),
        ({"email": "ada"}, "email", "Enter a valid email address."),
        ({"phone": "0171 2345678", "first_name": "Ada"}, "phone", PHONE_WITHOUT_COUNTRY),
        ({"customer": "999999"}, "page", "The customer was deleted. Choose another customer."),
    ],
)
def test_errors_are_at_their_fields(panel: Panel, values: Any, field: str, error: str) -> None:
    variant = make_variant("MUG-1")

    page = run(panel, **(fill_line(0, variant) | {"note": "Kept"} | values), step="pending")

    assert error in get_errors(page).get(field, [])
    assert get_input(page)["note"] == "Kept"
    assert not Order.objects.exists()


def test_missing_items_are_refused(panel: Panel) -> None:
    page = run(panel, step="save")

    assert get_errors(page) == {"page": ["Add at least one item."]}


def test_discounts_and_custom_items_change_the_total(panel: Panel) -> None:
    variant = make_variant("MUG-1")
    page = panel.http.post(
        panel.url(ADD), get_input(run(panel, **fill_line(0, variant, 2), step="calculate")) | {"custom": "1"}
    )
    typed = {
        "line-0-discount": "10", "line-0-discount_type": "percentage", "line-0-discount_reason": "Scratched",
        "line-1-title": "Engraving", "line-1-price": "5,50", "line-1-quantity": "2",
        "discount": "3", "discount_type": "fixed_amount", "discount_reason": "Loyal customer",
        "shipping_title": "Parcel", "shipping_price": "0",
    }  # fmt: skip

    shown = run(panel, page, **typed, step="calculate")
    run(panel, shown, step="save")

    assert get_totals(shown) == {
        "Subtotal": "31.00 USD", "Discounts": "-5.00 USD", "Shipping": "0.00 USD", "Tax": "0.00 USD",
        "Total": "26.00 USD",
    }  # fmt: skip
    draft = DraftOrder.objects.get()
    assert draft.total_price == Decimal("26.00")
    again = get_input(panel.get(CHANGE, draft.pk))
    expected = typed | {"line-1-price": "5.50", "shipping_price": "0.00", "line-0-discount": "10", "discount": "3.00"}
    assert {name: again.get(name) for name in expected} == expected


def test_a_customer_is_created_with_the_order(panel: Panel) -> None:
    contact = {"first_name": "Ada", "last_name": "Lovelace", "email": "ada@example.com", "phone": "+15145550123"}
    address = {"shipping_address1": "1 Main Street", "shipping_city": "Ottawa", "shipping_country_code": "CA"}

    run(panel, **fill_line(0, make_variant("MUG-1")), **contact, **address, step="save")

    customer, draft = Customer.objects.get(), DraftOrder.objects.get()
    assert (str(customer), customer.email, customer.phone) == ("Ada Lovelace", "ada@example.com", "+15145550123")
    assert (draft.customer, draft.email) == (customer, "ada@example.com")
    assert draft.shipping_address is not None
    assert draft.shipping_address["city"] == "Ottawa"
    assert draft.billing_address == draft.shipping_address


def test_the_contact_details_of_a_known_customer_choose_the_customer(panel: Panel) -> None:
    known = make_customer(email="ada@example.com", first_name="Ada")

    run(panel, **fill_line(0, make_variant("MUG-1")), first_name="Grace", email="ADA@example.com", step="save")

    assert DraftOrder.objects.get().customer == known


def test_several_customers_are_offered(panel: Panel) -> None:
    ada, grace = (make_customer(first_name=name, last_name="Meyer") for name in ("Ada", "Grace"))

    several = run(panel, step="find_customer", term="Meyer")
    one = run(panel, several, step="find_customer", term="Grace Meyer")
    chosen = panel.http.post(panel.url(ADD), get_input(several) | {"choose": ada.pk})
    none = run(panel, step="find_customer", term="Nobody")
    changed = panel.http.post(panel.url(ADD), get_input(chosen) | {"unchoose": "1"})

    assert several.context["state"].customers.found == [ada, grace]
    assert [page.context["state"].customers.customer for page in (one, chosen, changed)] == [grace, ada, None]
    assert "No customer matches “Nobody”." in none.content.decode()
    assert "email" not in get_input(changed)


@pytest.mark.parametrize(
    "term", ["0171 1234567", "01711234567", "171 1234", "0171/123-45", "+49 171 123", "0049 171 1234567"]
)
def test_customers_are_searched_by_the_beginning_of_the_phone_number(panel: Panel, term: str) -> None:
    ada = make_customer(first_name="Ada", phone="+491711234567")
    make_customer(first_name="Grace", phone="+491721234567")

    found = run(panel, step="suggest", term=term, part="1").context["state"].customers.found
    listed = panel.get("customers_customer_changelist", q=term).context["cl"].result_list

    assert [row.pk for row in found] == [row.pk for row in listed] == [ada.pk]


def test_the_phone_number_of_a_chosen_customer_is_on_the_order(panel: Panel) -> None:
    customer = make_customer(first_name="Ada", phone="+491711234567")

    run(panel, **fill_line(0, make_variant("MUG-1")), customer=customer.pk, step="pending")

    order = Order.objects.get()
    assert order.phone == ""
    assert "+491711234567" in panel.get("orders_order_change", order.pk).content.decode()


def test_staff_who_may_not_view_customers_need_the_whole_email_address(admin_client_with: PanelWith) -> None:
    panel = admin_client_with("draft_orders")
    ada = make_customer(email="ada@example.com", first_name="Ada", last_name="Lovelace", phone="+15555550100")
    make_address(ada, city="Ottawa", country_code="CA")
    other = make_customer(email="ada.b@example.com")

    for term in ("Ada", "Lovelace", "ada@", "Ottawa"):
        assert run(panel, step="find_customer", term=term).context["state"].customers.found == []
    chosen = run(panel, step="find_customer", term="Ada@example.com")
    suggested = run(panel, step="suggest", term="ada@example.com", part="1")
    page = chosen.content.decode()

    assert get_input(chosen)["customer"] == str(ada.pk)
    assert "Ada Lovelace" in page
    assert not any(word in page for word in ("Ottawa", "5555550100"))
    assert [row.pk for row in suggested.context["state"].customers.found] == [ada.pk]
    assert "Ottawa" not in suggested.content.decode()
    assert "customer" not in get_input(run(panel, choose=str(other.pk), term="ada@example.com"))
    assert get_input(run(panel, choose=str(ada.pk), term="ada@example.com"))["customer"] == str(ada.pk)


def test_a_search_that_was_not_entered_is_not_lost(panel: Panel) -> None:
    variant, customer = make_variant("MUG-1"), make_customer(email="ada@example.com")

    pages = [
        run(panel, **fill_line(0, variant), step="paid", code="MUG-1"),
        run(panel, **fill_line(0, variant), step="save", term="ada@example.com"),
    ]

    assert all("Nothing was saved yet, because a search field had text." in get_messages(page) for page in pages)
    assert pages[0].context["state"].lines[0]["quantity"].value() == "2"
    assert pages[1].context["state"].customers.customer == customer
    assert not DraftOrder.objects.exists()


def test_scripts_get_the_parts_of_the_page_without_saving(panel: Panel) -> None:
    variant = make_variant("MUG-1", "12.00", stock=3)

    saved = run(panel, **fill_line(0, variant), step="save", part="1")
    suggested = run(panel, code="Prod", step="suggest", part="1")

    assert "12.00 USD" in saved.content.decode()
    assert "<html" not in saved.content.decode()
    assert [row.variant for row in suggested.context["state"].items.found] == [variant]
    assert not DraftOrder.objects.exists()


def test_a_changed_draft_is_not_overwritten_unnoticed(panel: Panel) -> None:
    draft = make_draft_order()
    opened = panel.get(CHANGE, draft.pk)
    update_draft_order(draft, {"note": "Other tab"}, actor="system", at=timezone.now())

    refused = run(panel, opened, note="Mine", step="save")
    draft.refresh_from_db()
    assert draft.note == "Other tab"
    assert "Someone else changed this in the meantime." in refused.content.decode()

    run(panel, refused, step="save")
    draft.refresh_from_db()
    assert draft.note == "Mine"


def test_a_form_that_is_sent_twice_creates_one_order(panel: Panel) -> None:
    values = {**fill_line(0, make_variant("MUG-1")), "step": "paid", "form_key": panel.form_key(ADD)}

    first, second = (panel.post(ADD, **values) for _number in range(2))

    assert first["Location"] == second["Location"]
    assert Order.objects.count() == 1


def test_a_completed_draft_is_read_only(panel: Panel) -> None:
    draft = make_draft_order()
    opened = panel.get(CHANGE, draft.pk)
    complete(draft)

    late = run(panel, opened, note="Late", step="save")
    page = panel.get(CHANGE, draft.pk).content.decode()

    assert "Your input was not saved, because #D1 is already completed." in get_messages(late)
    assert 'name="note"' not in page
    assert "Engraving" in page
    assert panel.get("draft_orders_draftorder_delete", draft.pk).status_code == 403


def test_a_draft_is_duplicated(panel: Panel) -> None:
    customer = make_customer()
    draft = complete(make_draft_order(customer_id=customer.pk, email=customer.email, note="Ring twice"))

    panel.forge(DUPLICATE, draft.pk)
    panel.forge(DUPLICATE, draft.pk, for_another="1")

    same, other = DraftOrder.objects.exclude(pk=draft.pk).order_by("pk")
    assert [copy.status for copy in (same, other)] == ["open", "open"]
    assert (same.customer, other.customer, other.email, other.note) == (customer, None, "", "Ring twice")
    assert {copy.total_price for copy in (same, other)} == {draft.total_price}


def test_an_order_is_duplicated_as_a_draft(panel: Panel, shop: Shop) -> None:
    order = make_order(shop)
    assert panel.url(FROM, order.pk) in panel.get("orders_order_change", order.pk).content.decode()

    panel.forge(FROM, order.pk)

    draft = DraftOrder.objects.get()
    assert [line.name for line in draft.line_items.all()] == [line.name for line in order.line_items.all()]


def test_an_invoice_is_sent(panel: Panel) -> None:
    customer = make_customer(email="ada@example.com")
    variant = make_variant("MUG-1")
    to_invoice = run(panel, **fill_line(0, variant), customer=customer.pk, step="send")
    draft = DraftOrder.objects.get()

    page = panel.open(to_invoice["Location"])
    data = get_form(page.content, "to").data
    wrong = panel.http.post(to_invoice["Location"], data | {"to": "ada"})
    sent = panel.http.post(to_invoice["Location"], data, follow=True)

    assert data["to"] == ["ada@example.com"]
    assert "Enter a valid email address." in wrong.content.decode()
    assert "Invoice sent to ada@example.com." in get_messages(sent)
    draft.refresh_from_db()
    assert draft.status == "invoice_sent"


def test_a_draft_is_deleted(panel: Panel) -> None:
    draft = make_draft_order()

    panel.forge("draft_orders_draftorder_delete", draft.pk, post="yes")

    assert not DraftOrder.objects.exists()


@pytest.mark.parametrize("term", ["#D2", "D2", "2", "grace", "Hopper", "grace@example.com"])
def test_drafts_are_found(panel: Panel, term: str) -> None:
    make_draft_order()
    customer = make_customer(first_name="Grace", last_name="Hopper", email="grace@example.com")
    make_draft_order(customer_id=customer.pk, email="grace@example.com")

    assert [str(row) for row in panel.get(LIST, q=term).context["cl"].result_list] == ["#D2"]


def test_the_views_of_the_list(panel: Panel) -> None:
    make_draft_order()
    complete(make_draft_order())

    def find(**query: Any) -> list[str]:
        return [str(row) for row in panel.get(LIST, **query).context["cl"].result_list]

    assert [find(), find(view="invoice_sent"), find(view="completed"), find(view="all")] == [
        ["#D1"], [], ["#D2"], ["#D2", "#D1"]
    ]  # fmt: skip
    assert [choice["title"] for choice in panel.get(LIST).context["cl"].own_views] == [
        "Open", "Invoice sent", "Completed", "All"
    ]  # fmt: skip


def test_the_search_of_the_panel_finds_the_form(panel: Panel) -> None:
    for term, name in (("create order", ADD), ("new order", ADD), ("order by phone", LIST), ("quote", LIST)):
        assert panel.url(name) in panel.get("search", s=term).content.decode(), term


def test_viewers_see_a_draft_without_a_form(admin_client_with: PanelWith) -> None:
    viewer, draft = admin_client_with("orders", view_only=["draft_orders"]), make_draft_order()

    page = viewer.get(CHANGE, draft.pk).content.decode()

    assert "Engraving" in page
    assert 'name="code"' not in page
    assert viewer.post(CHANGE, draft.pk, step="save").status_code == 403
    assert viewer.get(ADD).status_code == 403
    assert viewer.url(ADD) not in viewer.get("orders_order_changelist").content.decode()


def test_staff_without_the_permission_see_no_drafts(admin_client_with: PanelWith, shop: Shop) -> None:
    staff, order = admin_client_with("orders", "edit_orders"), make_order(shop)

    pages = [staff.get("orders_order_changelist"), staff.get("orders_order_change", order.pk)]

    assert not any("draft_orders" in page.content.decode() for page in pages)


def test_the_timeline_of_a_completed_draft_links_to_the_order(panel: Panel, admin_client_with: PanelWith) -> None:
    draft = complete(make_draft_order())
    assert draft.order
    url = panel.url("orders_order_change", draft.order.pk)

    timeline = panel.get(CHANGE, draft.pk).content.decode().partition('id="timeline"')[2]
    assert f'<ins><a href="{url}">{draft.order.name}</a></ins>' in timeline
    assert f"<ins>{draft.order.pk}</ins>" not in timeline
    without_orders = admin_client_with("draft_orders")
    timeline = without_orders.get(CHANGE, draft.pk).content.decode().partition('id="timeline"')[2]
    assert f"<ins>{draft.order.name}</ins>" in timeline


def test_the_list_links_to_the_next_step(panel: Panel) -> None:
    complete(make_draft_order())
    sent, draft = make_draft_order(), make_draft_order()
    DraftOrder.objects.filter(pk=sent.pk).update(status="invoice_sent", invoice_sent_at=timezone.now())

    page = panel.get(LIST, view="all").content.decode()

    assert f'<a href="{draft.pk}/invoice/">Send invoice</a>' in page
    assert f'<a href="{sent.pk}/change/#create-paid">Create order</a>' in page
    assert page.count('class="field-next_step"') == 3
