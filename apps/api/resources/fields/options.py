"""What fields may be told; the words are DRF's, and the versions ours."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypedDict


class Versions(TypedDict, total=False):
    """The first version that has a field, and the first that has it no more."""

    since: str | None
    until: str | None


class FieldOptions(Versions, total=False):
    """Options of every field."""

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
    """Options of texts."""

    allow_blank: bool
    trim_whitespace: bool
    max_length: int | None
    min_length: int | None


class DecimalOptions(FieldOptions, total=False):
    """Options of exact numbers."""

    max_digits: int
    decimal_places: int
    min_value: object
    max_value: object
