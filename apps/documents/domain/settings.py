"""Read and change a shop's settings for documents, and store its logo."""

from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from io import BytesIO

from django.db import transaction
from django.utils.translation import gettext as _
from PIL import Image

from apps.core.db.row_locks import refresh_for_update
from apps.core.events.recording import record_event
from apps.core.exceptions import DomainError
from apps.core.media.uploads import load_uploaded_image
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import get_current_shop
from apps.documents.models import DocumentLogo, DocumentSettings

CHANGED = "documents/settings_changed"
# The largest logo in pixels, which is sharp at the printed size. Larger images are reduced.
MAX_LOGO_SIZE = (900, 360)
MAX_LOGO_BYTES = 2 * 1024 * 1024
EDITABLE = ("language", "footer", "logo", "invoice_prefix", "credit_note_prefix")


class SettingsRefused(DomainError):
    """Raised when settings contradict each other."""


def get_document_settings() -> DocumentSettings:
    """Return the shop's settings, or unsaved settings with the defaults."""
    shop = get_current_shop()
    return DocumentSettings.objects.filter(shop=shop).first() or DocumentSettings(shop=shop)


def build_logo(content: bytes) -> DocumentLogo:
    """Validate an uploaded image and return it as an unsaved PNG of at most ``MAX_LOGO_SIZE``.

    Raises:
        UploadRefused: The file is no image in an accepted format, is damaged or too large.
    """
    upload = load_uploaded_image(content, "logo")
    with Image.open(BytesIO(upload.data)) as original, BytesIO() as output:
        image = original.convert("RGBA" if original.has_transparency_data else "RGB")
        image.thumbnail(MAX_LOGO_SIZE, Image.Resampling.LANCZOS)
        image.save(output, "PNG", optimize=True)
        png = output.getvalue()
    digest = sha256(png).hexdigest()
    return DocumentLogo(shop=get_current_shop(), digest=digest, content=png, width=image.width, height=image.height)


def _save_logo(logo: DocumentLogo) -> DocumentLogo:
    DocumentLogo.objects.bulk_create([logo], ignore_conflicts=True)
    return DocumentLogo.objects.get(digest=logo.digest)


@transaction.atomic
def change_settings(
    values: Mapping[str, object], *, issues_automatically: bool, actor: str, at: datetime
) -> DocumentSettings:
    """Save settings. ``values`` has columns of ``EDITABLE``. A new logo comes from ``build_logo``.

    With ``issues_automatically``, orders that are created from now on get an invoice when they are paid.
    """
    shop = Shop.objects.get(pk=get_current_shop().pk)
    refresh_for_update(shop)
    row = get_document_settings()
    before = {name: _describe(getattr(row, name)) for name in EDITABLE}
    before["issues_automatically"] = str(shop.invoices_from is not None)
    for name in EDITABLE:
        if name in values:
            setattr(row, name, values[name])
    if row.invoice_prefix == row.credit_note_prefix:
        raise SettingsRefused(_("Use different prefixes for invoices and credit notes."), field="credit_note_prefix")
    if row.logo is not None and row.logo._state.adding:
        row.logo = _save_logo(row.logo)
    row.save()
    if issues_automatically != (shop.invoices_from is not None):
        shop.invoices_from = at if issues_automatically else None
        shop.save(update_fields=["invoices_from", "version"])
    after = {name: _describe(getattr(row, name)) for name in EDITABLE}
    after["issues_automatically"] = str(issues_automatically)
    changes = {name: [before[name], after[name]] for name in after if before[name] != after[name]}
    if changes:
        record_event(CHANGED, row, actor=actor, at=at, changes=changes)
    return row


def _describe(value: object) -> str:
    return "" if value is None else str(value)
