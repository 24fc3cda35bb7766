from django.db import models
from django.utils.translation import gettext_lazy

from apps.core.db.encrypted_fields import SecretField
from apps.core.tenancy.models import App
from apps.core.tenancy.shop_owned import ShopOwned


class StorefrontAccessToken(ShopOwned):
    """A token that an app passes on to storefronts, such as a mobile app. Uninstalling the app deletes it.

    Apps can read their tokens again, unlike access tokens. So the token is encrypted instead of hashed.
    """

    app = models.ForeignKey(App, on_delete=models.CASCADE, related_name="+", editable=False)
    title = models.CharField(max_length=255)
    token = SecretField(editable=False)

    non_personal_fields = ("title", "token")

    class Meta:
        verbose_name = gettext_lazy("storefront access token")
        verbose_name_plural = gettext_lazy("storefront access tokens")
        ordering = ("id",)
        indexes = (models.Index(fields=("shop", "app", "id"), name="shops_storefronttoken_by_app"),)

    def __str__(self) -> str:
        return self.title
