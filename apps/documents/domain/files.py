"""Load documents and slips, and write them as PDF files."""

from collections.abc import Sequence
from datetime import datetime

from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import get_current_shop
from apps.documents.domain.pdf.invoices import write_invoices
from apps.documents.domain.pdf.slips import write_slips
from apps.documents.domain.settings import get_document_settings
from apps.documents.domain.slips import load_packing_slips, load_return_slip
from apps.documents.models import IssuedDocument
from apps.orders.models import Order

# The maximum numbers of orders and of their line items for which a request writes the documents. A background job
# writes more.
MAX_PER_PAGE, MAX_LINES_PER_PAGE = 20, 500
# The maximum number of orders per file, because fpdf2 keeps the whole file in memory.
MAX_PER_FILE = 500


def write_document_files(ids: Sequence[int]) -> bytes:
    """Return a PDF file with issued documents, sorted as ``ids``."""
    documents = IssuedDocument.objects.prefetch_related("logo").in_bulk(list(ids))
    return write_invoices([documents[pk] for pk in ids if pk in documents])


def write_packing_slip_files(order_ids: Sequence[int], *, at: datetime) -> bytes | None:
    """Return a PDF file with the packing slips of orders, or None if there is nothing to pack."""
    shop, settings = Shop.objects.get(pk=get_current_shop().pk), get_document_settings()
    slips = load_packing_slips(order_ids, shop, settings)
    return write_slips(slips, shop=shop, settings=settings, at=at) if slips else None


def write_return_slip(order: Order, *, at: datetime) -> bytes | None:
    """Return a PDF file with the return slip of an order, or None if the customer has no items."""
    shop, settings = Shop.objects.get(pk=get_current_shop().pk), get_document_settings()
    slip = load_return_slip(order, shop, settings)
    return None if slip is None else write_slips([slip], shop=shop, settings=settings, at=at)
