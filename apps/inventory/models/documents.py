"""Models for documents that change the stock of several items, and their lines. Documents are never deleted."""

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.core.i18n.error_messages import between
from apps.core.models import VersionField
from apps.core.tenancy.shop_owned import ShopOwned
from apps.inventory.models.inventory import InventoryItem, Location, StockMovement

MAX_LINES = 500
MAX_QUANTITY = 1_000_000
MAX_NOTE_LENGTH = 1_000
MAX_NAME_LENGTH = 600


class StockDocument(ShopOwned):
    """The columns that all documents have. ``number`` counts the documents of one kind in a shop, without gaps."""

    PREFIX = ""

    number = models.PositiveIntegerField(gettext_lazy("number"), editable=False)
    note = models.CharField(gettext_lazy("note"), max_length=MAX_NOTE_LENGTH, blank=True)
    actor = models.CharField(gettext_lazy("created by"), max_length=100, editable=False)
    version = VersionField()

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.PREFIX}{self.number}"


class StockDocumentLine(ShopOwned):
    """The columns of all lines. The name and SKU are copies, so that a document outlives the items that it lists."""

    item = models.ForeignKey(
        InventoryItem,
        on_delete=models.SET_NULL,
        null=True,
        related_name="+",
        verbose_name=gettext_lazy("item"),
    )
    name = models.CharField(gettext_lazy("name"), max_length=MAX_NAME_LENGTH)
    sku = models.CharField(gettext_lazy("SKU"), max_length=255, blank=True)
    quantity = models.IntegerField(gettext_lazy("quantity"))

    non_personal_fields = ("name", "sku")

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.quantity} × {self.name}"


class StockReceipt(StockDocument):
    """Items that arrive at a location. The stock changes when the receipt is received."""

    PREFIX = "R"
    # The reasons that staff can choose. The inventory changes of the receipt have the same reason.
    REASONS = (
        StockMovement.Reason.RECEIVED,
        StockMovement.Reason.RESTOCK,
        StockMovement.Reason.COUNT,
        StockMovement.Reason.CORRECTION,
    )

    class State(models.TextChoices):
        DRAFT = "draft", pgettext_lazy("stock document", "Draft")
        RECEIVED = "received", pgettext_lazy("stock document", "Received")
        CANCELED = "canceled", pgettext_lazy("stock document", "Canceled")

    location = models.ForeignKey(
        Location,
        on_delete=models.RESTRICT,
        related_name="+",
        db_index=False,
        verbose_name=gettext_lazy("location"),
    )
    state = models.CharField(gettext_lazy("status"), max_length=20, choices=State, default=State.DRAFT, editable=False)
    reason = models.CharField(
        gettext_lazy("reason"), max_length=20, choices=StockMovement.Reason, default=StockMovement.Reason.RECEIVED
    )
    closed_at = models.DateTimeField(gettext_lazy("received or canceled at"), null=True, editable=False)
    closed_by = models.CharField(gettext_lazy("received or canceled by"), max_length=100, blank=True, editable=False)

    non_personal_fields = ("note", "actor", "closed_by")

    class Meta:
        verbose_name = gettext_lazy("stock receipt")
        verbose_name_plural = gettext_lazy("stock receipts")
        ordering = ("-id",)
        constraints = (
            models.UniqueConstraint(fields=("shop", "number"), name="inventory_stockreceipt_number_unique"),
            models.CheckConstraint(
                condition=Q(state="draft", closed_at__isnull=True)
                | Q(state__in=("received", "canceled"), closed_at__isnull=False),
                name="inventory_stockreceipt_state_and_time",
            ),
        )
        indexes = (
            models.Index(fields=("shop", "-id"), name="inventory_receipt_by_shop"),
            models.Index(fields=("location", "-id"), name="inventory_receipt_by_location"),
        )


class StockReceiptLine(StockDocumentLine):
    receipt = models.ForeignKey(StockReceipt, on_delete=models.CASCADE, related_name="lines", db_index=False)

    class Meta:
        verbose_name = gettext_lazy("line of a stock receipt")
        verbose_name_plural = gettext_lazy("lines of stock receipts")
        ordering = ("id",)
        constraints = (
            models.UniqueConstraint(
                fields=("receipt", "item"),
                name="inventory_stockreceiptline_one_per_item",
                violation_error_message=gettext_lazy("is in the list already"),
            ),
            models.CheckConstraint(
                condition=Q(quantity__gte=1, quantity__lte=MAX_QUANTITY),
                name="inventory_stockreceiptline_quantity_in_range",
                violation_error_message=between(1, MAX_QUANTITY),
            ),
        )
        indexes = (models.Index(fields=("shop", "sku"), name="inventory_receiptline_by_sku"),)


