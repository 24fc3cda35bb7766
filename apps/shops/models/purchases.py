from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy

from apps.core.i18n.error_messages import at_least
from apps.core.tenancy.models.apps import Installation
from apps.core.tenancy.shop_owned import ShopOwned


class AppPurchase(ShopOwned):
    """A one-time purchase, which the app's developer requests and the shop approves or declines."""

    class Status(models.TextChoices):
        PENDING = "pending", gettext_lazy("Waiting for approval")
        ACTIVE = "active", gettext_lazy("Approved")
        DECLINED = "declined", gettext_lazy("Declined")
        EXPIRED = "expired", gettext_lazy("Expired")

    installation = models.ForeignKey(
        Installation, on_delete=models.CASCADE, related_name="purchases", verbose_name=gettext_lazy("installation")
    )
    name = models.CharField(gettext_lazy("name"), max_length=255)
    price = models.DecimalField(gettext_lazy("price"), max_digits=15, decimal_places=3)
    currency = models.CharField(gettext_lazy("currency"), max_length=3)
    status = models.CharField(max_length=8, choices=Status, default=Status.PENDING, editable=False)
    test = models.BooleanField(default=False)
    return_url = models.URLField(max_length=2048, blank=True, default="", db_default="")
    decided_at = models.DateTimeField(null=True, editable=False)

    non_personal_fields = ("name", "currency", "return_url")

    class Meta:
        verbose_name = gettext_lazy("app purchase")
        verbose_name_plural = gettext_lazy("app purchases")
        ordering = ("-id",)
        constraints = (
            models.CheckConstraint(
                condition=Q(price__gte=0),
                name="shops_apppurchase_price_not_negative",
                violation_error_message=at_least(0),
                violation_error_code="price",
            ),
            models.CheckConstraint(
                condition=Q(status="pending", decided_at=None) | (~Q(status="pending") & Q(decided_at__isnull=False)),
                name="shops_apppurchase_is_decided_once",
                violation_error_code="status",
            ),
        )
        indexes = (
            models.Index(fields=("created_at",), condition=Q(status="pending"), name="shops_apppurchase_waiting"),
        )

    def __str__(self) -> str:
        return self.name
