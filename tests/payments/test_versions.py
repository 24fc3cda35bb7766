"""Tests for two versions of the handler schema that are published at the same time."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client

from apps.payments.domain import schema_publishing, schema_validation
from apps.shops.models import Shop
from tests.conftest import ApiClient
from tests.payments.factories import BODY, VERSION, make_handler
from tests.payments.test_profile import NAME, get_profile, get_registry

LATER = "2026-08-25"
SANDBOX = {"shop_id": "942252", "environment": "sandbox"}
_KEPT = (
    schema_publishing.get_schema_versions,
    schema_publishing.load_documents,
    schema_publishing.render_document,
    schema_validation._registry,
    schema_validation.get_validator,
)


@pytest.fixture
def later_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Publish a later schema version by adding folders with documents."""
    for path, content in schema_publishing.load_documents().items():
        for name, text in (
            (path, content),
            (path.replace(VERSION, LATER), content.replace(VERSION.encode(), LATER.encode())),
        ):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_bytes(text)
    monkeypatch.setattr(schema_publishing, "_FOLDER", tmp_path)
    for example in _KEPT:
        example.cache_clear()
    yield
    monkeypatch.undo()
    for example in _KEPT:
        example.cache_clear()


def test_a_later_version_is_served_with_the_earlier_and_shops_keep_theirs(
    in_shop: Shop, api: ApiClient, request: pytest.FixtureRequest
) -> None:
    old = make_handler()
    before = {path: Client().get(f"/schemas/{path}").content for path in schema_publishing.load_documents()}

    request.getfixturevalue("later_version")

    assert schema_publishing.get_schema_versions() == (LATER, VERSION)
    assert (
        before.items()
        <= {path: Client().get(f"/schemas/{path}").content for path in schema_publishing.load_documents()}.items()
    )
    served = Client().get(f"/schemas/{schema_publishing.get_schema_path(LATER)}").json()
    assert (served["version"], LATER in served["$id"]) == (LATER, True)
    (saved_row,) = get_registry(get_profile("acme.example"))[NAME]
    assert (saved_row["version"], saved_row["schema"]) == (VERSION, schema_publishing.get_schema_url(VERSION))

    body = BODY | {"handler_id": "later", "version": LATER, "config": SANDBOX}
    new = api.post("payment_handlers.json", {"payment_handler": body})
    moved = api.put(f"payment_handlers/{old.pk}.json", {"payment_handler": {"version": LATER}})

    assert (new.status_code, moved.status_code) == (201, 200), (new.content, moved.content)
    assert {entry["version"] for entry in get_registry(get_profile("acme.example"))[NAME]} == {LATER}
