"""Read the statuses of orders in files."""

import re
from functools import cache

from django.conf import settings
from django.db import models
from django.utils import translation

from apps.imports_exports.domain.rows import Cells
from apps.orders.models import Order

_CHOICES: dict[str, type[models.TextChoices]] = {
    "financial_status": Order.FinancialStatus,
    "fulfillment_status": Order.FulfillmentStatus,
    "line_fulfillment_status": Order.FulfillmentStatus,
}


def normalize_status(cells: Cells, name: str) -> str:
    """Return the REST name of a status that is written with capital letters and spaces, or as the panel shows it."""
    word = _normalize(cells.get(name, ""))
    return _index_status_labels(name).get(word, word)


def _normalize(word: str) -> str:
    return re.sub(r"[\s-]+", "_", word.strip().lower())


@cache
def _index_status_labels(name: str) -> dict[str, str]:
    """Return the statuses by their labels in the languages of the panel."""
    choices = _CHOICES[name].choices
    labels: dict[str, str] = {}
    for language, _name in settings.LANGUAGES:
        with translation.override(language):
            labels |= {_normalize(str(label)): value for value, label in choices}
    return labels
