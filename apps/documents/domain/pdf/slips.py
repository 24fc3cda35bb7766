"""Write packing slips and return slips, which have no prices."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from django.utils import translation

from apps.core.i18n import formats
from apps.core.tenancy.models import Shop
from apps.core.types import ReadOnlyAttrs
from apps.documents.domain.labels import LABELS
from apps.documents.domain.pdf.fonts import choose_fonts
from apps.documents.domain.pdf.invoices import format_day, iterate_strings
from apps.documents.domain.pdf.writer import Column, PdfWriter
from apps.documents.domain.slips import Slip
from apps.documents.domain.snapshots import get_day, get_page_format
from apps.documents.models import DocumentSettings

_ITEM_WIDTH, _QUANTITY_WIDTH, _REASON_WIDTH = 100.0, 20.0, 55.0


def write_slips(slips: Sequence[Slip], *, shop: Shop, settings: DocumentSettings, at: datetime) -> bytes:
    """Return a PDF file with the slips, in the given order."""
    texts = [settings.footer, *(text for slip in slips for text in _iterate_texts(slip))]
    fonts, _missing = choose_fonts(texts)
    writer = PdfWriter(fonts=fonts, title=f"{slips[0].order}", at=at)
    logo = bytes(settings.logo.content) if settings.logo is not None else None
    for slip in slips:
        with translation.override(slip.language):
            _write_slip(writer, slip, logo, footer=settings.footer, shop=shop)
    return writer.get_bytes()


def _iterate_texts(slip: Slip) -> Iterator[str]:
    yield from iterate_strings([list(slip.sender), list(slip.recipient), list(slip.return_to), slip.shipping_method])
    yield slip.order.note
    for item, _count in slip.items:
        yield from (item.name, item.sku)
        yield from iterate_strings(item.properties)


def _write_slip(writer: PdfWriter, slip: Slip, logo: bytes | None, *, footer: str, shop: Shop) -> None:
    order, labels = slip.order, LABELS[slip.language]
    writer.begin_document(footer, page_format=get_page_format(shop))
    day = get_day(order.processed_at, shop)
    facts = [(labels["order"], order.name), (labels["order_date"], format_day(day, slip.language))]
    if slip.shipping_method:
        facts.append((labels["shipping_method"], slip.shipping_method))
    title = labels["return_slip" if slip.return_to else "packing_slip"]
    writer.write_head(logo, slip.sender if slip.return_to else [shop.name, *slip.sender], title, facts)
    if slip.return_to:
        writer.write_blocks([(labels["return_to"], slip.return_to), (labels["ship_to"], slip.recipient)])
        _write_items(
            writer,
            slip,
            labels,
            [
                Column(labels["returned_quantity"], _QUANTITY_WIDTH),
                Column(labels["reason"], _REASON_WIDTH, is_number=False),
            ],
        )
        writer.write_text(labels["return_instructions"])
    else:
        writer.write_blocks([(labels["ship_to"], slip.recipient)] if slip.recipient else [])
        _write_items(writer, slip, labels, [])
        if order.note:
            writer.write_text(labels["note"], is_heading=True)
            writer.write_text(order.note)
    writer.end_document(labels["page"])


def _write_items(writer: PdfWriter, slip: Slip, labels: ReadOnlyAttrs, more_columns: Sequence[Column]) -> None:
    columns = [Column(labels["item"], _ITEM_WIDTH, is_number=False), Column(labels["quantity"], _QUANTITY_WIDTH)]
    rows = []
    for item, count in slip.items:
        properties = (f"{part['name']}: {part['value']}" for part in item.properties)
        text = "\n".join(filter(None, (item.name, item.sku, *properties)))
        rows.append([text, formats.format_integer(count), *("" for _column in more_columns)])
    writer.write_table([*columns, *more_columns], rows)