class StockTransfer(StockDocument):
    """Items that move from one location to another. Items in transit are available at neither location."""

    PREFIX = "T"

    class State(models.TextChoices):
        DRAFT = "draft", pgettext_lazy("stock document", "Draft")
        IN_TRANSIT = "in_transit", pgettext_lazy("stock document", "In transit")
        CLOSED = "closed", pgettext_lazy("stock document", "Closed")
        CANCELED = "canceled", pgettext_lazy("stock document", "Canceled")

    origin = models.ForeignKey(
        Location, on_delete=models.RESTRICT, related_name="+", db_index=False, verbose_name=gettext_lazy("origin")
    )
    destination = models.ForeignKey(
        Location, on_delete=models.RESTRICT, related_name="+", db_index=False, verbose_name=gettext_lazy("destination")
    )
    state = models.CharField(gettext_lazy("status"), max_length=20, choices=State, default=State.DRAFT, editable=False)
    sent_at = models.DateTimeField(gettext_lazy("sent at"), null=True, editable=False)
    sent_by = models.CharField(gettext_lazy("sent by"), max_length=100, blank=True, editable=False)
    closed_at = models.DateTimeField(gettext_lazy("closed or canceled at"), null=True, editable=False)
    closed_by = models.CharField(gettext_lazy("closed or canceled by"), max_length=100, blank=True, editable=False)

    non_personal_fields = ("note", "actor", "sent_by", "closed_by")

    class Meta:
        verbose_name = gettext_lazy("stock transfer")
        verbose_name_plural = gettext_lazy("stock transfers")
        ordering = ("-id",)
        constraints = (
            models.UniqueConstraint(fields=("shop", "number"), name="inventory_stocktransfer_number_unique"),
            models.CheckConstraint(
                condition=~Q(origin=F("destination")),
                name="inventory_stocktransfer_two_locations",
                violation_error_message=gettext_lazy("Choose two different locations."),
            ),
            models.CheckConstraint(
                condition=Q(state="draft", sent_at__isnull=True, closed_at__isnull=True)
                | Q(state="in_transit", sent_at__isnull=False, closed_at__isnull=True)
                | Q(state="closed", sent_at__isnull=False, closed_at__isnull=False)
                | Q(state="canceled", closed_at__isnull=False),
                name="inventory_stocktransfer_state_and_times",
            ),
        )
        indexes = (
            models.Index(fields=("shop", "-id"), name="inventory_transfer_by_shop"),
            models.Index(fields=("origin", "-id"), name="inventory_transfer_by_origin"),
            models.Index(fields=("destination", "-id"), name="inventory_transfer_by_target"),
        )


class StockTransferLine(StockDocumentLine):
    transfer = models.ForeignKey(StockTransfer, on_delete=models.CASCADE, related_name="lines", db_index=False)
    received = models.IntegerField(gettext_lazy("received"), default=0)

    class Meta:
        verbose_name = gettext_lazy("line of a stock transfer")
        verbose_name_plural = gettext_lazy("lines of stock transfers")
        ordering = ("id",)
        constraints = (
            models.UniqueConstraint(
                fields=("transfer", "item"),
                name="inventory_stocktransferline_one_per_item",
                violation_error_message=gettext_lazy("is in the list already"),
            ),
            models.CheckConstraint(
                condition=Q(quantity__gte=1, quantity__lte=MAX_QUANTITY),
                name="inventory_stocktransferline_quantity_in_range",
                violation_error_message=between(1, MAX_QUANTITY),
            ),
            models.CheckConstraint(
                condition=Q(received__gte=0, received__lte=F("quantity")),
                name="inventory_stocktransferline_received_in_range",
                violation_error_message=gettext_lazy("can't be more than was sent"),
            ),
        )
        indexes = (models.Index(fields=("shop", "sku"), name="inventory_transferline_by_sku"),)

    @property
    def missing(self) -> int:
        """Return the quantity that was sent and not received yet."""
        return self.quantity - self.received
