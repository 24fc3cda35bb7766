"""Tests for strings at and above the length limit in every route.

See check B23 in docs/reliability.md: a string at the limit is returned unchanged, and a longer string is rejected.
"""

from typing import Any

import pytest

from apps.api.resources import fields
from apps.api.resources.serializers import get_writable_fields
from apps.customers.api.fields import BlankAsNullTextField
from tests.api.routes import Route, get_all_routes
from tests.samples import load_all_samples

SAMPLES = load_all_samples()
SCRIPTS = {
    "plain": "a",
    "emoji": "😀",
    "combining": "e\u0301",
    "right to left": "א",
    "zero width": "a\u200b",
}
# Fields with special rules that change the text. Other tests check these fields.
FIELDS_WITH_RULES = {
    "address",
    "app_clip_application_id",
    "application_id",
    "browser_ip",
    "callback_url",
    "country",
    "country_code",
    "country_code_of_origin",
    "currency",
    "email",
    "fulfillment_service",
    "fulfillment_status",
    "handle",
    "name",
    "option2",
    "option3",
    "phone",
    "presentment_currency",
    "province_code_of_origin",
    "province",
    "province_code",
    "sku",
    "template_suffix",
    "topic",
    "type",
    "version",
}


def get_plain_text_fields(route: Route) -> list[Any]:
    return [
        field
        for field in get_writable_fields(route.view.serializer_class, "2026-07")
        if isinstance(field, fields.TextField)
        and type(field) in {fields.TextField, BlankAsNullTextField}
        and field.max_length
        and field.field_name not in FIELDS_WITH_RULES
        and not field.write_only
    ]


CASES = [
    (route, field.field_name, field.max_length)
    for route in get_all_routes()
    if route.name in SAMPLES and route.action == "create" and hasattr(route.view, "serializer_class")
    for field in get_plain_text_fields(route)
]


def test_there_are_texts_to_try() -> None:
    assert len(CASES) >= 10


@pytest.mark.parametrize("text", CASES, ids=lambda text: f"{text[0].name}-{text[1]}")
@pytest.mark.parametrize(
    "script",
    # SQLite has no length limits, so only emoji, which have the most bytes per character, are tested on both databases.
    [pytest.param(name, marks=pytest.mark.both_databases if name == "emoji" else ()) for name in SCRIPTS],
)
def test_a_text_at_its_limit_comes_back_and_one_above_is_refused(
    text: tuple[Route, str, int], script: str, prepare_request: Any, assert_database_unchanged: Any
) -> None:
    route, name, limit = text
    case = prepare_request(SAMPLES[route.name])
    wrapper = route.view.singular
    # Requests accept two names for an address, but responses use only one.
    body = {wrapper: next(iter(case.sample.body_for(case.arguments).values()))}
    unit = SCRIPTS[script]
    fitting = (unit * limit)[:limit]
    longer = fitting + unit[0]

    with assert_database_unchanged():
        refused = case.send(body={wrapper: {**body[wrapper], name: longer}})
    response = case.send(body={wrapper: {**body[wrapper], name: fitting}})

    assert refused.status_code == 422, refused.content[:300]
    assert any(name in field for field in refused.json()["errors"])
    assert response.status_code == 201, response.content[:300]
    assert response.json()[wrapper][name] == fitting
