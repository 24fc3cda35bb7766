"""Validate the writable fields of a subscription and derive other fields from them."""

import hashlib
import re
from collections.abc import Callable, Collection

from django.conf import settings
from django.utils.translation import gettext_noop

from apps.core.i18n.error_messages import (
    BLANK,
    INVALID,
    NOT_BOOLEAN,
    NOT_IN_LIST,
    NOT_WHOLE,
    between,
    too_long,
    too_many,
)
from apps.core.i18n.messages import as_message, define_message
from apps.core.search_query import Node, QuerySyntaxError, parse_query
from apps.core.search_query.predicate import MISSING_FIELD, compile_predicate, get_field_paths
from apps.core.types import Attrs, Errors, ReadOnlyAttrs
from apps.webhooks.domain import endpoints, filters, topics
from apps.webhooks.domain.errors import SubscriptionRefused
from apps.webhooks.models import Subscription
from apps.webhooks.models.subscriptions import MAX_IN_FLIGHT, MAX_NAME, MAX_PER_SECOND

MAX_LIST_ENTRIES = 250
MAX_PATH = 255
_NOT_INCLUDED = define_message(
    "webhooks.not_included",
    "The specified filter is invalid, please ensure that include_fields has the field(s) you filter on: {fields}",
)
_BAD_FILTER = define_message("webhooks.bad_filter", "The specified filter is invalid: {problem}")
_NAME = re.compile(r"[A-Za-z0-9_-]*")
_PLAIN_TEXT = re.compile(r"[^\x00-\x1f\ud800-\udfff]+")


def assign_validated(subscription: Subscription, values: ReadOnlyAttrs) -> None:
    """Validate values, and assign the values and all derived fields to a subscription.

    Raises:
        SubscriptionRefused: Values are invalid. The error lists all problems by field.
    """
    errors: Errors = {}
    values_to_assign = _convert({name: values[name] for name in WRITABLE_FIELDS if name in values}, errors)
    _check_topic(subscription, values_to_assign, errors)
    for name, value in values_to_assign.items():
        setattr(subscription, name, value)
    if (problem := endpoints.find_uri_error(subscription.uri, subscription.app)) and "uri" not in errors:
        errors["uri"] = [problem]
    if subscription.format == Subscription.Format.XML and "format" not in errors:
        errors["format"] = [gettext_noop("'xml' is invalid for this webhook topic. Allowed formats: json")]
    if "name" not in errors and (problem := _find_name_error(subscription.name)):
        errors["name"] = [problem]
    if "api_version" not in errors and subscription.api_version not in (*settings.API_VERSIONS, "unstable"):
        errors["api_version"] = [NOT_IN_LIST]
    tree = _parse_filter(subscription, errors)
    if errors:
        raise SubscriptionRefused(errors)
    subscription.key_digest = _key_digest(subscription)
    shape = topics.get_payload_schema(subscription.topic, subscription.api_version)
    foreseen = filters.find_warnings(shape, tree, subscription.include_fields)
    subscription.warnings = [{"field": warning.field, **warning.message.to_json()} for warning in foreseen]


def _check_topic(subscription: Subscription, values_to_assign: Attrs, errors: Errors) -> None:
    topic = values_to_assign.pop("topic", subscription.topic)
    if not subscription._state.adding:
        if topic != subscription.topic:
            errors["topic"] = [gettext_noop("cannot be changed")]
        return
    subscription.topic = topic
    if not topic:
        errors["topic"] = [BLANK]
    elif subscription.origin == Subscription.Origin.API and topic in topics.COMPLIANCE_TOPICS:
        errors["topic"] = [gettext_noop("can only be subscribed to in the app's configuration file")]
    elif not (topics.is_offered(topic) or topic in topics.COMPLIANCE_TOPICS):
        errors["topic"] = [NOT_IN_LIST]


def _find_name_error(name: str | None) -> str | None:
    if name is None:
        return None
    if not name:
        return gettext_noop("is too short (minimum is 1 character)")
    if len(name) > MAX_NAME:
        return too_long(MAX_NAME)
    if not _NAME.fullmatch(name):
        return gettext_noop("name field can only contain alphanumeric characters, underscores, and hyphens")
    return None


