from datetime import datetime
from functools import cache
from typing import Unpack

from rest_framework import serializers
from rest_framework.fields import empty

from apps.core.rest.render_context import RenderContext
from apps.core.rest.resources.fields import (
    ApiField,
    BooleanField,
    ChoiceField,
    DateTimeField,
    FieldOptions,
    InvalidValue,
    Render,
    TextField,
    TextOptions,
)
from apps.core.rest.resources.serializers import flatten_errors
from apps.core.rest.versions import VersionRange
from apps.core.types import Errors, Rendered
from apps.customers.domain.consents import CHANNEL_DEFINITIONS, Channel
from apps.customers.models import ConsentState, OptInLevel
from apps.metafields.api.metafields import METAFIELDS_SCHEMA

MAX_TEXTS = 100


class BlankAsNullTextField(TextField):
    """A string that is blank in the database and null in the API."""

    inline = "{0} or None"

    def __init__(self, **options: Unpack[TextOptions]) -> None:
        options = {"required": False, "allow_null": True, "allow_blank": True, **options}
        super().__init__(**options)


class TextListField(ApiField):
    schema = {"type": "array", "items": {"type": "string", "maxLength": 255}}

    def __init__(self, **options: Unpack[FieldOptions]) -> None:
        options = {"required": False, "allow_null": True, **options}
        super().__init__(**options)

    def run_validation(self, data: object = empty) -> object:
        return super().run_validation([] if data is None else data)

    def to_internal_value(self, data: object) -> list[str]:
        if not isinstance(data, list) or len(data) > MAX_TEXTS:
            self.fail("invalid")
        if not all(isinstance(item, str) and 0 < len(item) <= 255 for item in data):
            self.fail("invalid")
        return list(dict.fromkeys(data))


class MetafieldsField(ApiField):
    """Metafields to set, which ``apps.metafields`` validates. Responses never include metafields."""

    schema = METAFIELDS_SCHEMA

    def __init__(self, **options: Unpack[FieldOptions]) -> None:
        options = {"required": False, "allow_null": True, "write_only": True, **options}
        super().__init__(**options)

    def to_internal_value(self, data: object) -> object:
        return data


class ConsentField(ApiField):
    """A marketing consent, rendered as an object from columns of the customer."""

    schema = {
        "type": "object",
        "properties": {
            "state": {"type": "string", "enum": list(ConsentState.values)},
            "opt_in_level": {"type": ["string", "null"], "enum": [*OptInLevel.values, None]},
            "consent_updated_at": {"type": ["string", "null"], "format": "date-time"},
            "consent_collected_from": {"type": "string"},
        },
    }

    def __init__(self, channel: str) -> None:
        super().__init__(required=False, allow_null=True)
        self.channel = Channel(channel)

    def get_columns(self) -> tuple[str, ...]:
        return tuple(CHANNEL_DEFINITIONS[self.channel].columns.values())

    def get_renderer(self) -> Render:
        return _show_email if self.channel is Channel.EMAIL else _show_sms

    def to_internal_value(self, data: object) -> Rendered:
        """Return the consent values in the body, keyed by the field name in ``consents.Consent``."""
        if not isinstance(data, dict):
            self.fail("invalid")
        parts: Rendered = {}
        errors: Errors = {}
        for name, (part, field) in _consent_parts(self.channel).items():
            if name not in data:
                continue
            try:
                value = field.run_validation(data[name])
            except serializers.ValidationError as error:
                errors |= flatten_errors(error.detail, name)
                continue
            if value is not None or part == "opt_in_level":
                parts[part] = value or ("" if self.channel is Channel.EMAIL else OptInLevel.SINGLE)
        if errors:
            raise InvalidValue(errors)
        return parts


# Legacy fields for the email consent. All API versions accept these fields, but only the oldest version renders them.
_SHOWN = VersionRange(until="2025-01")


class AcceptsMarketingField(BooleanField):
    """The ``accepts_marketing`` flag: True if the customer is subscribed to email marketing."""

    inline = f"{{0}} == {ConsentState.SUBSCRIBED.value!r}"
    rendered_versions = _SHOWN

    def get_columns(self) -> tuple[str, ...]:
        return (CHANNEL_DEFINITIONS[Channel.EMAIL].columns["state"],)


class AcceptsMarketingUpdatedAtField(DateTimeField):
    rendered_versions = _SHOWN

    def get_columns(self) -> tuple[str, ...]:
        return (CHANNEL_DEFINITIONS[Channel.EMAIL].columns["updated_at"],)


class MarketingOptInLevelField(ChoiceField):
    inline = "{0} or None"
    rendered_versions = _SHOWN

    def get_columns(self) -> tuple[str, ...]:
        return (CHANNEL_DEFINITIONS[Channel.EMAIL].columns["opt_in_level"],)


@cache
def _consent_parts(channel: Channel) -> dict[str, tuple[str, ApiField]]:
    """Return the ``Consent`` field name and the validating serializer field for each name in the body."""
    parts: dict[str, tuple[str, ApiField]] = {
        "state": ("state", ChoiceField(choices=ConsentState.choices)),
        "opt_in_level": ("opt_in_level", ChoiceField(choices=OptInLevel.choices, allow_null=True)),
        "consent_updated_at": ("updated_at", DateTimeField(allow_null=True)),
    }
    if channel is Channel.SMS:
        parts["consent_collected_from"] = ("collected_from", TextField(max_length=50, allow_null=True))
    return parts


def _moment(context: RenderContext, value: datetime | None) -> str | None:
    return None if value is None else value.astimezone(context.tz).isoformat(timespec="seconds")


def _show_email(context: RenderContext, state: str, level: str, updated_at: datetime | None) -> Rendered:
    return {"state": state, "opt_in_level": level or None, "consent_updated_at": _moment(context, updated_at)}


def _show_sms(
    context: RenderContext, state: str, level: str, updated_at: datetime | None, collected_from: str
) -> Rendered:
    return {
        "state": state,
        "opt_in_level": level,
        "consent_updated_at": _moment(context, updated_at),
        "consent_collected_from": collected_from,
    }
