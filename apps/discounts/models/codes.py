from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy

from apps.core.db.case_folding import CaseFoldedField
from apps.core.i18n.error_messages import BLANK, TAKEN
from apps.core.models import VersionField
from apps.core.tenancy.shop_owned import ShopOwned
from apps.customers.models import Customer
from apps.discounts.models.price_rules import PriceRule
from apps.orders.models import Order

MAX_CODE = 255


class DiscountCode(ShopOwned):
    """A code of a price rule.

    ``usage_count`` is the number of the code's ``DiscountUse`` rows plus ``earlier_uses``, the number of uses in the
    system from which the code was imported.
    """

    rule = models.ForeignKey(
        PriceRule,
        on_delete=models.CASCADE,
        related_name="codes",
        verbose_name=gettext_lazy("discount"),
        db_index=False,
    )
    code = models.CharField(gettext_lazy("code"), max_length=MAX_CODE)
    code_key = CaseFoldedField(of="code")
    usage_count = models.PositiveIntegerField(gettext_lazy("uses"), default=0, editable=False)
    earlier_uses = models.PositiveIntegerField(
        gettext_lazy("uses before the import"), default=0, db_default=0, editable=False
    )
    version = VersionField()

    non_personal_fields = ("code", "code_key")
    unrecorded_fields = ("code_key", "usage_count")

    class Meta:
        verbose_name = gettext_lazy("discount code")
        verbose_name_plural = gettext_lazy("discount codes")
        ordering = ("id",)
        constraints = (
            models.UniqueConstraint(
                fields=("shop", "code_key"),
                name="discounts_code_is_unique",
                violation_error_message=TAKEN,
                violation_error_code="code",
            ),
            models.CheckConstraint(
                condition=~Q(code=""),
                name="discounts_code_not_blank",
                violation_error_code="code",
                violation_error_message=BLANK,
            ),
        )
        indexes = (
            models.Index(fields=("shop", "id"), name="discounts_code_by_shop"),
            models.Index(fields=("rule", "id"), name="discounts_code_by_rule"),
        )

    def __str__(self) -> str:
        return self.code


class DiscountUse(ShopOwned):
    """The use of a code in an order. Uses remain if the order is canceled or deleted.

    ``amount`` is the discount that the code gave, in the order's currency. It is null if the order does not name it.
    ``email_key`` is the customer's email address, as ``case_folding.build_email_key`` returns it.
    """

    code = models.ForeignKey(DiscountCode, on_delete=models.CASCADE, related_name="uses", db_index=False)
    order = models.ForeignKey(Order, on_delete=models.SET_NULL, null=True, related_name="+")
    customer = models.ForeignKey(Customer, on_delete=models.SET_NULL, null=True, related_name="+")
    email_key = models.CharField(max_length=320, blank=True)
    amount = models.DecimalField(max_digits=20, decimal_places=3, null=True)

    personal_fields = ("email_key",)

    class Meta:
        verbose_name = gettext_lazy("discount use")
        verbose_name_plural = gettext_lazy("discount uses")
        ordering = ("id",)
        constraints = (models.UniqueConstraint(fields=("code", "order"), name="discounts_use_once_per_order"),)
        indexes = (
            models.Index(fields=("code", "id"), name="discounts_use_by_code"),
            models.Index(fields=("shop", "email_key"), condition=~Q(email_key=""), name="discounts_use_by_email"),
        )

    def __str__(self) -> str:
        return f"{self.code_id} in {self.order_id}"


class CodeBatch(ShopOwned):
    """A background job that creates up to 100 codes for a price rule.

    ``results`` has one object per code, in order: ``code``, ``id`` (null before the creation, and for refused codes)
    and ``errors``.
    """

    class Status(models.TextChoices):
        QUEUED = "queued", gettext_lazy("Queued")
        RUNNING = "running", gettext_lazy("Running")
        COMPLETED = "completed", gettext_lazy("Completed")

    rule = models.ForeignKey(PriceRule, on_delete=models.CASCADE, related_name="batches", db_index=False)
    status = models.CharField(max_length=9, choices=Status, default=Status.QUEUED)
    results = models.JSONField(default=list)
    codes_count = models.PositiveIntegerField(default=0)
    imported_count = models.PositiveIntegerField(default=0)
    failed_count = models.PositiveIntegerField(default=0)
    started_at = models.DateTimeField(null=True)
    completed_at = models.DateTimeField(null=True)

    non_personal_fields = ("status", "results")
    unrecorded_fields = ("results", "status", "imported_count", "failed_count", "started_at", "completed_at")

    class Meta:
        verbose_name = gettext_lazy("batch of discount codes")
        verbose_name_plural = gettext_lazy("batches of discount codes")
        ordering = ("id",)
        indexes = (models.Index(fields=("rule", "id"), name="discounts_batch_by_rule"),)

    def __str__(self) -> str:
        return f"{self.pk}"
