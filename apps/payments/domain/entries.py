"""What may stand in an entry that a shop publishes about a payment handler: one check for every face.

Cheap guards come first, then the published schema, then what a schema cannot say. An entry is read by everybody, so
what looks like a secret is refused wherever it stands, and tokens of buyers are taken away before anything is kept.
Rule: spec part B, Payment handler schema.
"""

import json
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import cache
from typing import Any

from django.utils.translation import gettext as _

from apps.ground.attrs import Errors, Given
from apps.ground.errors import DomainError
from apps.ground.money import is_currency
from apps.ground.phrases import INVALID, NOT_IN_LIST, too_large
from apps.payments.domain import publishing, schemas
from apps.shops.domain.countries import countries

MAX_DEPTH = 8
MAX_BYTES = 16 * 1024
_SECRETS = re.compile("secret|password|privatekey|accesstoken|apikey")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_CURRENCIES, _COUNTRIES = "supported_currencies", "supported_countries"

Path = tuple[str, ...]
Finding = tuple[str, str]


class EntryRefused(DomainError):
    """The entry must not be published as it is."""

    code = "payment_handler_refused"


def check(entry: Given) -> None:
    """Refuse an entry that must not be published.

    Raises:
        EntryRefused: By dotted field.
    """
    if errors := refusals(entry):
        raise EntryRefused(errors)


def refusals(entry: Given) -> Errors:
    """What is wrong with an entry, by dotted field.

    Args:
        entry: As it would be published: ``id``, ``version``, ``config`` and, where given, ``schema`` and
            ``available_instruments``.
    """
    if guarded := _grouped(_unsafe(entry, (), 0, public=True)) or _too_large(entry):
        return guarded
    errors = schemas.findings(_version_of(entry), schemas.BUSINESS, entry)
    for field, message in _unruly(entry):
        errors.setdefault(field, [message])
    return errors


def without_tokens(value: Any) -> Any:
    """The value without the tokens of credentials in it, at any depth that is taken at all."""
    return _without_tokens(value, 0)


def _without_tokens(value: Any, depth: int) -> Any:
    # What is nested deeper is refused as a whole.
    if depth > MAX_DEPTH:
        return value
    if isinstance(value, list):
        return [_without_tokens(item, depth + 1) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _without_tokens(
            {name: part for name, part in item.items() if name != "token"} if _is_credential(key, item) else item,
            depth + 1,
        )
        for key, item in value.items()
    }


def _is_credential(key: object, value: object) -> bool:
    return key == "credential" and isinstance(value, dict)


def storable(value: Any) -> Any:
    """The value with floats in place of exact numbers, which the guards found to say the same."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, list):
        return [storable(item) for item in value]
    if isinstance(value, dict):
        return {key: storable(item) for key, item in value.items()}
    return value


# --- guards ---


def unsafe(value: object) -> Errors:
    """What no column or answer can hold of a value that is not published, by dotted field."""
    return _grouped(_unsafe(value, (), 0, public=False))


def _unsafe(value: object, path: Path, depth: int, *, public: bool) -> Iterator[Finding]:
    """What cannot be kept or, where everybody reads it, must not be said."""
    if depth > MAX_DEPTH:
        yield ".".join(path[:1]), _("is nested deeper than {limit}").format(limit=MAX_DEPTH)
    elif isinstance(value, dict):
        for key, item in value.items():
            if _UNSTORABLE.search(key):
                yield ".".join(path) or "base", INVALID
            elif public and _SECRETS.search(re.sub("[^a-z]", "", key.lower())):
                yield ".".join((*path, key)), _("must not be published")
            else:
                yield from _unsafe(item, (*path, key), depth + 1, public=public)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unsafe(item, (*path, str(index)), depth + 1, public=public)
    elif not _fits(value):
        yield ".".join(path) or "base", INVALID


def _fits(value: object) -> bool:
    """Whether JSON, the database and the answers hold the value as it is."""
    if isinstance(value, str):
        return _UNSTORABLE.search(value) is None
    if isinstance(value, Decimal):
        return Decimal(str(float(value))) == value
    return isinstance(value, bool) or not isinstance(value, int) or -(2**63) <= value < 2**63


def _too_large(entry: Given) -> Errors:
    """What takes more room than is given, of the parts that may be large."""
    found: Errors = {}
    for name, value in entry.items():
        text = json.dumps(value, default=str, ensure_ascii=False)
        if len(text) > MAX_BYTES or len(text.encode()) > MAX_BYTES:
            found[name] = [too_large(MAX_BYTES)]
    return found


def _grouped(found: Iterator[Finding]) -> Errors:
    errors: Errors = {}
    for field, message in found:
        messages = errors.setdefault(field, [])
        if message not in messages:
            messages.append(message)
    return errors


# --- rules that a schema cannot say ---


def _version_of(entry: Given) -> str:
    """The schema to check by: the entry's version, or the newest where it names none of ours."""
    named = entry.get("version")
    return named if named in publishing.versions() else publishing.versions()[0]


def _unruly(entry: Given) -> Iterator[Finding]:
    if entry.get("version") not in publishing.versions():
        yield "version", NOT_IN_LIST
    urls = [publishing.schema_url(version) for version in publishing.versions()]
    if "schema" in entry and entry["schema"] not in urls:
        yield "schema", INVALID
    config = entry.get("config")
    if isinstance(config, dict):
        yield from _unknown(config, _CURRENCIES, is_currency)
        yield from _unknown(config, _COUNTRIES, country_codes().__contains__)


def _unknown(config: Given, name: str, exists: Callable[[str], bool]) -> Iterator[Finding]:
    codes = config.get(name)
    for index, code in enumerate(codes if isinstance(codes, list) else ()):
        if not (isinstance(code, str) and exists(code)):
            yield f"config.{name}.{index}", NOT_IN_LIST


@cache
def country_codes() -> frozenset[str]:
    """The ISO 3166-1 codes of two letters."""
    return frozenset(country.code for country in countries())
