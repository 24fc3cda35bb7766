from django.db import models
from django.utils.translation import gettext_lazy

from apps.core.i18n.error_messages import TAKEN
from apps.core.models import VersionField
from apps.core.tenancy.shop_owned import ShopOwned


class Page(ShopOwned):
    """A page of the online store, such as *About us*. It is not visible before ``published_at``.

    ``body_html`` is stored exactly as received. The panel sanitizes the HTML before display.
    """

    title = models.CharField(gettext_lazy("title"), max_length=255)
    handle = models.CharField(gettext_lazy("handle"), max_length=255)
    body_html = models.TextField(gettext_lazy("content"), blank=True)
    author = models.CharField(gettext_lazy("author"), max_length=255)
    template_suffix = models.CharField(gettext_lazy("template suffix"), max_length=255, null=True, blank=True)
    published_at = models.DateTimeField(gettext_lazy("published at"), null=True, blank=True)
    version = VersionField()

    non_personal_fields = ("title", "handle", "body_html", "author", "template_suffix")

    class Meta:
        verbose_name = gettext_lazy("page")
        verbose_name_plural = gettext_lazy("pages")
        constraints = (
            models.UniqueConstraint(
                fields=("shop", "handle"),
                name="content_page_handle_once_per_shop",
                violation_error_message=TAKEN,
            ),
        )

    def __str__(self) -> str:
        return self.title


class Policy(ShopOwned):
    """A legal text of the shop, at most one of each type."""

    class Handle(models.TextChoices):
        REFUND = "refund-policy", gettext_lazy("Refund policy")
        PRIVACY = "privacy-policy", gettext_lazy("Privacy policy")
        TERMS = "terms-of-service", gettext_lazy("Terms of service")
        SHIPPING = "shipping-policy", gettext_lazy("Shipping policy")
        SUBSCRIPTION = "subscription-policy", gettext_lazy("Cancellation policy")
        LEGAL_NOTICE = "legal-notice", gettext_lazy("Legal notice")
        CONTACT = "contact-information", gettext_lazy("Contact information")

    handle = models.CharField(gettext_lazy("type"), max_length=30, choices=Handle)
    body = models.TextField(gettext_lazy("content"))
    version = VersionField()

    non_personal_fields = ("body",)

    class Meta:
        verbose_name = gettext_lazy("policy")
        verbose_name_plural = gettext_lazy("policies")
        constraints = (
            models.UniqueConstraint(
                fields=("shop", "handle"), name="content_policy_once_per_shop", violation_error_message=TAKEN
            ),
        )

    def __str__(self) -> str:
        return str(self.get_handle_display())
