"""Tests of the addresses that browsers request by themselves."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from apps.core.tenancy.models import Shop


@pytest.mark.django_db
def test_the_root_leads_to_the_panel(client: Client) -> None:
    with CaptureQueriesContext(connection) as queries:
        response = client.get("/")

    assert (response.status_code, response.headers["Location"]) == (302, "/admin/")
    assert queries.captured_queries == []


def test_the_root_of_a_shops_domain_is_the_storefronts(client: Client, shop: Shop) -> None:
    assert client.get("/", HTTP_HOST=shop.domain).status_code == 404


@pytest.mark.django_db
def test_the_icon_is_cached_and_needs_no_query(client: Client) -> None:
    with CaptureQueriesContext(connection) as queries:
        response = client.get("/favicon.ico")

    content = b"".join(response.streaming_content)  # type: ignore[attr-defined]
    assert response.status_code == 200
    assert response.headers["Cache-Control"] == "max-age=86400, public"
    assert content.startswith(b"\x00\x00\x01\x00")
    assert queries.captured_queries == []
