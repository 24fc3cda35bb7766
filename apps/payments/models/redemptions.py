"""The model for redeemed wallet tokens, which are stored as digests."""

from django.db import models

from apps.ground.base_models import ShopOwned
from apps.ground.error_messages import TAKEN


class TokenRedemption(ShopOwned):
    """The redemption of a token for a checkout.

    The row is kept when the handler is deleted, so that the token cannot be redeemed again. The token cannot be derived
    from the row.
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
