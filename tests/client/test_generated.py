"""Tests for a client generated from our OpenAPI document: no warnings, and correct results from a real server."""

import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from apps.shops.models import Shop
from tests import factories
from tests.client.conftest import LiveServer

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("client")]
PACKAGE = "generated_client"


@pytest.fixture(scope="session")
def generated_package(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Generate the package, make it importable, and return the generator's output."""
    folder = tmp_path_factory.mktemp("generated")
    tool = Path(sys.executable).with_name("openapi-python-client")
    document = Path(settings.BASE_DIR) / "docs" / "openapi.json"
    command = [str(tool), "generate", "--path", str(document), "--output-path", str(folder / PACKAGE), "--meta", "none"]
    # Add the generator's directory to PATH, because the generator calls a formatter from there.
    path = f"{tool.parent}{os.pathsep}{os.environ['PATH']}"
    process = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "PATH": path})
    sys.path.append(str(folder))
    return process.stdout + process.stderr


def import_generated(name: str) -> Any:
    return importlib.import_module(f"{PACKAGE}.{name}")


def test_a_python_client_is_generated_without_a_warning(generated_package: str) -> None:
    assert "warning" not in generated_package.lower(), generated_package
    assert "skipping" not in generated_package.lower(), generated_package
    assert len(list(Path(import_generated("api").__path__[0]).rglob("*.py"))) > 100


def test_the_generated_client_creates_reads_and_gets_errors(
    generated_package: str, server: LiveServer, server_shop: Shop
) -> None:
    token = factories.make_token(factories.make_installation(server_shop, ("write_products",)))
    client = import_generated("client").AuthenticatedClient(
        base_url=server.url, token=token, prefix="", auth_header_name="X-Shopify-Access-Token"
    )
    models = import_generated("models")

    def create(**fields: Any) -> Any:
        body = models.PostProductsBody.from_dict({"product": fields})
        return import_generated("api.products.post_products").sync(client=client, body=body)

    with client:
        product = create(title="Mug", tags="b, a", variants=[{"price": "9.50"}]).product
        loaded_product = import_generated("api.products.get_products_id").sync(id=product.id, client=client).product
        products = import_generated("api.products.get_products").sync(client=client, limit=5).products
        refused = create(title="")

    assert (product.title, product.tags, product.variants[0].price) == ("Mug", "a, b", "9.50")
    assert loaded_product == product
    assert [item.id for item in products] == [product.id]
    assert refused.to_dict() == {"errors": {"title": ["can't be blank"]}}
