from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.core.i18n.error_messages import at_most
from apps.core.tenancy.models import App
from apps.core.tenancy.shop_owned import ShopOwned
from apps.orders.models.orders import Order


class OrderRisk(ShopOwned):
    """An app's assessment of the risk that an order is fraudulent.

    ``score`` is 0 for no risk and 1 for the highest risk. ``cause_cancel`` says that the order should not be fulfilled.
    Staff see only assessments with ``display``.
    """

    class Recommendation(models.TextChoices):
        ACCEPT = "accept", pgettext_lazy("risk", "Accept")
        INVESTIGATE = "investigate", pgettext_lazy("risk", "Investigate")
        CANCEL = "cancel", pgettext_lazy("risk", "Cancel")

    order = models.ForeignKey(Order, on_delete=models.CASCADE, related_name="risks", db_index=False)
    app = models.ForeignKey(App, on_delete=models.SET_NULL, null=True, related_name="+", editable=False)
    source = models.CharField(max_length=255, default="External")
    score = models.DecimalField(max_digits=4, decimal_places=3, validators=[MinValueValidator(0), MaxValueValidator(1)])
    recommendation = models.CharField(max_length=11, choices=Recommendation)
    message = models.CharField(max_length=1000)
    display = models.BooleanField(default=True)
    cause_cancel = models.BooleanField(default=False)

    history_owners = ("order",)
    personal_fields = ("message",)
    non_personal_fields = ("source",)

    class Meta:
        verbose_name = gettext_lazy("risk assessment")
        verbose_name_plural = gettext_lazy("risk assessments")
        ordering = ("id",)
        constraints = (
            models.CheckConstraint(
                condition=Q(score__gte=0, score__lte=1),
                name="orders_orderrisk_score_up_to_one",
                violation_error_message=at_most(1),
                violation_error_code="score",
            ),
        )
        indexes = (models.Index(fields=("order", "id"), name="orders_orderrisk_by_order"),)

    def __str__(self) -> str:
        return f"{self.source}: {self.recommendation}"
