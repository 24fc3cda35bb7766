"""The secrets that apps had before their present ones, while they may still be used."""

from django.db import models
from django.utils.translation import gettext_lazy

from apps.ground.rows import Timestamped
from apps.shops.models.apps import App
from apps.shops.models.secrets import SecretField


class RetiringSecret(Timestamped):
    """A secret that was replaced, and counts until the app's servers know the new one."""

    app = models.ForeignKey(
        App, on_delete=models.CASCADE, related_name="retiring_secrets", verbose_name=gettext_lazy("app")
    )
    secret = SecretField(editable=False)
    until = models.DateTimeField()

    class Meta:
        # The table is older than this place of its model.
        verbose_name = gettext_lazy("retiring secret")
        verbose_name_plural = gettext_lazy("retiring secrets")
        db_table = "webhooks_retiringsecret"
        ordering = ("until", "id")

    def __str__(self) -> str:
        return f"secret of {self.app_id} until {self.until:%Y-%m-%d %H:%M}"
