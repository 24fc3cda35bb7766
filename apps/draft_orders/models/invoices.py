from django.db import models
from django.utils.translation import gettext_lazy

from apps.core.tenancy.shop_owned import ShopOwned
from apps.draft_orders.models.draft_orders import DraftOrder


class DraftOrderInvoice(ShopOwned):
    """An email with the invoice of a draft order. ``sent_at`` is null until a worker has sent the email."""

    draft_order = models.ForeignKey(DraftOrder, on_delete=models.CASCADE, related_name="invoices", editable=False)
    to_address = models.CharField(max_length=255)
    from_address = models.CharField(max_length=255)
    subject = models.CharField(max_length=255)
    custom_message = models.TextField(max_length=5000, blank=True)
    bcc = models.JSONField(default=list)
    sent_at = models.DateTimeField(null=True, editable=False)

    personal_fields = ("to_address", "from_address", "subject", "custom_message", "bcc")
    history_owners = ("draft_order",)

    class Meta:
        verbose_name = gettext_lazy("invoice of a draft order")
        verbose_name_plural = gettext_lazy("invoices of draft orders")
        ordering = ("-id",)

    def __str__(self) -> str:
        return f"{self.to_address}: {self.subject}"

    @property
    def history_label(self) -> str:
        # Events keep this text when personal data is erased.
        return self.draft_order.name
