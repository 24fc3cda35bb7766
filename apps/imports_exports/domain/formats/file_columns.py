"""Name the columns of the imported file in messages about its rows.

Importers and services name our columns and the fields of the REST API. Staff know the names in the first line of their
file, or the members of their JSON lines.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from apps.core.i18n.messages import (
    COLUMN_ERROR,
    FIELD_ERROR,
    MEMBER_ERROR,
    PART_ERROR,
    Message,
    decode,
    define_message,
)

_ITEM = define_message("imports.item", "item {number}")
_ITEM_PATH = re.compile(r"line_items\.([0-9]+)\.")
_INDEX = re.compile(r"\.[0-9]+(?=\.|$)")
# A part of an object, such as ``line item 2``.
_PART = re.compile(r"(.+) [0-9]+")
# The members of an object that contain its parts, keyed by the code of the part's name.
_PART_MEMBERS = {"product_imports.variant": "variants", "product_imports.image": "images"}


def normalize_column_name(name: str) -> str:
    """Return the column name in lower case, without spaces, underscores and punctuation."""
    return re.sub(r"[\W_]+", "", name.casefold())


@dataclass(frozen=True)
class FileColumns:
    """The names of our columns and fields in a file.

    Attributes:
        headers: The names of columns in the file, keyed by our names. None if the file contains JSON lines.
        fields: Our names of columns, keyed by the path of their field without positions, such as ``line_items.price``.
            A field with the name of a column may be missing.
    """

    headers: Mapping[str, str] | None
    fields: Mapping[str, str] = field(default_factory=dict)

    def rename(self, message: Message, part: str = "") -> Message:
        """Return the message with the names in the file. Names of columns that the file does not have are kept.

        ``part`` is the member that contains the part of the object that the message is about.
        """
        match message.code:
            case COLUMN_ERROR.code:
                return self._rename_column(message)
            case FIELD_ERROR.code:
                return self._rename_field(message, part)
            case PART_ERROR.code:
                part = _find_part_member(message.get("part"))
                return PART_ERROR(part=message.get_text("part"), error=self.rename(message.get("error"), part))
        params = {name: self._rename_parameter(value, part) for name, value in message.params.items()}
        return Message(message.code, params) if params != message.params else message

    def get_header(self, column: str) -> str:
        """Return the name of our column in the file, or our name if the file does not have the column."""
        return (self.headers or {}).get(column, column)

    def _rename_column(self, message: Message) -> Message:
        column, error = str(message.params["column"]), message.get("error")
        if self.headers is not None:
            return COLUMN_ERROR(column=self.get_header(column), error=error)
        path = self._paths.get(column)
        return message if path is None else MEMBER_ERROR(member=path.rpartition(".")[2], error=error)

    def _rename_field(self, message: Message, part: str) -> Message:
        path, error = str(message.params["field"]), message.get("error")
        if self.headers is None:
            return MEMBER_ERROR(member=path, error=error)
        header = self._find_header(".".join(filter(None, (part, _INDEX.sub("", path)))))
        if header is None:
            return message
        named = COLUMN_ERROR(column=header, error=error)
        item = _ITEM_PATH.match(path)
        return named if item is None else PART_ERROR(part=_ITEM(number=int(item[1]) + 1), error=named)

    def _find_header(self, path: str) -> str | None:
        """Return the name in the file for the path of a field, or None if the file has no such column."""
        candidates = [self.fields.get(path, "")]
        if "." not in path:
            # A column of the object itself, or of one of its parts if the message does not name the part.
            candidates.append(self._columns.get(normalize_column_name(path), ""))
            candidates += (column for other, column in self.fields.items() if other.rpartition(".")[2] == path)
        return next((self.headers[column] for column in candidates if self.headers and column in self.headers), None)

    @cached_property
    def _columns(self) -> Mapping[str, str]:
        return {normalize_column_name(column): column for column in self.headers or ()}

    @cached_property
    def _paths(self) -> Mapping[str, str]:
        return {column: path for path, column in self.fields.items()}

    def _rename_parameter(self, value: Any, part: str) -> Any:
        if isinstance(value, Mapping) and "code" in value:
            return self.rename(decode(value), part).to_json()
        return [self._rename_parameter(item, part) for item in value] if isinstance(value, list) else value


def _find_part_member(part: Message) -> str:
    """Return the member for the name of a part: ``line item 2`` is in ``line_items``."""
    text = _PART.fullmatch(part)
    return _PART_MEMBERS.get(part.code) or (f"{text[1].replace(' ', '_')}s" if text else "")


def find_headers(columns: Sequence[str], names: Sequence[str], copies: Mapping[int, str]) -> dict[str, str]:
    """Return the names of columns in a file, keyed by our names. ``copies`` are second names, keyed by index."""
    headers = {name: column for name, column in zip(names, columns, strict=False) if name}
    return headers | {name: columns[index] for index, name in copies.items()}


def find_source_headers(
    columns: Sequence[str], source_names: Sequence[str], sources: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    """Return the columns of another system's table that are converted to each of our columns, joined by slashes."""
    headers = dict(zip(reversed(source_names), reversed(columns), strict=True))
    found = {name: [headers[source] for source in names if source in headers] for name, names in sources.items()}
    return {name: " / ".join(names) for name, names in found.items() if names}
