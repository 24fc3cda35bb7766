"""Personal data of customers: each model declares next to its fields which text columns can contain personal data.

``personal_fields`` lists the columns that an erasure must clear (see ``apps.customers.domain.personal_data``), and
``non_personal_fields`` all other text columns, such as data about shops, products, staff and the system. The setting
``NON_PERSONAL_FIELDS`` has the columns of third-party models. A system check reports columns that are not declared.
"""

import json
from collections.abc import Collection, Iterator, Sequence
from functools import reduce
from operator import or_
from typing import Any

from django.apps import AppConfig, apps
from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.db import models
from django.db.models import Model, Q

_TEXT_FIELDS = (
    models.CharField,
    models.TextField,
    models.JSONField,
    models.BinaryField,
    models.FileField,
    models.GenericIPAddressField,
)


def get_personal_fields(model: type[Model]) -> tuple[str, ...]:
    return getattr(model, "personal_fields", ())


def get_blank_values(model: type[Model]) -> dict[str, Any]:
    """Return the values of a new row for the personal columns of a model, to erase the columns of other rows."""
    row = model()
    return {name: getattr(row, name) for name in get_personal_fields(model)}


@register("privacy")
def check_declarations(app_configs: Sequence[AppConfig] | None, **_: object) -> list[CheckMessage]:
    """Check that each text column of each model is declared either personal or non-personal."""
    configs = apps.get_app_configs() if app_configs is None else app_configs
    own_tables = [model for config in configs for model in config.get_models() if not model._meta.proxy]
    return [error for model in own_tables for error in _check_model(model)]


def _check_model(model: type[Model]) -> Iterator[CheckMessage]:
    label = model._meta.label
    fields = model._meta.local_concrete_fields
    personal = set(get_personal_fields(model))
    non_personal = {*getattr(model, "non_personal_fields", ()), *settings.NON_PERSONAL_FIELDS.get(label, ())}
    for field in fields:
        if isinstance(field, _TEXT_FIELDS) and not field.choices and field.name not in personal | non_personal:
            message = f"{label}.{field.name} is neither in personal_fields nor in non_personal_fields"
            yield Error(message, id="privacy.E001")
    for name in sorted(personal & non_personal):
        yield Error(f"{label}.{name} is in personal_fields and in non_personal_fields", id="privacy.E002")
    for name in sorted((personal | non_personal) - {field.name for field in fields}):
        yield Error(f"{label} has no column {name}, but declares it as personal or non-personal", id="privacy.E003")


def build_mention_filter(columns: Collection[str], words: Collection[str]) -> Q:
    """Return a filter for rows in which any of the columns contains any of the words, ignoring case."""
    # Messages are stored as JSON text, which escapes quotation marks and backslashes.
    spellings = [
        *words,
        *(escaped for word in words if (escaped := json.dumps(word, ensure_ascii=False)[1:-1]) != word),
    ]
    conditions = [Q(**{f"{column}__icontains": word}) for column in columns for word in spellings]
    return reduce(or_, conditions, Q(pk__in=()))
