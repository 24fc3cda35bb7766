from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy

from apps.core.db.encrypted_fields import SecretField
from apps.core.models import Timestamped
from apps.core.tenancy.models.apps import App
from apps.core.tenancy.shop_owned import ShopOwned


class AuthorizationCode(ShopOwned):
    """A code that an app exchanges for a token, which deletes the row. The row contains only a digest.

    With ``per_user``, the token acts as the staff member who approved the request, limited to their permissions.
    """

    app = models.ForeignKey(App, on_delete=models.CASCADE, related_name="+", verbose_name=gettext_lazy("app"))
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    digest = models.CharField(max_length=64, unique=True, editable=False)
    redirect_uri = models.CharField(gettext_lazy("redirect URI"), max_length=2048)
    scopes = models.JSONField(gettext_lazy("scopes"), default=list)
    per_user = models.BooleanField(default=False)
    expires_at = models.DateTimeField()

    non_personal_fields = ("digest", "redirect_uri", "scopes")

    class Meta:
        verbose_name = gettext_lazy("authorization code")
        verbose_name_plural = gettext_lazy("authorization codes")
        ordering = ("id",)

    def __str__(self) -> str:
        return f"code of {self.app_id} until {self.expires_at:%Y-%m-%d %H:%M}"


class RetiringSecret(Timestamped):
    """A replaced secret that remains valid for a grace period, while the app's servers switch to the new secret."""

    app = models.ForeignKey(
        App, on_delete=models.CASCADE, related_name="retiring_secrets", verbose_name=gettext_lazy("app")
    )
    secret = SecretField(editable=False)
    until = models.DateTimeField()

    non_personal_fields = ("secret",)

    class Meta:
        # The table name begins with "webhooks", because the model used to be part of the webhooks app.
        verbose_name = gettext_lazy("retiring secret")
        verbose_name_plural = gettext_lazy("retiring secrets")
        db_table = "webhooks_retiringsecret"
        ordering = ("until", "id")

    def __str__(self) -> str:
        return f"secret of {self.app_id} until {self.until:%Y-%m-%d %H:%M}"
