"""Validate the entry that a shop publishes for a payment handler, in REST and in the panel.

Cheap guards run first, then the published schema, then rules that a schema cannot express. An entry is public, so
anything that looks like a secret is refused. Customers' tokens are removed before the entry is stored.
"""

import json
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import cache
from typing import Any

from django.utils.translation import gettext as _

from apps.core.exceptions import DomainError
from apps.core.i18n.error_messages import INVALID, NOT_IN_LIST, too_large
from apps.core.money import is_currency
from apps.core.types import Errors, ReadOnlyAttrs
from apps.payments.domain import schemas
from apps.shops.domain.countries import get_countries

MAX_DEPTH = 8
MAX_BYTES = 16 * 1024
_SECRETS = re.compile("secret|password|privatekey|accesstoken|apikey")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")

Path = tuple[str, ...]
Finding = tuple[str, str]


class EntryRefused(DomainError):
    pass


def validate_entry(entry: ReadOnlyAttrs) -> None:
    if errors := find_entry_errors(entry):
        raise EntryRefused(errors)


def find_entry_errors(entry: ReadOnlyAttrs) -> Errors:
    """Return the errors of an entry as in ``handlers.build_entry``, keyed by dotted field path."""
    if guard_errors := schemas.group_messages(_find_unsafe(entry, (), 0, public=True)) or _find_too_large(entry):
        return guard_errors
    from apps.payments.domain.schema_validation import find_schema_errors

    errors = find_schema_errors(_get_schema_version(entry), schemas.BUSINESS, entry)
    for field, message in _find_rule_violations(entry):
        errors.setdefault(field, [message])
    return errors


def remove_tokens(value: Any, depth: int = 0) -> Any:
    """Return a copy of a value without credential tokens."""
    # An entry with deeper nesting is refused anyway, so the recursion stops here.
    if depth > MAX_DEPTH:
        return value
    if isinstance(value, list):
        return [remove_tokens(item, depth + 1) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: remove_tokens(
            {name: part for name, part in item.items() if name != "token"}
            if key == "credential" and isinstance(item, dict)
            else item,
            depth + 1,
        )
        for key, item in value.items()
    }


def convert_decimals(value: Any) -> Any:
    """Convert decimals to floats. The guards refuse decimals that floats cannot represent, so no precision is lost."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, list):
        return [convert_decimals(item) for item in value]
    if isinstance(value, dict):
        return {key: convert_decimals(item) for key, item in value.items()}
    return value


# --- guards ---


def find_unsafe_parts(value: object) -> Errors:
    """Return errors for the parts of a private value that cannot be stored or returned, keyed by dotted field path."""
    return schemas.group_messages(_find_unsafe(value, (), 0, public=False))


def _find_unsafe(value: object, path: Path, depth: int, *, public: bool) -> Iterator[Finding]:
    """Yield errors for parts that cannot be stored and, if ``public`` is true, for names that look like secrets."""
    if depth > MAX_DEPTH:
        yield ".".join(path[:1]), _("is nested more than {limit} levels deep").format(limit=MAX_DEPTH)
    elif isinstance(value, dict):
        for key, item in value.items():
            if _UNSTORABLE.search(key):
                yield ".".join(path) or "base", INVALID
            elif public and _SECRETS.search(re.sub("[^a-z]", "", key.lower())):
                yield ".".join((*path, key)), _("must not be published because it looks like a secret")
            else:
                yield from _find_unsafe(item, (*path, key), depth + 1, public=public)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _find_unsafe(item, (*path, str(index)), depth + 1, public=public)
    elif not _is_preserved(value):
        yield ".".join(path) or "base", INVALID


def _is_preserved(value: object) -> bool:
    if isinstance(value, str):
        return _UNSTORABLE.search(value) is None
    if isinstance(value, Decimal):
        return Decimal(str(float(value))) == value
    return isinstance(value, bool) or not isinstance(value, int) or -(2**63) <= value < 2**63


def _find_too_large(entry: ReadOnlyAttrs) -> Errors:
    texts = {name: json.dumps(value, default=str, ensure_ascii=False) for name, value in entry.items()}
    return {name: [too_large(MAX_BYTES)] for name, text in texts.items() if len(text.encode()) > MAX_BYTES}


# --- rules that a schema cannot express ---


def _get_schema_version(entry: ReadOnlyAttrs) -> str:
    """Return the schema version of the entry, or the newest version if the entry's version is unknown."""
    version = entry.get("version")
    return version if version in schemas.get_schema_versions() else schemas.get_schema_versions()[0]


def _find_rule_violations(entry: ReadOnlyAttrs) -> Iterator[Finding]:
    if entry.get("version") not in schemas.get_schema_versions():
        yield "version", NOT_IN_LIST
    urls = [schemas.get_schema_url(version) for version in schemas.get_schema_versions()]
    if "schema" in entry and entry["schema"] not in urls:
        yield "schema", INVALID
    config = entry.get("config")
    if isinstance(config, dict):
        yield from _find_unknown_codes(config, "supported_currencies", is_currency)
        yield from _find_unknown_codes(config, "supported_countries", get_country_codes().__contains__)


def _find_unknown_codes(config: ReadOnlyAttrs, name: str, exists: Callable[[str], bool]) -> Iterator[Finding]:
    codes = config.get(name)
    for index, code in enumerate(codes if isinstance(codes, list) else ()):
        if not (isinstance(code, str) and exists(code)):
            yield f"config.{name}.{index}", NOT_IN_LIST


@cache
def get_country_codes() -> frozenset[str]:
    return frozenset(country.code for country in get_countries())
