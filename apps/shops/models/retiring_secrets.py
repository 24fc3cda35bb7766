"""Replaced app secrets during the grace period."""

from django.db import models
from django.utils.translation import gettext_lazy

from apps.ground.base_models import Timestamped
from apps.shops.models.apps import App
from apps.shops.models.encrypted_fields import SecretField


class RetiringSecret(Timestamped):
    """A replaced secret that remains valid for a grace period, while the app's servers switch to the new secret."""

    app = models.ForeignKey(
        App, on_delete=models.CASCADE, related_name="retiring_secrets", verbose_name=gettext_lazy("app")
    )
    secret = SecretField(editable=False)
    until = models.DateTimeField()

    class Meta:
        # The table name begins with "webhooks", because the model used to be part of the webhooks app.
        verbose_name = gettext_lazy("retiring secret")
        verbose_name_plural = gettext_lazy("retiring secrets")
        db_table = "webhooks_retiringsecret"
        ordering = ("until", "id")

    def __str__(self) -> str:
        return f"secret of {self.app_id} until {self.until:%Y-%m-%d %H:%M}"
