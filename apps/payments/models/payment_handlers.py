from django.db import models
from django.db.models import Q
from django.db.models.functions import Cast
from django.db.models.lookups import StartsWith
from django.utils.translation import gettext_lazy, gettext_noop

from apps.core.i18n.error_messages import INVALID, TAKEN
from apps.core.models import VersionField
from apps.core.tenancy.shop_owned import ShopOwned

HANDLER_NAME = "dev.platform.wallet_pay"


class PaymentHandlerConfig(ShopOwned):
    """A configured instance of the wallet payment handler.

    ``config`` and ``available_instruments`` are published unchanged. ``handler_version`` is the date that identifies a
    version of the published schema. ``version`` is the row version for optimistic locking.
    """

    class Environment(models.TextChoices):
        SANDBOX = "sandbox", gettext_lazy("Sandbox")
        PRODUCTION = "production", gettext_lazy("Production")

    handler_name = models.CharField(gettext_lazy("handler"), max_length=64, default=HANDLER_NAME, editable=False)
    handler_id = models.CharField(
        gettext_lazy("handler ID"),
        max_length=128,
        help_text=gettext_lazy("Identifies this handler. Payment instruments refer to this ID."),
    )
    handler_version = models.CharField(gettext_lazy("schema version"), max_length=10)
    available_instruments = models.JSONField(null=True, blank=True, help_text="Blank for all instruments.")
    config = models.JSONField(gettext_lazy("configuration"))
    # A copy of the environment in ``config``, for the constraint and for lists. A missing value in ``config`` means
    # production.
    environment = models.CharField(gettext_lazy("environment"), max_length=10, choices=Environment, editable=False)
    enabled = models.BooleanField(
        gettext_lazy("enabled"),
        default=False,
        help_text=gettext_lazy("Enabled handlers are published and available at checkout."),
    )
    version = VersionField()

    non_personal_fields = ("handler_name", "handler_id", "handler_version", "available_instruments", "config")

    class Meta:
        verbose_name = gettext_lazy("payment handler")
        verbose_name_plural = gettext_lazy("payment handlers")
        constraints = (
            models.UniqueConstraint(
                fields=("shop", "handler_id"),
                name="payments_handler_id_once_per_shop",
                violation_error_message=TAKEN,
                violation_error_code="handler_id",
            ),
            models.UniqueConstraint(
                fields=("shop", "handler_name", "environment"),
                condition=Q(enabled=True),
                name="payments_handler_enabled_once_per_environment",
                violation_error_message=gettext_noop(
                    "cannot be enabled: another handler with this name is already enabled in this environment"
                ),
                violation_error_code="enabled",
            ),
            models.CheckConstraint(
                condition=StartsWith(Cast("config", models.TextField()), "{"),
                name="payments_handler_config_is_an_object",
                violation_error_message=INVALID,
                violation_error_code="config",
            ),
        )

    def __str__(self) -> str:
        return self.handler_id


class WalletShop(ShopOwned):
    """An ID that the wallet has assigned to a shop. Each ID belongs to one shop, in all environments."""

    known_as = models.CharField(max_length=64, unique=True)

    non_personal_fields = ("known_as",)

    def __str__(self) -> str:
        return self.known_as


class TokenRedemption(ShopOwned):
    """The redemption of a token for a checkout.

    The row is kept when the handler is deleted, so that the token cannot be redeemed again. The token cannot be derived
    from the row.
    """

    digest = models.CharField(max_length=64, help_text="SHA-256 of the token, in hexadecimal digits.")
    handler_id = models.CharField(max_length=128)
    checkout_id = models.CharField(max_length=255)
    instrument_id = models.CharField(max_length=255)

    non_personal_fields = ("digest", "handler_id", "checkout_id", "instrument_id")

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
