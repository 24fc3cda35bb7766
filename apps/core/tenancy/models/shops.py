import math
import zoneinfo

from django.core.validators import MaxValueValidator, RegexValidator
from django.db import models
from django.utils.translation import gettext_lazy

from apps.core.models import Timestamped, TimestampedQuerySet, VersionField

DOMAIN = RegexValidator(
    r"\A(?!-)[a-z0-9-]{1,63}(\.(?!-)[a-z0-9-]{1,63})*\Z",
    gettext_lazy("Enter a domain such as shop.example, in lower case."),
)

# The limit for ``low_stock_at``: the largest value that fits into the database column (32,767), rounded down.
MAX_LOW_STOCK = 30_000
MAX_INSTRUCTIONS = 2000


class Shop(Timestamped):
    """An online shop with its own data, staff and apps.

    A shop with ``read_only_at`` is read-only (see ``apps.core.tenancy.read_only``). A staging copy has the original
    shop's domain in ``copied_from`` and sends no email (see ``apps.core.jobs.emails``).
    """

    class Plan(models.TextChoices):
        DEVELOPMENT = "development", gettext_lazy("Development")
        TRIAL = "trial", gettext_lazy("Trial")
        BASIC = "basic", gettext_lazy("Basic")
        PREMIUM = "premium", gettext_lazy("Premium")

    class CustomerAccounts(models.TextChoices):
        DISABLED = "disabled", gettext_lazy("Disabled: everyone checks out as a guest")
        OPTIONAL = "optional", gettext_lazy("Optional: customers can log in")
        REQUIRED = "required", gettext_lazy("Required: customers must log in")

    class WeightUnit(models.TextChoices):
        GRAM = "g", gettext_lazy("Grams")
        KILOGRAM = "kg", gettext_lazy("Kilograms")
        OUNCE = "oz", gettext_lazy("Ounces")
        POUND = "lb", gettext_lazy("Pounds")

    handle = models.SlugField(
        gettext_lazy("handle"),
        max_length=63,
        unique=True,
        help_text=gettext_lazy("The part of the panel URL that identifies the shop."),
    )
    domain = models.CharField(gettext_lazy("domain"), max_length=255, unique=True, validators=[DOMAIN])
    name = models.CharField(gettext_lazy("name"), max_length=255)
    email = models.EmailField(gettext_lazy("email"), max_length=255)
    customer_email = models.EmailField(
        gettext_lazy("customer email"),
        max_length=255,
        blank=True,
        help_text=gettext_lazy("Customers see this email address instead of the shop's email address."),
    )
    owner_name = models.CharField(gettext_lazy("owner"), max_length=255, blank=True)
    phone = models.CharField(gettext_lazy("phone"), max_length=50, blank=True)
    address1 = models.CharField(gettext_lazy("address"), max_length=255, blank=True)
    address2 = models.CharField(gettext_lazy("apartment, suite, etc."), max_length=255, blank=True)
    city = models.CharField(gettext_lazy("city"), max_length=255, blank=True)
    zip = models.CharField(gettext_lazy("postal code"), max_length=50, blank=True)
    province = models.CharField(gettext_lazy("state or province"), max_length=255, blank=True)
    province_code = models.CharField(gettext_lazy("state or province code"), max_length=10, blank=True)
    country_code = models.CharField(gettext_lazy("country"), max_length=2, default="US")
    latitude = models.FloatField(default=0.0)
    longitude = models.FloatField(default=0.0)
    currency = models.CharField(gettext_lazy("currency"), max_length=3, default="USD")
    presentment_currencies = models.JSONField(gettext_lazy("presentment currencies"), default=list, blank=True)
    timezone = models.CharField(gettext_lazy("time zone"), max_length=64, default="UTC")
    primary_locale = models.CharField(gettext_lazy("language"), max_length=10, default="en")
    weight_unit = models.CharField(
        gettext_lazy("weight unit"), max_length=2, choices=WeightUnit, default=WeightUnit.KILOGRAM
    )
    plan = models.CharField(gettext_lazy("plan"), max_length=20, choices=Plan, default=Plan.BASIC)
    customer_accounts = models.CharField(
        gettext_lazy("customer accounts"), max_length=20, choices=CustomerAccounts, default=CustomerAccounts.OPTIONAL
    )
    taxes_included = models.BooleanField(gettext_lazy("prices include tax"), default=False)
    shipping_taxed = models.BooleanField(gettext_lazy("tax is charged on shipping"), default=False, db_default=False)
    payment_instructions = models.TextField(
        gettext_lazy("payment instructions"),
        max_length=MAX_INSTRUCTIONS,
        blank=True,
        default="",
        db_default="",
        help_text=gettext_lazy(
            "How customers pay invoices of draft orders, for example your bank account. The invoice page and the email "
            "show this text. Leave blank to ask customers to reply to the email or to contact the shop."
        ),
    )
    low_stock_at = models.PositiveSmallIntegerField(
        gettext_lazy("low-stock threshold"),
        validators=[MaxValueValidator(MAX_LOW_STOCK)],
        null=True,
        blank=True,
        help_text=gettext_lazy(
            "Items with this quantity or less at a location are listed as low stock. Leave blank to list no items."
        ),
    )
    two_factor_from = models.DateField(
        gettext_lazy("require two-factor authentication from"),
        null=True,
        blank=True,
        help_text=gettext_lazy(
            "From this date, staff must use two-factor authentication to access this shop. Until then, they see a "
            "reminder."
        ),
    )
    invoices_from = models.DateTimeField(
        null=True,
        blank=True,
        editable=False,
        help_text="Invoices for orders since this time are issued as soon as the order is paid.",
    )
    primary_location_id = models.BigIntegerField(null=True, blank=True, editable=False)
    listening_version = models.BigIntegerField(db_default=0, default=0, editable=False)
    read_only_at = models.DateTimeField(null=True, blank=True, editable=False)
    copied_from = models.CharField(max_length=255, blank=True, default="", db_default="", editable=False)
    version = VersionField()

    non_personal_fields = (
        "handle",
        "domain",
        "name",
        "email",
        "customer_email",
        "owner_name",
        "phone",
        "address1",
        "address2",
        "city",
        "zip",
        "province",
        "province_code",
        "country_code",
        "currency",
        "presentment_currencies",
        "timezone",
        "primary_locale",
        "payment_instructions",
        "copied_from",
    )

    # The monotonic time, in seconds, when ``listening_version`` was read.
    listening_read_at: float = -math.inf

    objects = models.Manager.from_queryset(TimestampedQuerySet)()

    class Meta:
        app_label = "shops"
        verbose_name = gettext_lazy("shop")
        verbose_name_plural = gettext_lazy("shops")
        ordering = ("name", "id")

    def __str__(self) -> str:
        return self.name

    @property
    def tzinfo(self) -> zoneinfo.ZoneInfo:
        return zoneinfo.ZoneInfo(self.timezone)
