"""Payment handlers: what a shop publishes about a way of paying, and which shop the wallet knows by which id."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Cast
from django.db.models.lookups import StartsWith
from django.utils.translation import gettext_lazy, gettext_noop

from apps.ground.phrases import INVALID, TAKEN
from apps.ground.rows import ShopOwned, VersionField

HANDLER_NAME = "dev.platform.wallet_pay"


class PaymentHandlerConfig(ShopOwned):
    """One configured instance of the wallet payment handler.

    ``config`` and ``available_instruments`` are published to the world as they are. The handler's own version is a
    date; ``version`` tells states of the row apart, as everywhere.
    """

    class Environment(models.TextChoices):
        SANDBOX = "sandbox", gettext_lazy("Sandbox")
        PRODUCTION = "production", gettext_lazy("Production")

    handler_name = models.CharField(gettext_lazy("handler"), max_length=64, default=HANDLER_NAME, editable=False)
    handler_id = models.CharField(
        gettext_lazy("handler ID"),
        max_length=128,
        help_text=gettext_lazy("Names this handler; payment instruments point back to it."),
    )
    handler_version = models.CharField(gettext_lazy("schema version"), max_length=10)
    available_instruments = models.JSONField(
        null=True, blank=True, help_text="Absent: everything that the handler knows."
    )
    config = models.JSONField(gettext_lazy("configuration"))
    # Lifted out of the configuration, which names it or means production, for the constraint and for lists.
    environment = models.CharField(gettext_lazy("environment"), max_length=10, choices=Environment, editable=False)
    enabled = models.BooleanField(
        gettext_lazy("enabled"), default=False, help_text=gettext_lazy("Published, and offered by the checkout.")
    )
    version = VersionField()

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
                violation_error_message=gettext_noop("is on for another handler of this environment"),
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
    """The id by which the wallet knows a shop; of no other shop, whatever the environment."""

    known_as = models.CharField(max_length=64, unique=True)

    def __str__(self) -> str:
        return self.known_as
