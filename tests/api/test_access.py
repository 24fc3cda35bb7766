"""Tests of scopes and hosts in single cases. ``tests/api/route_checks/access.py`` checks every route."""

from django.utils import timezone

from apps.core.tenancy.models import Installation, Shop
from apps.core.tenancy.scope import all_shops_scope
from apps.shops.domain import app_installation
from tests.support.api_client import ApiClient, ClientWith


def test_writing_any_resource_writes_the_shops_own_metafields(client_with: ClientWith, shop: Shop) -> None:
    body = {"metafield": {"namespace": "care", "key": "wash", "value": "Cold", "type": "single_line_text_field"}}

    for scope in ("write_metafields", "write_content"):
        with_scope = client_with(scope, name=scope)
        created = with_scope.post("metafields.json", body)
        row = f"metafields/{created.json()['metafield']['id']}.json"
        changed = with_scope.put(row, {"metafield": {"value": "Hot"}})

        assert (created.status_code, changed.status_code, with_scope.delete(row).status_code) == (201, 200, 200)


def test_the_host_of_another_shop_is_rejected(api: ApiClient, shop: Shop, other_shop: Shop) -> None:
    own = api.http.get("/admin/api/2026-10/shop.json", headers={"Host": shop.domain})
    foreign = api.http.get("/admin/api/2026-10/shop.json", headers={"Host": other_shop.domain})

    assert own.status_code == 200
    assert foreign.status_code == 401


def test_changed_scopes_count_from_the_next_request(api: ApiClient, shop: Shop) -> None:
    assert api.get("script_tags.json").status_code == 200

    with all_shops_scope():
        installation = Installation.objects.get(pk=api.installation.pk)
    app_installation.install_app(installation.app, shop, scopes=["read_products"], actor="staff:1", at=timezone.now())

    assert api.get("script_tags.json").status_code == 403
