"""Declare which payment columns never contain customers' personal data.

The configuration of payment handlers is published, and redeemed tokens are stored as digests. See
``apps.ground.privacy_registry``.
"""

from apps.ground.privacy_registry import ColumnsByModel

NON_PERSONAL_COLUMNS: ColumnsByModel = {
    "payments.PaymentHandlerConfig": (
        "handler_name",
        "handler_id",
        "handler_version",
        "available_instruments",
        "config",
    ),
    "payments.TokenRedemption": ("digest", "handler_id", "checkout_id", "instrument_id"),
    "payments.WalletShop": ("known_as",),
}
