"""The secrets that apps had before their present ones, while they may still be used."""

from django.db import models

from apps.ground.rows import Timestamped
from apps.shops.models.apps import App
from apps.shops.models.secrets import SecretField


class RetiringSecret(Timestamped):
    """A secret that was replaced, and counts until the app's servers know the new one."""

    app = models.ForeignKey(App, on_delete=models.CASCADE, related_name="retiring_secrets")
    secret = SecretField(editable=False)
    until = models.DateTimeField()

    class Meta:
        # The table is older than this place of its model.
        db_table = "webhooks_retiringsecret"
        ordering = ("until", "id")

    def __str__(self) -> str:
        return f"secret of {self.app_id} until {self.until:%Y-%m-%d %H:%M}"
