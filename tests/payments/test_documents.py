"""Tests for the URLs and contents of published schema documents."""

import hashlib
import json
from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from apps.payments.domain import schema_publishing

# Published documents never change. Each correction is a new version.
PINNED = {
    "wallet-pay/2026-04-08/schema.json": "dcbe7a16c2df17c2fd0452e1fb7977a1e71ace4cfa1707f356d93e19f3f41198",
    "checkout/2026-04-08/payment_handler.json": "93d2ed52b52413cbe90a29e966435427540aad6ad9860b7dbe4787035fdd5a41",
}


def compute_digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


@pytest.mark.parametrize("path", PINNED)
def test_a_document_is_served_byte_for_byte_and_kept_by_caches(
    path: str, settings: Any, db: None, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    settings.SCHEMAS_URL = schema_publishing.PLACEHOLDER

    with django_assert_num_queries(0):
        response = Client().get(f"/schemas/{path}")
        head = Client().head(f"/schemas/{path}")
        packed = Client().get(f"/schemas/{path}", headers={"Accept-Encoding": "gzip, br"})
        existing_response = Client().get(f"/schemas/{path}", headers={"If-None-Match": response["ETag"]})
        listed_response = Client().get(f"/schemas/{path}", headers={"If-None-Match": f'"other", {response["ETag"]}'})
        other = Client().get(f"/schemas/{path}", headers={"If-None-Match": '"other"'})

    assert (response.status_code, compute_digest(response.content), compute_digest(packed.content)) == (
        200,
        PINNED[path],
        PINNED[path],
    )
    assert (head.status_code, head.content, head["ETag"]) == (200, b"", response["ETag"])
    assert [(reply.status_code, reply.content) for reply in (existing_response, listed_response)] == [
        (304, b""),
        (304, b""),
    ]
    assert other.status_code == 200
    for reply in (response, head, packed, existing_response):
        assert reply["Cache-Control"] == "public, max-age=86400"
        assert reply["Access-Control-Allow-Origin"] == "*"
        assert reply["X-Content-Type-Options"] == "nosniff"
        assert not reply.has_header("Vary")
        assert not reply.cookies
    assert response["Content-Type"] == "application/schema+json"


def test_the_placeholder_gives_way_to_this_installations_address(settings: Any, db: None) -> None:
    settings.SCHEMAS_URL = "https://admin.example/schemas"

    body = Client().get("/schemas/wallet-pay/2026-04-08/schema.json").content.decode()

    assert schema_publishing.PLACEHOLDER not in body
    assert json.loads(body)["$id"] == "https://admin.example/schemas/wallet-pay/2026-04-08/schema.json"
    assert (
        body.replace("https://admin.example/schemas", schema_publishing.PLACEHOLDER).encode()
        == (schema_publishing.load_documents()["wallet-pay/2026-04-08/schema.json"])
    )


def test_addresses_in_what_is_published_lead_to_it(settings: Any, db: None) -> None:
    response = Client().get("/schemas/wallet-pay/")
    ((version),) = response.json()["versions"]
    paths = {name: url.removeprefix(settings.BASE_URL) for name, url in version.items() if name != "version"}

    assert version["version"] == "2026-04-08"
    assert Client().get(paths["schema"]).json()["$id"] == version["schema"]
    spec = Client().get(paths["spec"])
    assert spec["Content-Type"] == "text/markdown; charset=utf-8"
    assert version["schema"] in spec.content.decode()


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete", "options", "trace"])
def test_other_methods_are_refused(method: str, db: None) -> None:
    response = getattr(Client(), method)("/schemas/wallet-pay/2026-04-08/schema.json")

    assert (response.status_code, response["Allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize(
    "path",
    [
        "wallet-pay/2026-04-09/schema.json",
        "wallet-pay/2026-04-08/other.json",
        "wallet-pay/2026-04-08/",
        "wallet-pay/../checkout/2026-04-08/payment_handler.json",
        "wallet-pay/2026-04-08/schema.json/",
        "../apps.py",
        "checkout/2026-04-08/../../../schemas.py",
        "WALLET-PAY/2026-04-08/schema.json",
    ],
)
def test_what_is_not_published_is_not_found(path: str, db: None) -> None:
    response = Client().get(f"/schemas/{path}")

    assert response.status_code == 404
    if path.startswith("wallet-pay"):
        assert response.json() == {"errors": "Not Found"}
