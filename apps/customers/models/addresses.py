from django.db import models
from django.utils.translation import gettext_lazy
from django_stubs_ext import StrOrPromise

from apps.core.tenancy.shop_owned import ShopOwned
from apps.customers.models.customers import Customer
from apps.shops.domain.countries import localize_country


def _text(label: StrOrPromise) -> "models.CharField[str | None, str | None]":
    """Return a model field for an address line. Null means no value was sent; blank means a blank value was sent."""
    return models.CharField(label, max_length=255, blank=True, null=True)


class Address(ShopOwned):
    """A postal address of a customer. ``Customer.default_address`` refers to the default address."""

    customer = models.ForeignKey(
        Customer, on_delete=models.CASCADE, related_name="addresses", db_index=False, editable=False
    )
    first_name = _text(gettext_lazy("first name"))
    last_name = _text(gettext_lazy("last name"))
    company = _text(gettext_lazy("company"))
    address1 = _text(gettext_lazy("address"))
    address2 = _text(gettext_lazy("apartment, suite, etc."))
    city = _text(gettext_lazy("city"))
    province = models.CharField(gettext_lazy("state or province"), max_length=255, blank=True)
    province_code = models.CharField(max_length=10, blank=True)
    country = models.CharField(max_length=255, blank=True)
    country_code = models.CharField(max_length=2, blank=True, help_text="ISO 3166-1 alpha-2.")
    zip = _text(gettext_lazy("postal code"))
    phone = _text(gettext_lazy("phone"))

    history_owners = ("customer",)
    personal_fields = (
        "first_name",
        "last_name",
        "company",
        "address1",
        "address2",
        "city",
        "province",
        "province_code",
        "country",
        "country_code",
        "zip",
        "phone",
    )

    class Meta:
        verbose_name = gettext_lazy("address")
        verbose_name_plural = gettext_lazy("addresses")
        ordering = ("id",)
        indexes = (
            models.Index(fields=("customer", "-updated_at", "-id"), name="customers_address_recent"),
            models.Index(fields=("shop", "country_code", "customer"), name="customers_address_by_country"),
        )

    def __str__(self) -> str:
        country = localize_country(self.country_code, self.country)
        return ", ".join(
            part for part in (self.address1, f"{self.zip or ''} {self.city or ''}".strip(), country) if part
        )

    @property
    def name(self) -> str:
        return f"{self.first_name or ''} {self.last_name or ''}".strip()
