"""What an order's contact details must be, whichever face they come through."""

from django.db import models

from apps.customers.domain.contacts import clean_contacts
from apps.ground.attrs import Attrs, Errors, Given
from apps.ground.tenancy import current_shop
from apps.orders.models import EDITABLE, Order

TEXTS = tuple(name for name in EDITABLE if isinstance(Order._meta.get_field(name), models.CharField | models.TextField))


def clean(attrs: Given) -> tuple[Attrs, Errors]:
    """The values as they are stored, and what is wrong with them.

    Args:
        attrs: Columns of ``Order``; null stands for blank in texts.
    """
    cleaned = {name: ("" if value is None and name in TEXTS else value) for name, value in attrs.items()}
    errors = clean_contacts(cleaned, current_shop().country_code)
    return cleaned, errors
