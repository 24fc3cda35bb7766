"""Types for the keyword arguments of fields: DRF's options and the version range."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypedDict


class VersionOptions(TypedDict, total=False):
    """The first version with a field, and the first version without it."""

    since: str | None
    until: str | None


class FieldOptions(VersionOptions, total=False):
    """Options for all fields."""

    source: str
    required: bool | None
    read_only: bool
    write_only: bool
    allow_null: bool
    default: object
    error_messages: dict[str, str]
    validators: Sequence[Callable[[Any], object]]
    missing: Iterable[str]


class TextOptions(FieldOptions, total=False):
    """Options for text fields."""

    allow_blank: bool
    trim_whitespace: bool
    max_length: int | None
    min_length: int | None


class DecimalOptions(FieldOptions, total=False):
    """Options for decimal fields."""

    max_digits: int
    decimal_places: int
    min_value: object
    max_value: object
