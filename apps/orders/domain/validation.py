"""Validate the contact details of orders."""

from django.db import models

from apps.customers.domain.contact_normalization import clean_contacts
from apps.ground.tenancy import get_current_shop
from apps.ground.types import Attrs, Errors, ReadOnlyAttrs
from apps.orders.models import EDITABLE, Order

TEXT_COLUMNS = tuple(
    name for name in EDITABLE if isinstance(Order._meta.get_field(name), models.CharField | models.TextField)
)


def clean_order_values(attrs: ReadOnlyAttrs) -> tuple[Attrs, Errors]:
    """Return the normalized order values and the errors.

    Args:
        attrs: Values, keyed by column name of ``Order``. In text columns, None means blank.
    """
    cleaned = {name: ("" if value is None and name in TEXT_COLUMNS else value) for name, value in attrs.items()}
    errors = clean_contacts(cleaned, get_current_shop().country_code)
    return cleaned, errors
