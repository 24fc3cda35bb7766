"""Form fields for times in the shop's time zone.

A field shows a time without its seconds or its offset, so the shown text can stand for several times: when the clocks
are turned back, an hour occurs twice. A time that staff did not change is therefore kept as it was. A changed time that
occurs twice is the one that is closer to now.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from django import forms
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.forms.boundfield import BoundField
from django.utils import timezone
from django.utils.functional import lazy
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django_stubs_ext import StrOrPromise

from apps.core.timestamps import EARLIEST, LATEST

if TYPE_CHECKING:
    _Field = forms.Field
else:
    _Field = object


class _ShopTime(_Field):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # Otherwise, Django cuts the microseconds of the initial value, also if staff do not change the time.
        self.widget.supports_microseconds = True

    def get_bound_field(self, form: forms.BaseForm, field_name: str) -> BoundField:
        bound_field = super().get_bound_field(form, field_name)
        if not form.is_bound and isinstance(bound_field.initial, datetime):
            bound_field.help_text = f"{bound_field.help_text} {describe_offset(bound_field.initial)}".strip()
        return bound_field

    def _clean_bound_field(self, bound_field: BoundField) -> Any:
        initial = bound_field.initial
        if self.disabled or (isinstance(initial, datetime) and not self.has_changed(initial, bound_field.data)):
            return initial
        return self.clean(bound_field.data)

    def has_changed(self, initial: Any, data: Any) -> bool:
        return not self.disabled and bool(self._get_shown_text(initial) != self._get_shown_text(data))

    def _get_shown_text(self, value: Any) -> Any:
        raise NotImplementedError


class ShopDateTimeField(_ShopTime, forms.DateTimeField):
    """A time in one ``datetime-local`` input. The help text names the time zone."""

    def __init__(self, label: StrOrPromise, *, help_text: StrOrPromise = "", **options: Any) -> None:
        super().__init__(
            label=label,
            help_text=format_lazy("{} {}", help_text, _describe_zone()) if help_text else _describe_zone(),
            widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
            input_formats=["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M"],
            validators=[MinValueValidator(EARLIEST), MaxValueValidator(LATEST)],
            **options,
        )

    def _get_shown_text(self, value: Any) -> str:
        return str(self.widget.format_value(self.prepare_value(value)) or "").strip().replace(" ", "T")[:16]

    def to_python(self, value: Any) -> datetime | None:
        return _parse(super().to_python, value)


class ShopSplitDateTimeField(_ShopTime, forms.SplitDateTimeField):
    """A time in one input for the date and one for the time of day."""

    def _get_shown_text(self, value: Any) -> list[str]:
        parts = value if isinstance(value, list) else self.widget.decompress(value)
        inputs = zip(self.widget.widgets, parts, strict=True)
        return [str(part_input.format_value(part) or "").strip() for part_input, part in inputs]

    def compress(self, data_list: Any) -> datetime | None:
        return _parse(super().compress, data_list)


def _get_zone_sentence() -> str:
    zone = timezone.get_current_timezone_name().replace("_", " ")
    return _("The time is in the shop's time zone ({zone}).").format(zone=zone)


_describe_zone = lazy(_get_zone_sentence, str)


def _parse(parse: Callable[[Any], datetime | None], value: object) -> datetime | None:
    """Parse a time with Django's function, which refuses times that occur twice or never."""
    try:
        return parse(value)
    except ValidationError as error:
        if error.code != "ambiguous_timezone":
            raise
    with timezone.override(UTC):
        typed = parse(value)
    assert typed is not None
    local = typed.replace(tzinfo=timezone.get_current_timezone())
    if not _occurs(local):
        raise ValidationError(
            _("The clocks are turned forward, so this time does not occur. Enter another time."), code="invalid"
        )
    return min(local, local.replace(fold=1), key=lambda occurrence: abs(occurrence.astimezone(UTC) - timezone.now()))


def _occurs(local: datetime) -> bool:
    return local.astimezone(UTC).astimezone(local.tzinfo).replace(fold=0) == local.replace(fold=0)


def describe_offset(moment: datetime) -> str:
    """Return a sentence with the offset of a time that occurs twice, and an empty text for all other times."""
    local = timezone.localtime(moment)
    if local.replace(fold=0).utcoffset() == local.replace(fold=1).utcoffset():
        return ""
    offset = f"{local:%z}"
    return _("The clocks are turned back, so this time occurs twice. This is {time} (UTC{offset}).").format(
        time=f"{local:%H:%M}", offset=f"{offset[:3]}:{offset[3:]}"
    )
