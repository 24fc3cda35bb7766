"""Checks of request bodies: invalid bodies are refused, and no value causes a defect (docs/reliability.md)."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain, product

from apps.core.rest.resources import fields
from apps.core.rest.resources.serializers import get_writable_fields
from apps.customers.api.fields import BlankAsNullTextField
from tests.api.route_checks import RouteCase, assert_refusal, has_body, route_check
from tests.support.api_client import VERSION, Response
from tests.support.databases.snapshots import rolled_back, snapshot_database
from tests.support.rest.bad_values import (
    CONTENT_TYPES,
    EXTREMES,
    MALFORMED,
    NO_OBJECT,
    NO_ROW,
    SCRIPTS,
    STRANGE,
    WRONG_TYPES,
)
from tests.support.rest.routes import Route
from tests.support.subtests import Subtests
from tests.support.types import Json, JsonObject

Path = tuple[str | int, ...]
Change = tuple[Path, object]
MARK = "nonsense-7f3a"
# Fields with special rules that change the text. Other tests check these fields.
FIELDS_WITH_RULES = {
    "address",
    "app_clip_application_id",
    "application_id",
    "browser_ip",
    "callback_url",
    "code",
    "country",
    "country_code",
    "country_code_of_origin",
    "currency",
    "email",
    "fulfillment_service",
    "fulfillment_status",
    "handle",
    "ip",
    "name",
    "option2",
    "option3",
    "path",
    "phone",
    "presentment_currency",
    "province_code_of_origin",
    "province",
    "province_code",
    "sku",
    "target",
    "template_suffix",
    "topic",
    "type",
    "version",
}


def assert_no_defect(response: Response) -> None:
    assert response.status_code < 500, (response.status_code, response.content[:300])


@route_check(has_body)
def check_malformed_bodies_are_refused(case: RouteCase) -> None:
    with case.unchanged(), Subtests() as subtest:
        for kind, body in MALFORMED.items():
            with subtest(kind):
                assert_refusal(case.send(body=body), 400)


@route_check(has_body)
def check_bodies_without_wrapper_are_refused(case: RouteCase) -> None:
    bodies: dict[str, bytes] = {} if case.sample.bodiless else {"empty": b"{}", **NO_OBJECT}
    if case.wrapper == getattr(case.route.view, "singular", None):
        bodies |= {
            f"wrapper holds {kind}": json.dumps({case.wrapper: value}).encode() for kind, value in NO_ROW.items()
        }
        bodies["another wrapper"] = b'{"nonsense": {"a": 1}}'
    if not bodies:
        return  # The route accepts requests without a body or wrapper.

    with case.unchanged(), Subtests() as subtest:
        for kind, body in bodies.items():
            with subtest(kind):
                assert_refusal(case.send(body=body), 400, 422)


@route_check(has_body)
def check_other_content_types_are_refused(case: RouteCase) -> None:
    with case.unchanged(), Subtests() as subtest:
        for content_type in CONTENT_TYPES:
            with subtest(content_type):
                assert_refusal(case.send(content_type=content_type), 415)


@route_check(has_body)
def check_large_bodies_are_refused_unread(case: RouteCase) -> None:
    limit = 30 * 1024 * 1024 if case.route.view.takes_uploads else 1024 * 1024

    with case.unchanged():
        response = case.send(body=b'{"a": "' + b"x" * limit + b'"}')

    assert_refusal(response, 413)


@route_check(has_body, both_databases=True)
def check_extreme_values_cause_no_defect(case: RouteCase) -> None:
    """Replace each attribute by each extreme value."""
    if paths := get_attribute_paths(case):
        assert_values_cause_no_defect(case, product(paths, EXTREMES))


@route_check(has_body)
def check_strange_values_and_wrong_types_cause_no_defect(case: RouteCase) -> None:
    """Replace each attribute by each strange value, and each value at any depth by values of other types."""
    paths: list[Path] = list(iterate_paths(case.body))
    if isinstance(case.body.get(case.wrapper), dict) and hasattr(case.route.view, "serializer_class"):
        writable = get_writable_fields(case.route.view.serializer_class, VERSION)
        paths += [(case.wrapper, str(field.field_name)) for field in writable]

    assert_values_cause_no_defect(case, chain(product(get_attribute_paths(case), STRANGE), product(paths, WRONG_TYPES)))


def get_attribute_paths(case: RouteCase) -> list[Path]:
    attributes = case.body.get(case.wrapper)
    return [(case.wrapper, name) for name in attributes] if isinstance(attributes, dict) else []


def assert_values_cause_no_defect(case: RouteCase, changes: Iterable[Change]) -> None:
    """Make each change in its own request, unless the serializer refuses the attribute's new value.

    Serializers validate all attributes before they refuse a request. So, for each value, the first request gives this
    value to all attributes, and the attributes that the response refuses need no request of their own.
    """
    pending = {repr(change): change for change in changes}
    by_value: dict[str, dict[str, Change]] = defaultdict(dict)
    for key, (at, value) in pending.items():
        if at[0] == case.wrapper and len(at) == 2:
            by_value[repr(value)][key] = (at, value)
    with Subtests() as subtest:
        for text, attributes in by_value.items():
            with subtest("all attributes", text), rolled_back():
                for key in find_refused(case, attributes):
                    del pending[key]
        for at, value in pending.values():
            with subtest(at, repr(value)), rolled_back():
                assert_no_defect(case.send(body=replace_value(case.body, at, value)))


def find_refused(case: RouteCase, changes: dict[str, Change]) -> list[str]:
    """Make all changes of attributes in one request, and return the keys of the changes that the response refuses."""
    body = case.body
    for at, value in changes.values():
        body = replace_value(body, at, value)
    response = case.send(body=body)
    assert_no_defect(response)
    errors = response.json()["errors"] if response.status_code == 422 else {}
    return [key for key, (at, _) in changes.items() if isinstance(errors, dict) and at[1] in errors]


def iterate_paths(value: object, at: Path = ()) -> Iterator[Path]:
    """Yield the paths of all values in a body: ``("product", "variants", 0, "price")``."""
    if at:
        yield at
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from iterate_paths(inner, (*at, key))


def replace_value(body: Json, at: Path, value: object) -> Json:
    """Return the body with one value replaced, or with one value added to an object."""
    if not at:
        return value
    copied: Json = dict(body) if isinstance(body, dict) else list(body)
    copied[at[0]] = replace_value(body[at[0]] if len(at) > 1 else None, at[1:], value)
    return copied


@route_check(has_body)
def check_unstorable_texts_are_refused(case: RouteCase) -> None:
    wrapper = (case.wrapper or "a").encode()
    bodies = (b'{"%s": {"title": "%s"}}', b'{"%s": {"x": {"%s": 1}}}')

    with case.unchanged(), Subtests() as subtest:
        for text, body in product((b"\\u0000", b"\\ud800", b"a\\udfffb"), bodies):
            with subtest(text, body):
                assert_refusal(case.send(body=body % (wrapper, text)), 400, 422)


@route_check(both_databases=True)
def check_unknown_names_are_ignored_and_not_stored(case: RouteCase) -> None:
    if case.sample.method == "get":
        response = case.send(query={"nonsense": MARK, "nonsense[a][]": MARK})
    else:
        body = case.body and {
            name: {**value, "nonsense": MARK} if isinstance(value, dict) else value
            for name, value in {**case.body, "a_nonsense": {"b": [MARK]}}.items()
        }
        response = case.send(path=f"{case.path}?nonsense={MARK}", body=body)

    assert response.status_code == case.sample.status, response.content
    assert MARK not in response.content.decode()
    assert [table for table, (_, contents) in snapshot_database().items() if MARK in str(contents)] == []


def get_plain_text_limits(route: Route) -> dict[str, int]:
    """Return the maximum lengths of the text fields that are stored unchanged."""
    if route.action != "create" or not hasattr(route.view, "serializer_class"):
        return {}
    return {
        str(field.field_name): field.max_length
        for field in get_writable_fields(route.view.serializer_class, VERSION)
        if isinstance(field, fields.TextField)
        and type(field) in {fields.TextField, BlankAsNullTextField}
        and field.max_length
        and field.field_name not in FIELDS_WITH_RULES
        and not field.write_only
    }


def takes_plain_texts(route: Route) -> bool:
    return bool(get_plain_text_limits(route))


def get_attributes(case: RouteCase) -> JsonObject:
    # Requests accept two names for an address, but responses use only one.
    attributes: JsonObject = next(iter(case.body.values()))
    return attributes


@route_check(takes_plain_texts)
def check_texts_above_their_limit_are_refused(case: RouteCase) -> None:
    """Check B23 of docs/reliability.md."""
    limits = get_plain_text_limits(case.route)

    with case.unchanged(), Subtests() as subtest:
        for (name, limit), unit in product(limits.items(), SCRIPTS):
            with subtest(name, repr(unit)):
                text = (unit * limit)[:limit] + unit[0]
                refused = case.send(body={case.route.view.singular: {**get_attributes(case), name: text}})
                assert_refusal(refused, 422)
                assert any(name in field for field in refused.json()["errors"])


@route_check(takes_plain_texts, both_databases=True)
def check_texts_are_stored_unchanged_up_to_their_limit(case: RouteCase) -> None:
    wrapper = case.route.view.singular
    limits = get_plain_text_limits(case.route)

    with Subtests() as subtest:
        for unit in SCRIPTS:
            with subtest(repr(unit)), rolled_back():
                texts = {name: (unit * limit)[:limit] for name, limit in limits.items()}
                response = case.send(body={wrapper: {**get_attributes(case), **texts}})
                assert response.status_code == 201, response.content[:300]
                assert {name: response.json()[wrapper][name] for name in texts} == texts
