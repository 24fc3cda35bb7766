"""Tokens of the wallet that a shop accepted, by their digests."""

from django.db import models

from apps.ground.phrases import TAKEN
from apps.ground.rows import ShopOwned


class TokenRedemption(ShopOwned):
    """That a token was accepted for a checkout.

    The row outlives its handler, so that a token stays used. It holds nothing by which the token could be found.
    """

    digest = models.CharField(max_length=64, help_text="SHA-256 of the token, in hexadecimal digits.")
    handler_id = models.CharField(max_length=128)
    checkout_id = models.CharField(max_length=255)
    instrument_id = models.CharField(max_length=255)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("digest",),
                name="payments_token_is_redeemed_once",
                violation_error_message=TAKEN,
                violation_error_code="payment_instrument.credential.token",
            ),
        )

    def __str__(self) -> str:
        return self.checkout_id
