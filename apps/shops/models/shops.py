"""Shops: the owners of everything else."""

import zoneinfo

from django.core.validators import RegexValidator
from django.db import models

from apps.ground.rows import Timestamped, TimestampedQuerySet, VersionField

DOMAIN = RegexValidator(
    r"\A(?!-)[a-z0-9-]{1,63}(\.(?!-)[a-z0-9-]{1,63})*\Z", "Enter a domain such as shop.example, in lower case."
)


class Shop(Timestamped):
    """A store: the owner of every row that a token or a staff member can reach.

    Attributes:
        read_only_at: Since when nothing of it can be written here, see ``read_only``; it does not move with the shop.
        copied_from: Of a staging copy the domain of the shop that it was made of; it writes to nobody, see ``letters``.
    """

    class Plan(models.TextChoices):
        DEVELOPMENT = "development", "Development"
        TRIAL = "trial", "Trial"
        BASIC = "basic", "Basic"
        PREMIUM = "premium", "Premium"

    class CustomerAccounts(models.TextChoices):
        DISABLED = "disabled", "Disabled: everyone checks out as a guest"
        OPTIONAL = "optional", "Optional: customers may sign in"
        REQUIRED = "required", "Required: customers must sign in"

    class WeightUnit(models.TextChoices):
        GRAM = "g", "Grams"
        KILOGRAM = "kg", "Kilograms"
        OUNCE = "oz", "Ounces"
        POUND = "lb", "Pounds"

    handle = models.SlugField(max_length=63, unique=True, help_text="The shop's part of the panel's address.")
    domain = models.CharField(max_length=255, unique=True, validators=[DOMAIN])
    name = models.CharField(max_length=255)
    email = models.EmailField(max_length=255)
    customer_email = models.EmailField(
        max_length=255, blank=True, help_text="Shown to customers instead of the e-mail."
    )
    owner_name = models.CharField("owner", max_length=255, blank=True)
    phone = models.CharField(max_length=50, blank=True)
    address1 = models.CharField("address", max_length=255, blank=True)
    address2 = models.CharField("apartment, suite …", max_length=255, blank=True)
    city = models.CharField(max_length=255, blank=True)
    zip = models.CharField("postal code", max_length=50, blank=True)
    province = models.CharField(max_length=255, blank=True)
    province_code = models.CharField(max_length=10, blank=True)
    country_code = models.CharField("country", max_length=2, default="US", help_text="ISO 3166-1 alpha-2.")
    latitude = models.FloatField(default=0.0)
    longitude = models.FloatField(default=0.0)
    currency = models.CharField(max_length=3, default="USD", help_text="ISO 4217.")
    presentment_currencies = models.JSONField(default=list, blank=True)
    timezone = models.CharField("time zone", max_length=64, default="UTC", help_text="IANA name.")
    primary_locale = models.CharField("language", max_length=10, default="en")
    weight_unit = models.CharField(max_length=2, choices=WeightUnit, default=WeightUnit.KILOGRAM)
    plan = models.CharField(max_length=20, choices=Plan, default=Plan.BASIC)
    customer_accounts = models.CharField(max_length=20, choices=CustomerAccounts, default=CustomerAccounts.OPTIONAL)
    taxes_included = models.BooleanField(default=False)
    two_factor_from = models.DateField(
        "second factor required from",
        null=True,
        blank=True,
        help_text="From this day on, staff enter this shop with a second factor only. Until then they are reminded.",
    )
    primary_location_id = models.BigIntegerField(null=True, blank=True, editable=False)
    listening_version = models.BigIntegerField(db_default=0, default=0, editable=False)
    read_only_at = models.DateTimeField(null=True, blank=True, editable=False)
    copied_from = models.CharField(max_length=255, blank=True, default="", db_default="", editable=False)
    version = VersionField()

    # When ``listening_version`` was read, in seconds of the monotonic clock.
    listening_read_at: float = 0.0

    objects = models.Manager.from_queryset(TimestampedQuerySet)()

    class Meta:
        ordering = ("name", "id")

    def __str__(self) -> str:
        return self.name

    @property
    def tzinfo(self) -> zoneinfo.ZoneInfo:
        """The shop's time zone."""
        return zoneinfo.ZoneInfo(self.timezone)
