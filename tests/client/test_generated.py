"""A client that a generator makes out of our OpenAPI document, without a warning, at work on a real server."""

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
from tests.client.conftest import Server

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("client")]
PACKAGE = "generated_client"


@pytest.fixture(scope="session")
def generated(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the generator said, and the package it made, which can be imported from now on."""
    folder = tmp_path_factory.mktemp("generated")
    tool = Path(sys.executable).with_name("openapi-python-client")
    document = Path(settings.BASE_DIR) / "docs" / "openapi.json"
    command = [str(tool), "generate", "--path", str(document), "--output-path", str(folder / PACKAGE), "--meta", "none"]
    # It formats what it made with a tool that stands beside it.
    path = f"{tool.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "PATH": path})
    sys.path.append(str(folder))
    return done.stdout + done.stderr


def part(name: str) -> Any:
    return importlib.import_module(f"{PACKAGE}.{name}")


def test_a_python_client_is_generated_without_a_warning(generated: str) -> None:
    assert "warning" not in generated.lower(), generated
    assert "skipping" not in generated.lower(), generated
    assert len(list(Path(part("api").__path__[0]).rglob("*.py"))) > 100


def test_the_generated_client_creates_reads_and_is_told_what_is_wrong(
    generated: str, server: Server, client_shop: Shop
) -> None:
    token = factories.make_token(factories.make_installation(client_shop, ("write_products",)))
    client = part("client").AuthenticatedClient(
        base_url=server.url, token=token, prefix="", auth_header_name="X-Shopify-Access-Token"
    )
    models = part("models")

    def create(**fields: Any) -> Any:
        body = models.PostProductsBody.from_dict({"product": fields})
        return part("api.products.post_products").sync(client=client, body=body)

    with client:
        made = create(title="Mug", tags="b, a", variants=[{"price": "9.50"}]).product
        read = part("api.products.get_products_id").sync(id=made.id, client=client).product
        listed = part("api.products.get_products").sync(client=client, limit=5).products
        refused = create(title="")

    assert (made.title, made.tags, made.variants[0].price) == ("Mug", "a, b", "9.50")
    assert read == made
    assert [each.id for each in listed] == [made.id]
    assert refused.to_dict() == {"errors": {"title": ["can't be blank"]}}
