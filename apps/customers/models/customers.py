"""Customers and their account invitations.

Blank text means "no value" and is rendered as null in the API. Card data is never stored.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal

from django.contrib.auth import hashers
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.core.i18n.error_messages import TAKEN
from apps.core.i18n.messages import Message, define_message
from apps.core.models import VersionField
from apps.core.tenancy.shop_owned import ShopOwned
from apps.customers.models.consents import ConsentState, OptInLevel

_EVENT_LABEL = define_message("customers.customer", "Customer {number}")
NEVER_ORDERED = datetime(1970, 1, 1, tzinfo=UTC)

# Search columns, built from the customer and the addresses (see ``domain.search_columns``).
SEARCH_COLUMNS = ("search_text", "search_own", "search_places")


class Customer(ShopOwned):
    """A customer of a shop, and the aggregate root of addresses and consents.

    ``email_key`` is the normalized email, and ``phone`` is in E.164 format. Both are unique per shop. ``search_text``,
    ``search_own`` and ``search_places`` contain the searchable text (see ``domain.search_columns``).

    The order summary is updated in the transaction that creates or changes an order. ``last_order_at`` is in 1970 for
    customers without orders, so that lists can be sorted without nulls. Columns that change with orders are indexed in
    ``CustomerRank``. Names, email and consent are indexed in ``CustomerProfile``.

    Clients and staff can set the columns in ``domain.fields``. The domain functions set all other columns.

    While a worker erases the personal data, ``erasing_at`` is set and nothing else can change the customer.
    """

    class State(models.TextChoices):
        DISABLED = "disabled", pgettext_lazy("customer", "No account")
        INVITED = "invited", pgettext_lazy("customer", "Invited")
        ENABLED = "enabled", pgettext_lazy("customer", "Active account")
        DECLINED = "declined", pgettext_lazy("customer", "Declined")

    first_name = models.CharField(gettext_lazy("first name"), max_length=255, blank=True)
    last_name = models.CharField(gettext_lazy("last name"), max_length=255, blank=True)
    email = models.EmailField(gettext_lazy("email"), max_length=255, blank=True)
    email_key = models.CharField(max_length=320, blank=True, editable=False)
    phone = models.CharField(
        gettext_lazy("phone"),
        max_length=20,
        blank=True,
        help_text=gettext_lazy("Include the country code, e.g. +46 8 123 456 78."),
    )
    verified_email = models.BooleanField(gettext_lazy("verified email"), default=False)
    state = models.CharField(
        gettext_lazy("state"), max_length=10, choices=State, default=State.DISABLED, editable=False
    )
    note = models.TextField(gettext_lazy("note"), max_length=5000, blank=True)
    tags = models.TextField(gettext_lazy("tags"), blank=True)
    tax_exempt = models.BooleanField(gettext_lazy("tax exempt"), default=False)
    tax_exemptions = models.JSONField(default=list, blank=True)
    multipass_identifier = models.CharField(max_length=255, blank=True)
    search_text = models.TextField(blank=True, editable=False)
    search_own = models.TextField(blank=True, default="", editable=False)
    search_places = models.TextField(blank=True, default="", editable=False)

    default_address = models.ForeignKey(
        "customers.Address", on_delete=models.SET_NULL, null=True, blank=True, related_name="+", editable=False
    )

    orders_count = models.PositiveIntegerField(gettext_lazy("orders"), default=0, editable=False)
    total_spent = models.DecimalField(max_digits=20, decimal_places=3, default=Decimal(0), editable=False)
    last_order_id = models.BigIntegerField(null=True, blank=True, editable=False)
    last_order_name = models.CharField(max_length=255, blank=True, editable=False)
    last_order_at = models.DateTimeField(default=NEVER_ORDERED, editable=False)
    last_order_currency = models.CharField(max_length=3, blank=True, editable=False)

    email_marketing_state = models.CharField(
        gettext_lazy("email marketing state"),
        max_length=20,
        choices=ConsentState,
        default=ConsentState.NOT_SUBSCRIBED,
        editable=False,
    )
    email_marketing_opt_in_level = models.CharField(
        max_length=20, choices=OptInLevel, default=OptInLevel.SINGLE, blank=True, editable=False
    )
    email_marketing_updated_at = models.DateTimeField(null=True, blank=True, editable=False)
    sms_marketing_state = models.CharField(
        max_length=20, choices=ConsentState, default=ConsentState.NOT_SUBSCRIBED, editable=False
    )
    sms_marketing_opt_in_level = models.CharField(
        max_length=20, choices=OptInLevel, default=OptInLevel.SINGLE, editable=False
    )
    sms_marketing_updated_at = models.DateTimeField(null=True, blank=True, editable=False)
    sms_marketing_collected_from = models.CharField(max_length=50, default="OTHER", editable=False)

    password = models.CharField(max_length=128, blank=True, editable=False)
    activation_nonce = models.CharField(max_length=43, blank=True, editable=False)
    activation_expires_at = models.DateTimeField(null=True, editable=False)
    redacted_at = models.DateTimeField(null=True, blank=True, editable=False)
    erasing_at = models.DateTimeField(null=True, blank=True, editable=False)
    version = VersionField()

    unrecorded_fields = SEARCH_COLUMNS
    personal_fields = (
        "first_name",
        "last_name",
        "email",
        "email_key",
        "phone",
        "note",
        "tags",
        "multipass_identifier",
        "search_text",
        "search_own",
        "search_places",
        "password",
        "activation_nonce",
    )
    non_personal_fields = ("tax_exemptions", "last_order_name", "last_order_currency", "sms_marketing_collected_from")

    # The data of the tag event that is being recorded: the tags and the time of the change.
    event_tags: Sequence[str] = ()
    tags_changed_at: datetime | None = None
    # The id of the customer that was just merged into this one.
    merged_customer_id: int | None = None

    class Meta:
        verbose_name = gettext_lazy("customer")
        verbose_name_plural = gettext_lazy("customers")
        ordering = ("-id",)
        constraints = (
            models.UniqueConstraint(
                fields=("shop", "email_key"),
                condition=~Q(email_key=""),
                name="customers_customer_email_is_unique",
                violation_error_code="email",
                violation_error_message=TAKEN,
            ),
            models.UniqueConstraint(
                fields=("shop", "phone"),
                condition=~Q(phone=""),
                name="customers_customer_phone_is_unique",
                violation_error_message=TAKEN,
            ),
            models.CheckConstraint(
                condition=Q(email="", email_key="") | (~Q(email="") & ~Q(email_key="")),
                name="customers_customer_email_has_its_key",
            ),
        )
        indexes = (
            models.Index(fields=("shop", "id"), name="customers_customer_by_shop"),
            models.Index(fields=("shop", "created_at", "id"), name="customers_customer_by_creation"),
            models.Index(fields=("shop", "state", "id"), name="customers_customer_by_state"),
            models.Index(fields=("shop", "id"), condition=Q(tax_exempt=True), name="customers_customer_tax_exempt"),
        )

    def __str__(self) -> str:
        return self.name or self.email or self.event_label

    @property
    def name(self) -> str:
        return f"{self.first_name} {self.last_name}".strip()

    @property
    def event_label(self) -> Message:
        """Return the label for the audit log, which is immutable and therefore must not contain personal data."""
        return _EVENT_LABEL(number=self.pk)

    def check_password(self, password: str) -> bool:
        """Return True if the password is correct. Customers without an account have none."""
        return bool(self.password) and hashers.check_password(password, self.password)


class Invitation(ShopOwned):
    customer = models.ForeignKey(Customer, on_delete=models.CASCADE, related_name="invitations", editable=False)
    to_address = models.CharField(max_length=255)
    from_address = models.CharField(max_length=255)
    subject = models.CharField(max_length=255)
    custom_message = models.TextField(max_length=5000, blank=True)
    bcc = models.JSONField(default=list)
    nonce = models.CharField(max_length=43, editable=False)
    sent_at = models.DateTimeField(null=True, editable=False)

    personal_fields = ("to_address", "from_address", "subject", "custom_message", "bcc", "nonce")

    class Meta:
        verbose_name = gettext_lazy("invitation")
        verbose_name_plural = gettext_lazy("invitations")
        ordering = ("-id",)

    def __str__(self) -> str:
        return f"{self.to_address}: {self.subject}"
