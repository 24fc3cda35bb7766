"""PDF files with long texts, and what stays when the shop's settings change."""

from datetime import UTC, datetime
from decimal import Decimal
from io import BytesIO

import pytest
from django.utils import timezone
from pypdf import PdfReader

from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.documents.domain import issue
from apps.documents.domain.files import write_return_slip
from apps.documents.domain.pdf.invoices import write_invoices
from apps.documents.domain.settings import change_settings
from apps.orders.models import Order
from tests.support.factories.customers import make_customer
from tests.support.factories.documents import MARCH, VAT, buy, issue_invoice, read_text

pytestmark = pytest.mark.usefixtures("in_shop")

PAPER = {"A4": (595, 842), "letter": (612, 792)}


def read_sizes(content: bytes) -> list[tuple[int, int]]:
    boxes = (page.mediabox for page in PdfReader(BytesIO(content)).pages)
    return [(round(box.width), round(box.height)) for box in boxes]


@pytest.mark.parametrize(
    "value", ["word " * 800, "\n".join(f"line {number}" for number in range(150))], ids=["long", "many lines"]
)
def test_item_that_is_taller_than_a_page_is_split(shop: Shop, value: str) -> None:
    properties = [{"name": "Engraving", "value": f"{value}END"}]
    lines = [{"title": "Ring", "price": Decimal(10), "quantity": 7, "properties": properties}]
    order = buy(shop, lines=lines, fulfillment_status="fulfilled")
    change_settings({"footer": "\n".join("12345678")}, issues_automatically=False, actor="staff:1", at=MARCH)

    content = write_return_slip(order, at=timezone.now())

    assert content is not None
    text = "\n".join(page.extract_text() for page in PdfReader(BytesIO(content)).pages)
    assert text.count("Engraving") == text.count("END") == 1
    assert text.count("word") + text.count("line") in {800, 150}


def find_heights(content: bytes, *parts: str) -> list[float]:
    """Return the distances of texts from the bottom of the first page."""
    heights: dict[str, float] = {}

    def visit(text: str, _matrix: object, position: list[float], *_font: object) -> None:
        for part in parts:
            if part in text:
                heights[part] = position[5]

    PdfReader(BytesIO(content)).pages[0].extract_text(visitor_text=visit)
    return [heights[part] for part in parts]


def test_long_labels_of_sums_have_their_own_lines(shop: Shop) -> None:
    shipping = [{"title": "Express " * 20 + "LAST", "price": Decimal("4.90"), "tax_lines": [VAT]}]
    document = issue_invoice(buy(shop, shipping=shipping))

    last, tax = find_heights(write_invoices([document]), "LAST", "VAT 19 %")

    assert last - tax > 10


def test_long_footer_lines_are_wrapped(shop: Shop) -> None:
    footer = "Bank " * 60 + "END"
    change_settings({"footer": footer}, issues_automatically=False, actor="staff:1", at=MARCH)

    text = read_text(issue_invoice(buy(shop)))

    (line,) = [line for line in text.splitlines() if line.endswith("END")]
    assert len(line) < 200


def test_date_and_paper_of_a_document_do_not_change(shop: Shop) -> None:
    Shop.objects.update(timezone="Pacific/Auckland", country_code="US")
    order = buy(shop)
    evening = datetime(2026, 3, 2, 20, tzinfo=UTC)
    document = issue_invoice(order, evening)
    Shop.objects.update(timezone="Europe/Berlin", country_code="DE")
    document.refresh_from_db()

    cancellation = issue.cancel_invoice(document, actor="staff:1", at=datetime(2026, 3, 9, 12, tzinfo=UTC))
    second = issue_invoice(order, evening)

    assert "March 3, 2026" in read_text(document)
    assert "March 9, 2026" in read_text(cancellation)
    assert "March 2, 2026" in read_text(second)
    assert read_sizes(write_invoices([document, second])) == [PAPER["letter"], PAPER["A4"]]


def test_recipient_without_an_address_is_the_customer(shop: Shop) -> None:
    customer = make_customer(first_name="Ada", last_name="Lovelace")

    document = issue_invoice(buy(shop, customer={"id": customer.pk}, billing_address=None))

    assert document.snapshot["recipient"] == ["Ada Lovelace"]


def test_erased_order_gets_no_invoice(shop: Shop) -> None:
    order = buy(shop)
    Order.objects.update(redacted_at=timezone.now())

    with shop_scope(shop), pytest.raises(issue.NotIssued, match="personal data of this order was erased"):
        issue_invoice(order)
