"""What a face may give of a subscription: read, checked, and put upon it with what follows from it."""

import hashlib
import re
from collections.abc import Collection

from django.conf import settings
from django.utils.translation import gettext_noop

from apps.ground.attrs import Attrs, Errors, Given
from apps.ground.phrases import BLANK, INVALID, NOT_BOOLEAN, NOT_IN_LIST, NOT_WHOLE, between, too_long, too_many
from apps.ground.retelling import retold, tells
from apps.query import Node, QuerySyntaxError, parse
from apps.query.predicate import FIELDLESS, compile_predicate, fields_of
from apps.webhooks.domain import destinations, foresight, topics
from apps.webhooks.domain.refusals import SubscriptionRefused
from apps.webhooks.models import Subscription
from apps.webhooks.models.subscriptions import MAX_IN_FLIGHT, MAX_NAME, MAX_PER_SECOND

# What a face may give; the topic only when the subscription is made.
GIVEN = (
    "topic",
    "uri",
    "format",
    "filter",
    "include_fields",
    "metafield_namespaces",
    "private_metafield_namespaces",
    "metafields",
    "name",
    "api_version",
    "ordered",
    "max_in_flight",
    "max_per_second",
)
MAX_LISTED = 250
MAX_PATH = 255
_NOT_INCLUDED = tells(
    gettext_noop(
        "The specified filter is invalid, please ensure that include_fields has the field(s) you filter on: {fields}"
    )
)
_BAD_FILTER = tells(gettext_noop("The specified filter is invalid: {problem}"), problem=retold)
_NAME = re.compile(r"[A-Za-z0-9_-]*")
_WORD = re.compile(r"[^\x00-\x1f\ud800-\udfff]+")


def fill(subscription: Subscription, values: Given) -> None:
    """Put checked values on a subscription, and what follows from them.

    Raises:
        SubscriptionRefused: What does not fit, by field; all of it at once.
    """
    errors: Errors = {}
    given = _plain({name: values[name] for name in GIVEN if name in values}, errors)
    _check_topic(subscription, given, errors)
    for name, value in given.items():
        setattr(subscription, name, value)
    if (wrong := destinations.misfit(subscription.uri, subscription.app)) and "uri" not in errors:
        errors["uri"] = [wrong]
    if subscription.format == Subscription.Format.XML and "format" not in errors:
        errors["format"] = [gettext_noop("'xml' is invalid for this webhook topic. Allowed formats: json")]
    if "name" not in errors and (wrong := _wrong_name(subscription.name)):
        errors["name"] = [wrong]
    if "api_version" not in errors and subscription.api_version not in (*settings.API_VERSIONS, "unstable"):
        errors["api_version"] = [NOT_IN_LIST]
    tree = _parsed(subscription, errors)
    if errors:
        raise SubscriptionRefused(errors)
    subscription.key_digest = _key_digest(subscription)
    shape = topics.shape_of(subscription.topic, subscription.api_version)
    foreseen = foresight.warnings_of(shape, tree, subscription.include_fields)
    subscription.warnings = [{"field": each.field, "message": each.message} for each in foreseen]


def _check_topic(subscription: Subscription, given: Attrs, errors: Errors) -> None:
    topic = given.pop("topic", subscription.topic)
    if not subscription._state.adding:
        if topic != subscription.topic:
            errors["topic"] = [gettext_noop("cannot be changed")]
        return
    subscription.topic = topic
    if not topic:
        errors["topic"] = [BLANK]
    elif subscription.origin == Subscription.Origin.API and topic in topics.COMPLIANCE:
        errors["topic"] = [gettext_noop("can only be subscribed to in the app's configuration file")]
    elif not (topics.is_offered(topic) or topic in topics.COMPLIANCE):
        errors["topic"] = [NOT_IN_LIST]


def _wrong_name(name: str | None) -> str | None:
    if name is None:
        return None
    if not name:
        return gettext_noop("is too short (minimum is 1 character)")
    if len(name) > MAX_NAME:
        return too_long(MAX_NAME)
    return (
        None
        if _NAME.fullmatch(name)
        else (gettext_noop("name field can only contain alphanumeric characters, underscores, and hyphens"))
    )


