"""Where customers live."""

from django.db import models

from apps.customers.models.customers import Customer
from apps.ground.rows import ShopOwned


class Address(ShopOwned):
    """A postal address of a customer. One of them is the default, to which the customer points."""

    customer = models.ForeignKey(
        Customer, on_delete=models.CASCADE, related_name="addresses", db_index=False, editable=False
    )
    first_name = models.CharField(max_length=255, blank=True)
    last_name = models.CharField(max_length=255, blank=True)
    company = models.CharField(max_length=255, blank=True)
    address1 = models.CharField("address", max_length=255, blank=True)
    address2 = models.CharField("apartment, suite …", max_length=255, blank=True)
    city = models.CharField(max_length=255, blank=True)
    province = models.CharField(max_length=255, blank=True)
    province_code = models.CharField(max_length=10, blank=True)
    country = models.CharField(max_length=255, blank=True)
    country_code = models.CharField(max_length=2, blank=True, help_text="ISO 3166-1 alpha-2.")
    zip = models.CharField("postal code", max_length=255, blank=True)
    phone = models.CharField(max_length=255, blank=True)

    class Meta:
        ordering = ("id",)
        verbose_name_plural = "addresses"
        indexes = (
            models.Index(fields=("customer", "-updated_at", "-id"), name="customers_address_recent"),
            models.Index(fields=("shop", "country_code", "customer"), name="customers_address_by_country"),
        )

    def __str__(self) -> str:
        return ", ".join(part for part in (self.address1, f"{self.zip} {self.city}".strip(), self.country) if part)

    @property
    def name(self) -> str:
        """First and last name of the recipient, as far as known."""
        return f"{self.first_name} {self.last_name}".strip()
