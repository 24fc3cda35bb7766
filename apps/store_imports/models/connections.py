"""Connections to the stores of imports that run in the background."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy

from apps.core.db.encrypted_fields import SecretField
from apps.core.i18n.messages import MessageField
from apps.core.tenancy.shop_owned import ShopOwned
from apps.store_imports.models.store_imports import StoreImport


class StoreConnection(ShopOwned):
    """What a worker needs to import a store: the access token, how to send it, and the selected streams.

    The token is encrypted, and cleared when the import is done or after ``token_expires_at``. ``run`` is the number of
    the current run. Jobs of earlier runs stop.
    """

    class Platform(models.TextChoices):
        BACKOFFICE = "backoffice", "Backoffice"
        SHOPIFY = "shopify", "Shopify"

    class State(models.TextChoices):
        READY = "ready", gettext_lazy("Ready to start")
        RUNNING = "running", gettext_lazy("Running")
        PAUSED = "paused", gettext_lazy("Paused")
        FAILED = "failed", gettext_lazy("Stopped by an error")
        DONE = "done", gettext_lazy("Done")

    store_import = models.OneToOneField(
        StoreImport, on_delete=models.CASCADE, related_name="connection", editable=False
    )
    platform = models.CharField(gettext_lazy("platform"), max_length=10, choices=Platform)
    brand = models.CharField(max_length=30, help_text="The word in the name of the token's header.")
    token = SecretField(default="", editable=False)
    token_expires_at = models.DateTimeField(null=True, editable=False)
    state = models.CharField(gettext_lazy("status"), max_length=7, choices=State, default=State.READY)
    run = models.PositiveIntegerField(default=0)
    streams = models.JSONField(default=list, help_text="The names of the selected streams.")
    counts = models.JSONField(default=dict, help_text="The number of objects in the store by stream.")
    refused = models.JSONField(default=list, help_text="The streams that the token may not read.")
    settings = models.JSONField(default=dict, help_text="The settings of the store to compare with this shop's.")
    problem = MessageField()

    non_personal_fields = ("brand", "token", "streams", "counts", "refused", "settings", "problem")

    class Meta:
        verbose_name = gettext_lazy("connection of a store import")
        verbose_name_plural = gettext_lazy("connections of store imports")
        ordering = ("id",)
        constraints = (
            models.UniqueConstraint(
                fields=("shop",), condition=Q(state="running"), name="store_imports_one_running_per_shop"
            ),
        )

    def __str__(self) -> str:
        return f"{self.get_platform_display()} {self.run}"
