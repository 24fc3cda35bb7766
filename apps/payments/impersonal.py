"""Columns that hold no words of customers: what shops publish about how they are paid.

See ``apps.ground.personal``.
"""

from apps.ground.personal import Places

IMPERSONAL: Places = {
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
