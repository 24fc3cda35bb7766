from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy

from apps.core.tenancy.models.apps import Installation
from apps.core.tenancy.shop_owned import ShopOwned


class ApplicationCredit(ShopOwned):
    """An amount that the app's developer grants the shop for later charges. The row is a record: no money is paid."""

    installation = models.ForeignKey(Installation, on_delete=models.CASCADE, related_name="credits")
    description = models.CharField(max_length=255)
    amount = models.DecimalField(max_digits=15, decimal_places=3)
    currency = models.CharField(max_length=3)
    test = models.BooleanField(default=False)

    non_personal_fields = ("description", "currency")

    class Meta:
        verbose_name = gettext_lazy("app credit")
        verbose_name_plural = gettext_lazy("app credits")
        ordering = ("-id",)
        constraints = (
            models.CheckConstraint(
                condition=Q(amount__gt=0),
                name="shops_applicationcredit_amount_positive",
                violation_error_code="amount",
            ),
        )
        indexes = (models.Index(fields=("shop", "id"), name="shops_applicationcredit_by_id"),)

    def __str__(self) -> str:
        return self.description
