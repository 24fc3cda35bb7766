"""The fields that only customers have: consents, lists of texts, texts that are null where blank."""

from datetime import datetime
from functools import cache
from typing import Unpack

from rest_framework import serializers
from rest_framework.fields import empty

from apps.api.context import Context
from apps.api.resources.fields import ApiField, BooleanField, ChoiceField, DateTimeField, Render, TextField
from apps.api.resources.fields.options import FieldOptions, TextOptions
from apps.api.resources.serializers import flatten
from apps.api.shapes import Errors, Shown
from apps.api.versions import Gate
from apps.customers.domain.consents import KINDS, Channel
from apps.customers.models import ConsentState, OptInLevel
from apps.metafields.api.bodies import METAFIELDS

MAX_TEXTS = 100


class BlankableText(TextField):
    """A text that may be absent: blank in the database, null in the interface."""

    inline = "{0} or None"

    def __init__(self, **options: Unpack[TextOptions]) -> None:
        """Absent, null and blank are all taken."""
        options = {"required": False, "allow_null": True, "allow_blank": True, **options}
        super().__init__(**options)


class TextsField(ApiField):
    """A list of short texts."""

    schema = {"type": "array", "items": {"type": "string", "maxLength": 255}}

    def __init__(self, **options: Unpack[FieldOptions]) -> None:
        """It may be absent."""
        options = {"required": False, "allow_null": True, **options}
        super().__init__(**options)

    def run_validation(self, data: object = empty) -> object:
        """Null means none."""
        return super().run_validation([] if data is None else data)

    def to_internal_value(self, data: object) -> list[str]:
        """The texts, once each."""
        if not isinstance(data, list) or len(data) > MAX_TEXTS:
            self.fail("invalid")
        if not all(isinstance(item, str) and 0 < len(item) <= 255 for item in data):
            self.fail("invalid")
        return list(dict.fromkeys(data))


class MetafieldsField(ApiField):
    """Metafields to set; ``apps.metafields`` checks each, and they are not shown."""

    schema = METAFIELDS

    def __init__(self, **options: Unpack[FieldOptions]) -> None:
        """They may be absent."""
        options = {"required": False, "allow_null": True, "write_only": True, **options}
        super().__init__(**options)

    def to_internal_value(self, data: object) -> object:
        """As they came."""
        return data


class ConsentField(ApiField):
    """A marketing consent: an object out of columns of the customer."""

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
        """Say for which channel."""
        super().__init__(required=False, allow_null=True)
        self.channel = Channel(channel)

    def columns(self) -> tuple[str, ...]:
        """The columns of the consent."""
        return tuple(KINDS[self.channel].columns.values())

    def reader(self) -> Render:
        """The object."""
        return _show_email if self.channel is Channel.EMAIL else _show_sms

    def to_internal_value(self, data: object) -> Shown:
        """The parts that are given, as ``consents.Consent`` names them."""
        if not isinstance(data, dict):
            self.fail("invalid")
        found: Shown = {}
        errors: Errors = {}
        for name, (part, field) in _consent_parts(self.channel).items():
            if name not in data:
                continue
            try:
                value = field.run_validation(data[name])
            except serializers.ValidationError as error:
                errors |= flatten(error.detail, name)
                continue
            if value is not None or part == "opt_in_level":
                found[part] = value or ("" if self.channel is Channel.EMAIL else OptInLevel.SINGLE)
        if errors:
            raise serializers.ValidationError(errors)
        return found


# The consent to mails as older clients know it: every version takes it, the oldest shows it.
_SHOWN = Gate(until="2025-01")


class AcceptsField(BooleanField):
    """Whether the customer wants mails."""

    inline = f"{{0}} == {ConsentState.SUBSCRIBED.value!r}"
    shown = _SHOWN

    def columns(self) -> tuple[str, ...]:
        """The state of the consent."""
        return (KINDS[Channel.EMAIL].columns["state"],)


class AcceptsMomentField(DateTimeField):
    """Since when."""

    shown = _SHOWN

    def columns(self) -> tuple[str, ...]:
        """The moment of the consent."""
        return (KINDS[Channel.EMAIL].columns["updated_at"],)


class AcceptsLevelField(ChoiceField):
    """How the customer said so."""

    inline = "{0} or None"
    shown = _SHOWN

    def columns(self) -> tuple[str, ...]:
        """The level of the consent."""
        return (KINDS[Channel.EMAIL].columns["opt_in_level"],)


@cache
def _consent_parts(channel: Channel) -> dict[str, tuple[str, ApiField]]:
    """By name in the body: the part, and the field that checks it."""
    parts: dict[str, tuple[str, ApiField]] = {
        "state": ("state", ChoiceField(choices=ConsentState.choices)),
        "opt_in_level": ("opt_in_level", ChoiceField(choices=OptInLevel.choices, allow_null=True)),
        "consent_updated_at": ("updated_at", DateTimeField(allow_null=True)),
    }
    if channel is Channel.SMS:
        parts["consent_collected_from"] = ("collected_from", TextField(max_length=50, allow_null=True))
    return parts


def _moment(context: Context, value: datetime | None) -> str | None:
    return None if value is None else value.astimezone(context.tz).isoformat(timespec="seconds")


def _show_email(context: Context, state: str, level: str, updated_at: datetime | None) -> Shown:
    return {"state": state, "opt_in_level": level or None, "consent_updated_at": _moment(context, updated_at)}


def _show_sms(context: Context, state: str, level: str, updated_at: datetime | None, collected_from: str) -> Shown:
    return {
        "state": state,
        "opt_in_level": level,
        "consent_updated_at": _moment(context, updated_at),
        "consent_collected_from": collected_from,
    }
