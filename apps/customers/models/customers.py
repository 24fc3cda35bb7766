"""The people who buy: their contact details, their accounts, and what they agreed to.

Blank text stands for "none"; the interface shows it as null. No card data is ever stored.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal

from django.contrib.auth import hashers
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy, gettext_noop, pgettext_lazy

from apps.customers.models.consents import ConsentState, OptInLevel
from apps.ground.phrases import TAKEN
from apps.ground.retelling import names, number
from apps.ground.rows import ShopOwned, VersionField, shop_of_many

_NAMED = names(gettext_noop("Customer {number}"), number=number)
NEVER = datetime(1970, 1, 1, tzinfo=UTC)

# What is said of a customer; the other columns follow from this and from what happens.
EDITABLE = (
    "first_name",
    "last_name",
    "email",
    "phone",
    "verified_email",
    "note",
    "tags",
    "tax_exempt",
    "tax_exemptions",
    "multipass_identifier",
)
# Of this the audit trail, whose rows are never changed, tells that it changed and not what it was.
PERSONAL = ("first_name", "last_name", "email", "phone", "note", "tags", "multipass_identifier")

# What searches read, made of the above and of the addresses (``domain.search_text``).
SEARCHED = ("search_text", "search_own", "search_places")


class Customer(ShopOwned):
    """A customer of a shop; the root of the aggregate of addresses and consents.

    ``email_key`` is the e-mail in the one form by which two are equal, ``phone`` is E.164; both are unique per shop.
    ``search_text``, ``search_own`` and ``search_places`` hold what searches find (``domain.search_text``).
    The order summary is written by orders, in the transaction of the order; ``last_order_at`` is 1970 where there was
    none, so that lists sort by it without nulls. What moves with orders has its indexes in the customer's rank; names,
    e-mail and consent, which a change of the person moves, in the profile.

    While a worker erases the personal data, ``erasing_at`` says since when; then nothing else changes the customer.
    """

    class State(models.TextChoices):
        DISABLED = "disabled", pgettext_lazy("customer", "No account")
        INVITED = "invited", pgettext_lazy("customer", "Invited")
        ENABLED = "enabled", pgettext_lazy("customer", "Active account")
        DECLINED = "declined", pgettext_lazy("customer", "Declined")

    shop = shop_of_many()
    first_name = models.CharField(gettext_lazy("first name"), max_length=255, blank=True)
    last_name = models.CharField(gettext_lazy("last name"), max_length=255, blank=True)
    email = models.EmailField(gettext_lazy("e-mail"), max_length=255, blank=True)
    email_key = models.CharField(max_length=320, blank=True, editable=False)
    phone = models.CharField(
        gettext_lazy("phone"),
        max_length=20,
        blank=True,
        help_text=gettext_lazy("With the country's prefix, e.g. +46 8 123 456 78."),
    )
    verified_email = models.BooleanField(gettext_lazy("verified e-mail"), default=False)
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

    orders_count = models.PositiveIntegerField(gettext_lazy("orders count"), default=0, editable=False)
    total_spent = models.DecimalField(max_digits=20, decimal_places=3, default=Decimal(0), editable=False)
    last_order_id = models.BigIntegerField(null=True, blank=True, editable=False)
    last_order_name = models.CharField(max_length=255, blank=True, editable=False)
    last_order_at = models.DateTimeField(default=NEVER, editable=False)
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

    # The tags that are being told of, and when they came or went.
    told_tags: Sequence[str] = ()
    told_at: datetime | None = None
    # Who was merged into the customer a moment ago.
    merged_id: int | None = None

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
        """First and last name, as far as known."""
        return f"{self.first_name} {self.last_name}".strip()

    @property
    def event_label(self) -> str:
        """How the audit trail names the customer: without personal data, since its rows are never changed."""
        return _NAMED.format(number=self.pk)

    def check_password(self, password: str) -> bool:
        """Whether this is the account's password; a customer without an account has none."""
        return bool(self.password) and hashers.check_password(password, self.password)


class Invitation(ShopOwned):
    """A mail that asks a customer to activate the account."""

    customer = models.ForeignKey(Customer, on_delete=models.CASCADE, related_name="invitations", editable=False)
    to_address = models.CharField(max_length=255)
    from_address = models.CharField(max_length=255)
    subject = models.CharField(max_length=255)
    custom_message = models.TextField(max_length=5000, blank=True)
    bcc = models.JSONField(default=list)
    nonce = models.CharField(max_length=43, editable=False)
    sent_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        verbose_name = gettext_lazy("invitation")
        verbose_name_plural = gettext_lazy("invitations")
        ordering = ("-id",)

    def __str__(self) -> str:
        return f"{self.to_address}: {self.subject}"