def _parse_filter(subscription: Subscription, errors: Errors) -> Node | None:
    """Return the parsed filter, or None if the subscription has no filter or the filter is invalid."""
    if "filter" in errors or "include_fields" in errors or not subscription.filter.strip():
        return None
    try:
        tree = parse_query(subscription.filter)
        compile_predicate(tree)
    except QuerySyntaxError as error:
        is_explained = error.message == MISSING_FIELD
        errors["filter"] = [str(error) if is_explained else _BAD_FILTER(problem=as_message(str(error)))]
        return None
    if missing := sorted(get_field_paths(tree) - _keep_selected(get_field_paths(tree), subscription.include_fields)):
        errors["filter"] = [_NOT_INCLUDED(fields=", ".join(missing))]
        return None
    return tree


def _keep_selected(paths: Collection[str], include_fields: Collection[str]) -> set[str]:
    """Return the paths that remain in the payload after a field selection."""
    if not include_fields:
        return set(paths)
    return {path for path in paths if any(path == field or path.startswith(f"{field}.") for field in include_fields)}


def _key_digest(subscription: Subscription) -> str:
    """Return the digest of the URI, format and filter. The digest must be unique per topic."""
    parts = (subscription.uri, subscription.format, subscription.filter.strip())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _convert(values: Attrs, errors: Errors) -> Attrs:
    """Convert values to the column types. Values with the wrong type are omitted and recorded in ``errors``."""
    converted: Attrs = {}
    for name, value in values.items():
        try:
            converted[name] = WRITABLE_FIELDS[name](value)
        except _InvalidValue as error:
            errors[name] = [str(error)]
    return converted


class _InvalidValue(ValueError):
    """Raised when a value has the wrong type. The message is a phrase that follows the label of the field."""


def _is_plain_text(value: object) -> bool:
    return isinstance(value, str) and _PLAIN_TEXT.fullmatch(value) is not None


def _parse_text(value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str) or (value and not _PLAIN_TEXT.fullmatch(value)):
        raise _InvalidValue(INVALID)
    return value


def _parse_format(value: object) -> str:
    word = _parse_text(value).lower() or Subscription.Format.JSON.value
    if word not in Subscription.Format.values:
        raise _InvalidValue(NOT_IN_LIST)
    return word


def _parse_bool(value: object) -> bool:
    if not isinstance(value, bool):
        raise _InvalidValue(NOT_BOOLEAN)
    return value


def _parse_integer(value: object, maximum: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _InvalidValue(NOT_WHOLE)
    if not 1 <= value <= maximum:
        raise _InvalidValue(between(1, maximum))
    return value


def _parse_texts(value: object) -> list[str]:
    if value is None:
        return []
    if not (isinstance(value, list | tuple) and all(map(_is_plain_text, value))):
        raise _InvalidValue(INVALID)
    if len(value) > MAX_LIST_ENTRIES:
        raise _InvalidValue(too_many("entries", MAX_LIST_ENTRIES))
    if any(len(entry) > MAX_PATH for entry in value):
        raise _InvalidValue(too_long(MAX_PATH))
    return list(dict.fromkeys(value))


def _parse_identifiers(value: object) -> list[dict[str, str]]:
    """Check that a value is a list of metafield identifiers, ``[{namespace, key}]``."""
    if value is None:
        return []
    if not isinstance(value, list | tuple) or len(value) > MAX_LIST_ENTRIES:
        raise _InvalidValue(INVALID)
    identifiers = []
    for entry in value:
        if not isinstance(entry, dict) or entry.keys() != {"namespace", "key"}:
            raise _InvalidValue(INVALID)
        if not all(_is_plain_text(word) and len(word) <= MAX_PATH for word in entry.values()):
            raise _InvalidValue(INVALID)
        identifiers.append({"namespace": entry["namespace"], "key": entry["key"]})
    return identifiers


# The writable fields with functions that convert their values. The topic can only be set on creation.
WRITABLE_FIELDS: dict[str, Callable[[object], object]] = {
    "topic": _parse_text,
    "uri": _parse_text,
    "format": _parse_format,
    "filter": _parse_text,
    "include_fields": _parse_texts,
    "metafield_namespaces": _parse_texts,
    "private_metafield_namespaces": _parse_texts,
    "metafields": _parse_identifiers,
    "name": lambda value: None if value is None else _parse_text(value),
    "api_version": _parse_text,
    "ordered": _parse_bool,
    "max_in_flight": lambda value: _parse_integer(value, MAX_IN_FLIGHT),
    "max_per_second": lambda value: None if value is None else _parse_integer(value, MAX_PER_SECOND),
}
