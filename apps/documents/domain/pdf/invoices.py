"""Write invoices and credit notes from their snapshots. Nothing else is read, so a document always looks the same."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from babel.dates import format_date
from django.utils import translation

from apps.core.i18n import formats
from apps.core.money import format_plain
from apps.core.types import ReadOnlyAttrs
from apps.documents.domain.labels import LABELS
from apps.documents.domain.pdf.fonts import choose_fonts
from apps.documents.domain.pdf.writer import Column, PdfWriter
from apps.documents.models import IssuedDocument

# Wider tables have a column for discounts and, unless there are no taxes, a column for tax rates.
_ITEM_WIDTH, _QUANTITY_WIDTH, _RATE_WIDTH, _AMOUNT_WIDTH = 70.0, 15.0, 18.0, 26.0


def write_invoices(documents: Sequence[IssuedDocument]) -> bytes:
    """Return a PDF file with the documents, in the given order. Their logos must be prefetched."""
    fonts, _missing = choose_fonts(text for document in documents for text in iterate_texts(document))
    title = str(documents[0]) if len(documents) == 1 else f"{documents[0]} – {documents[-1]}"
    at = max(document.issued_at for document in documents)
    writer = PdfWriter(fonts=fonts, title=title, at=at)
    for document in documents:
        with translation.override(document.language):
            _InvoicePage(document, LABELS[document.language], writer).write()
    return writer.get_bytes()


def iterate_texts(document: IssuedDocument) -> Iterator[str]:
    """Yield all texts of a document except labels, to find the fonts that they need."""
    yield from iterate_strings([document.snapshot, document.delivery_address, document.po_number])


def iterate_strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from iterate_strings(list(value.values()))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from iterate_strings(item)


def format_day(day: str, language: str) -> str:
    return format_date(date.fromisoformat(day), format="long", locale=language)


def format_sender(shop: ReadOnlyAttrs) -> list[str]:
    return [line for line in (shop["name"], *shop["address"], shop["email"], shop["phone"]) if line]


@dataclass(frozen=True, slots=True)
class _InvoicePage:
    document: IssuedDocument
    labels: ReadOnlyAttrs
    writer: PdfWriter

    def write(self) -> None:
        document, content, labels, writer = self.document, self.document.snapshot, self.labels, self.writer
        writer.begin_document(content["footer"], page_format=content["page_format"])
        logo = bytes(document.logo.content) if document.logo is not None else None
        writer.write_head(logo, format_sender(content["shop"]), labels[document.kind], list(self._get_facts()))
        blocks = [(labels["bill_to"], content["recipient"]), (labels["ship_to"], document.delivery_address)]
        writer.write_blocks([(heading, lines) for heading, lines in blocks if lines])
        self._write_rows()
        sums = list(self._get_sums())
        writer.write_sums(sums, emphasized=[label for label, _ in sums].index(labels["total"]))
        if content["taxes"]:
            self._write_taxes()
        if content["taxes_included"] and content["taxes"]:
            writer.write_text(labels["taxes_included"])
        writer.end_document(labels["page"])

    def _get_facts(self) -> Iterator[tuple[str, str]]:
        document, content, labels = self.document, self.document.snapshot, self.labels
        yield labels["number"], document.name
        yield labels["date"], format_day(content["date"], document.language)
        if "cancels" in content:
            yield labels["cancels"], content["cancels"]
        elif "invoice" in content:
            yield labels["invoice_reference"], content["invoice"]
        yield labels["order"], content["order"]["name"]
        yield labels["order_date"], format_day(content["order"]["date"], document.language)
        if document.po_number:
            yield "PO", document.po_number

    def _money(self, amount: str) -> str:
        return formats.format_amount(Decimal(amount), self.document.currency)

    def _write_rows(self) -> None:
        content, labels = self.document.snapshot, self.labels
        has_discounts = any(Decimal(row["discount"]) for row in content["lines"])
        get_cells: list[Callable[[ReadOnlyAttrs], str]] = [
            lambda row: "\n".join(filter(None, (row["name"], row["sku"]))),
            lambda row: formats.format_integer(row["quantity"]),
            lambda row: self._money(row["price"]),
        ]
        columns = [
            Column(labels["item"], _ITEM_WIDTH, is_number=False),
            Column(labels["quantity"], _QUANTITY_WIDTH),
            Column(labels["price"], _AMOUNT_WIDTH),
        ]
        if has_discounts:
            columns.append(Column(labels["discount"], _AMOUNT_WIDTH))
            get_cells.append(lambda row: self._money(row["discount"]) if Decimal(row["discount"]) else "–")
        if content["taxes"]:
            columns.append(Column(labels["tax"], _RATE_WIDTH))
            get_cells.append(lambda row: ", ".join(map(format_rate, row["rates"])) or "–")
        columns.append(Column(f"{labels['amount']} ({self.document.currency})", _AMOUNT_WIDTH))
        get_cells.append(lambda row: self._money(row["amount"]))
        rows: Iterable[ReadOnlyAttrs] = content["lines"]
        if rows:
            self.writer.write_table(columns, [[get_cell(row) for get_cell in get_cells] for row in rows])

    def _get_sums(self) -> Iterator[tuple[str, str]]:
        content, labels = self.document.snapshot, self.labels
        if content["lines"]:
            yield labels["subtotal"], self._money(content["subtotal"])
        for row in content["others"]:
            label = labels[row["label"]]
            yield f"{label}: {row['name']}" if row["name"] else label, self._money(row["amount"])
        if not content["taxes_included"]:
            for tax in content["taxes"]:
                if tax["rate"]:
                    yield self._get_tax_label(tax), self._money(tax["price"])
        yield labels["total"], formats.format_money(Decimal(content["total"]), self.document.currency)
        if (presentment := content["presentment"]) is not None:
            amount = formats.format_money(Decimal(presentment["total"]), presentment["currency"])
            yield labels["presentment"].format(currency=presentment["currency"]), amount

    def _get_tax_label(self, tax: ReadOnlyAttrs) -> str:
        if not tax["rate"]:
            return self.labels["not_taxed"]
        return f"{tax['title'] or self.labels['tax']} {format_rate(tax['rate'])}"

    def _write_taxes(self) -> None:
        labels = self.labels
        columns = [
            Column(labels["taxes_by_rate"], _ITEM_WIDTH, is_number=False),
            Column(labels["net"], _AMOUNT_WIDTH),
            Column(labels["tax"], _AMOUNT_WIDTH),
        ]
        self.writer.write_table(
            columns,
            [
                (self._get_tax_label(tax), self._money(tax["base"]), self._money(tax["price"]))
                for tax in self.document.snapshot["taxes"]
            ],
        )


def format_rate(rate: str) -> str:
    return f"{formats.format_plain_number(format_plain(Decimal(rate) * 100))} %"
