"""Build and read the secret URLs of invoice pages.

A URL contains a random key with a signature. A copy of the database alone is therefore not enough to open the pages.
After ``SECRET_KEY`` is rotated, earlier URLs remain valid while ``SECRET_KEY_FALLBACKS`` contains the old key.
"""

from django.conf import settings
from django.core.signing import BadSignature, Signer


def _get_signer() -> Signer:
    return Signer(salt="apps.draft_orders.invoices", sep=".")


def get_invoice_url(shop_id: int, key: str) -> str:
    return f"{settings.BASE_URL}/invoices/{shop_id}/{_get_signer().sign(key)}"


def read_invoice_key(token: str) -> str | None:
    """Return the key in the token of an invoice URL, or None if the signature is invalid."""
    try:
        return _get_signer().unsign(token)
    except BadSignature:
        return None