def _parsed(subscription: Subscription, errors: Errors) -> Node | None:
    """The filter's tree; None without a filter, or with one that is wrong."""
    if "filter" in errors or "include_fields" in errors or not subscription.filter.strip():
        return None
    try:
        tree = parse(subscription.filter)
        compile_predicate(tree)
    except QuerySyntaxError as error:
        errors["filter"] = [str(error) if error.message == FIELDLESS else _BAD_FILTER.format(problem=error)]
        return None
    if missing := sorted(fields_of(tree) - _covered(fields_of(tree), subscription.include_fields)):
        errors["filter"] = [_NOT_INCLUDED.format(fields=", ".join(missing))]
        return None
    return tree


def _covered(paths: Collection[str], include_fields: Collection[str]) -> set[str]:
    """Those of some paths that a choice of fields leaves in the payload."""
    if not include_fields:
        return set(paths)
    return {path for path in paths if any(path == each or path.startswith(f"{each}.") for each in include_fields)}


def _key_digest(subscription: Subscription) -> str:
    """What may stand once for each topic: URI, format and filter, as one short text."""
    parts = (subscription.uri, subscription.format, subscription.filter.strip())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _plain(given: Attrs, errors: Errors) -> Attrs:
    """Values in the types of their columns; what is of another type is noted as wrong and left out."""
    found: Attrs = {}
    for name, value in given.items():
        try:
            found[name] = _READERS[name](value)
        except _Wrong as error:
            errors[name] = [str(error)]
    return found


class _Wrong(ValueError):
    """A value of another type; the message follows the field's name."""


def _text(value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str) or (value and not _WORD.fullmatch(value)):
        raise _Wrong(INVALID)
    return value


def _optional_text(value: object) -> str | None:
    return None if value is None else _text(value)


def _choice(value: object) -> str:
    word = _text(value).lower() or Subscription.Format.JSON.value
    if word not in Subscription.Format.values:
        raise _Wrong(NOT_IN_LIST)
    return word


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise _Wrong(NOT_BOOLEAN)
    return value


def _slots(value: object) -> int:
    return _whole(value, MAX_IN_FLIGHT)


def _rate(value: object) -> int | None:
    return None if value is None else _whole(value, MAX_PER_SECOND)


def _whole(value: object, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise _Wrong(NOT_WHOLE)
    if not 1 <= value <= most:
        raise _Wrong(between(1, most))
    return value


def _texts(value: object) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list | tuple):
        raise _Wrong(INVALID)
    if not all(isinstance(each, str) and _WORD.fullmatch(each) for each in value):
        raise _Wrong(INVALID)
    if len(value) > MAX_LISTED:
        raise _Wrong(too_many("entries", MAX_LISTED))
    if any(len(each) > MAX_PATH for each in value):
        raise _Wrong(too_long(MAX_PATH))
    return list(dict.fromkeys(value))


def _identifiers(value: object) -> list[dict[str, str]]:
    """``[{namespace, key}]``."""
    if value is None:
        return []
    if not isinstance(value, list | tuple) or len(value) > MAX_LISTED:
        raise _Wrong(INVALID)
    found = []
    for each in value:
        if not isinstance(each, dict) or each.keys() != {"namespace", "key"}:
            raise _Wrong(INVALID)
        for name in ("namespace", "key"):
            word = each[name]
            if not isinstance(word, str) or not _WORD.fullmatch(word) or len(word) > MAX_PATH:
                raise _Wrong(INVALID)
        found.append({"namespace": each["namespace"], "key": each["key"]})
    return found


_READERS = {
    "topic": _text,
    "uri": _text,
    "format": _choice,
    "filter": _text,
    "include_fields": _texts,
    "metafield_namespaces": _texts,
    "private_metafield_namespaces": _texts,
    "metafields": _identifiers,
    "name": _optional_text,
    "api_version": _text,
    "ordered": _truth,
    "max_in_flight": _slots,
    "max_per_second": _rate,
}
