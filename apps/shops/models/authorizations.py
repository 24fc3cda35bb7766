"""What stands between a staff member's yes and an app's token."""

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy

from apps.ground.rows import ShopOwned
from apps.shops.models.apps import App


class AuthorizationCode(ShopOwned):
    """A code that an app exchanges for a token, once; only its digest is kept, and the row goes with the exchange.

    Attributes:
        user: Who approved.
        scopes: What they approved.
        per_user: Whether the token shall act as that person, within what they may do.
    """

    app = models.ForeignKey(App, on_delete=models.CASCADE, related_name="+", verbose_name=gettext_lazy("app"))
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    digest = models.CharField(max_length=64, unique=True, editable=False)
    redirect_uri = models.CharField(gettext_lazy("redirect uri"), max_length=2048)
    scopes = models.JSONField(gettext_lazy("scopes"), default=list)
    per_user = models.BooleanField(default=False)
    expires_at = models.DateTimeField()

    class Meta:
        verbose_name = gettext_lazy("authorization code")
        verbose_name_plural = gettext_lazy("authorization codes")
        ordering = ("id",)

    def __str__(self) -> str:
        return f"code of {self.app_id} until {self.expires_at:%Y-%m-%d %H:%M}"
