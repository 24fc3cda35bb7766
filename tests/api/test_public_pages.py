import pytest
from django.test import Client

from apps.core.tenancy.models import Shop

PAGES = (
    "/schemas/wallet-pay/",
    "/schemas/wallet-pay/2026-04-08/schema.json",
    "/docs/",
    "/docs/api/2026-10/",
    "/docs/api/errors/",
    "/content/images/1000001/0123456789abcdef0123456789abcdef/a.png",
)


@pytest.mark.parametrize("path", PAGES)
def test_other_methods_are_405_without_a_csrf_token(shop: Shop, path: str) -> None:
    client = Client(enforce_csrf_checks=True)

    for method in ("POST", "PUT", "DELETE"):
        response = client.generic(method, path)
        assert (response.status_code, response["Allow"]) == (405, "GET, HEAD")
