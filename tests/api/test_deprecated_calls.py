from datetime import timedelta
from unittest.mock import patch

import pytest
from django.core.cache import cache
from django.db import DatabaseError
from time_machine import TimeMachineFixture

from apps.core.rest.models import DeprecatedCall
from apps.core.rest.requests import deprecated_calls
from tests.support.api_client import ApiClient, ClientWith
from tests.support.types import JsonObject
from tests.support.wire_tables import find_misfits

pytestmark = pytest.mark.usefixtures("in_shop")
PATH = "deprecated_api_calls.json"
COUNT = "script_tags/count.json"


def list_calls(api: ApiClient) -> list[JsonObject]:
    body = api.get(PATH).json()
    misfits = find_misfits("deprecated_api_call", f"GET /{PATH}", body)
    assert all("migration_deadline is None" in misfit for misfit in misfits)
    return body["deprecated_api_calls"]


def test_calls_of_deprecated_routes_are_listed(api: ApiClient) -> None:
    assert list_calls(api) == []
    api.get("script_tags.json")
    api.get(COUNT)
    api.get("products/7/images.json")

    by_endpoint = {call["endpoint"]: call for call in list_calls(api)}

    assert set(by_endpoint) == {"GET script_tags/count.json", "GET products/{product_id}/images.json"}
    call = by_endpoint["GET script_tags/count.json"]
    assert call["description"].startswith("Counting script tags: ")
    assert call["documentation_url"].endswith("/docs/api/deprecations/#script-tag-count")
    assert (call["api_type"], call["version"], call["migration_deadline"]) == ("REST", "2026-10", None)


def test_versions_before_the_deprecation_are_not_listed(api: ApiClient) -> None:
    assert api.get("/admin/api/2024-10/products/7/images.json").status_code == 404

    assert list_calls(api) == []


def test_calls_are_recorded_at_most_once_per_hour(api: ApiClient, time_machine: TimeMachineFixture) -> None:
    time_machine.move_to("2026-11-02T10:00:00Z", tick=False)
    api.get(COUNT)
    first = DeprecatedCall.objects.get().last_call_at

    time_machine.shift(timedelta(minutes=59))
    api.get(COUNT)
    assert DeprecatedCall.objects.get().last_call_at == first
    time_machine.shift(timedelta(minutes=2))
    api.get(COUNT)
    assert DeprecatedCall.objects.get().last_call_at == first + timedelta(minutes=61)


def test_calls_are_listed_for_30_days(api: ApiClient, time_machine: TimeMachineFixture) -> None:
    time_machine.move_to("2026-11-02T10:00:00Z", tick=False)
    api.get(COUNT)

    time_machine.shift(timedelta(days=31))

    assert list_calls(api) == []


def test_each_app_sees_its_own_calls(api: ApiClient, client_with: ClientWith) -> None:
    api.get(COUNT)

    assert list_calls(client_with("read_products")) == []


def test_failed_records_do_not_fail_the_call(api: ApiClient) -> None:
    with patch.object(deprecated_calls, "run_unless_locked", side_effect=DatabaseError):
        assert api.get(COUNT).status_code == 200
    with patch.object(cache, "add", side_effect=ConnectionError):
        assert api.get(COUNT).status_code == 200

    assert not DeprecatedCall.objects.exists()
