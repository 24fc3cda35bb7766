from decimal import Decimal

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy

from apps.core.i18n.error_messages import TAKEN, between
from apps.core.tenancy.shop_owned import ShopOwned

# A rate of 16 decimals, because apps calculate rates as floats.
RATE_DECIMALS = 16


def _rate() -> "models.DecimalField[Decimal, Decimal]":
    return models.DecimalField(
        gettext_lazy("tax rate"), max_digits=RATE_DECIMALS + 1, decimal_places=RATE_DECIMALS, default=0
    )


def _check_rate(name: str) -> models.CheckConstraint:
    return models.CheckConstraint(
        condition=Q(tax__gte=0, tax__lte=1),
        name=name,
        violation_error_message=between(0, 1),
        violation_error_code="tax",
    )


class ShopCountry(ShopOwned):
    """A country that a shop sells to, with the tax rate of the country."""

    code = models.CharField(gettext_lazy("country"), max_length=2, editable=False)
    tax_name = models.CharField(gettext_lazy("tax name"), max_length=255)
    tax = _rate()

    non_personal_fields = ("code", "tax_name")

    class Meta:
        verbose_name = gettext_lazy("country")
        verbose_name_plural = gettext_lazy("countries")
        ordering = ("id",)
        constraints = (
            models.UniqueConstraint(
                fields=("shop", "code"),
                name="shops_shopcountry_once_per_shop",
                violation_error_message=TAKEN,
                violation_error_code="code",
            ),
            _check_rate("shops_shopcountry_tax_is_a_rate"),
        )
        indexes = (models.Index(fields=("shop", "id"), name="shops_shopcountry_by_shop"),)

    def __str__(self) -> str:
        return self.code


class ShopProvince(ShopOwned):
    """A province of a shop's country, with the tax rate of the province."""

    class TaxType(models.TextChoices):
        NORMAL = "normal", gettext_lazy("Added to the country's tax")
        HARMONIZED = "harmonized", gettext_lazy("Instead of the country's tax")
        COMPOUNDED = "compounded", gettext_lazy("On top of the price with the country's tax")

    country = models.ForeignKey(
        ShopCountry, on_delete=models.CASCADE, related_name="provinces", db_index=False, editable=False
    )
    code = models.CharField(gettext_lazy("state or province code"), max_length=10, editable=False)
    name = models.CharField(gettext_lazy("state or province"), max_length=255, editable=False)
    tax_name = models.CharField(gettext_lazy("tax name"), max_length=255, null=True, blank=True)
    tax_type = models.CharField(gettext_lazy("tax type"), max_length=10, choices=TaxType, null=True, blank=True)
    tax = _rate()

    history_owners = ("country",)
    non_personal_fields = ("code", "name", "tax_name")

    class Meta:
        verbose_name = gettext_lazy("province")
        verbose_name_plural = gettext_lazy("provinces")
        ordering = ("id",)
        constraints = (
            models.UniqueConstraint(
                fields=("country", "code"),
                name="shops_shopprovince_once_per_country",
                violation_error_message=TAKEN,
                violation_error_code="code",
            ),
            _check_rate("shops_shopprovince_tax_is_a_rate"),
        )

    def __str__(self) -> str:
        return self.name
