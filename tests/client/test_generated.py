"""Tests of clients generated from the OpenAPI document, and of the document itself.

The suite always tries the same few requests; ``make soak`` tries 500 requests per
operation and sequences of requests. Two of the generator's checks are disabled on purpose: the server ignores unknown
properties instead of rejecting them, and a business rule may reject a request that fits the document.
"""

import importlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from apps.catalog.models import Product
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from tests.support import factories
from tests.support.openapi_document import make_rows, write_description
from tests.support.servers.live import LiveServer, get_database_url
from tests.support.timing import scale_for_soak

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


def test_the_generated_client_creates_and_reads(generated_package: str, server: LiveServer, server_shop: Shop) -> None:
    token = factories.make_token(factories.make_installation(server_shop, ("write_products",)))
    client = import_generated("client").AuthenticatedClient(
        base_url=server.url, token=token, prefix="", auth_header_name="X-Shopify-Access-Token"
    )
    models = import_generated("models")

    def create(**fields: object) -> Any:
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


ROOT = Path(settings.BASE_DIR)
RUN = 'import { use } from "./use.js"; console.log(JSON.stringify(await use(...process.argv.slice(1))));'


def run_node(*arguments: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    process = subprocess.run(["node", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stdout + process.stderr
    return process


@pytest.fixture(scope="session")
def generated_types(tmp_path_factory: pytest.TempPathFactory, node_packages: Path) -> tuple[Path, str]:
    """Generate types for a test app. Return the app's directory and the generator's output."""
    folder = tmp_path_factory.mktemp("typescript")
    (folder / "node_modules").symlink_to(node_packages.resolve())
    (folder / "package.json").write_text('{"type": "module"}')
    shutil.copy(Path(__file__).with_name("typescript") / "use.ts", folder)
    tool = "node_modules/openapi-typescript/bin/cli.js"
    result = run_node(tool, ROOT / "docs" / "openapi.json", "--output", "interface.ts", folder=folder)
    return folder, result.stdout + result.stderr


def test_types_for_typescript_are_generated_without_a_warning(generated_types: tuple[Path, str]) -> None:
    folder, message = generated_types

    assert "warn" not in message.lower(), message
    types = (folder / "interface.ts").read_text()
    assert '"/admin/api/2026-10/products/{id}.json": {' in types


def test_a_typescript_app_creates_and_reads(
    generated_types: tuple[Path, str], server: LiveServer, server_shop: Shop
) -> None:
    folder, _ = generated_types
    token = factories.make_token(factories.make_installation(server_shop, ("write_products",)))

    compiler = "node_modules/typescript/bin/tsc"
    checks = ("--strict", "--noUncheckedIndexedAccess", "--exactOptionalPropertyTypes", "--noUnusedLocals")
    run_node(compiler, *checks, "--module", "nodenext", "--target", "es2022", "use.ts", folder=folder)
    data = json.loads(run_node("--input-type=module", "--eval", RUN, server.url, token, folder=folder).stdout)

    assert (data["made"]["title"], data["made"]["tags"], data["price"]) == ("Mug", "a, b", "9.50")
    assert data["read"] == data["made"]
    assert data["titles"] == ["Mug"]
    assert (data["status"], data["errors"]) == (422, {"title": ["can't be blank"]})


CHECKS_LEFT_OUT = "negative_data_rejection,positive_data_acceptance"
# This operation revokes the token that all other operations need.
REVOKES = r"/api_permissions/current\.json"
SHORT = r"2026-10/(blogs|collects|custom_collections|metafields|products|script_tags)(/\{id\})?\.json"
SHORT_OPTIONS = ("--phases", "fuzzing", "--max-examples", "12", "--seed", "1", "--include-path-regex", SHORT)
EXAMPLES = os.environ.get("SOAK_EXAMPLES") or str(scale_for_soak(500))
# ``SOAK_OPTIONS`` are additional options of the generator. For example, ``--include-path-regex`` runs only a part.
FURTHER = shlex.split(os.environ.get("SOAK_OPTIONS", ""))
LONG_OPTIONS = ("--max-examples", EXAMPLES, "--exclude-path-regex", REVOKES, *FURTHER)


@pytest.fixture
def own_server(db: None, tmp_path: Path) -> Iterator[LiveServer]:
    """Yield a server that uses the brand of the document and cannot reach other hosts."""
    running = LiveServer(get_database_url(), tmp_path, BACKOFFICE_BRAND="platform", BACKOFFICE_OUTGOING_ALLOW="")
    running.wait()
    yield running
    running.stop()


def get_statuses(document: Path, report: Path) -> dict[str, set[int]]:
    """Return the response statuses of each operation, from the generator's report."""
    paths = json.loads(document.read_text())["paths"]
    observed: dict[str, set[int]] = defaultdict(set)
    with report.open() as lines:
        for line in lines:
            recorder = json.loads(line).get("ScenarioFinished", {}).get("recorder", {})
            for key, interaction in recorder.get("interactions", {}).items():
                case = recorder["cases"][key]["value"]
                if interaction["response"] and case["method"].lower() in paths[case["path"]]:
                    observed[f"{case['method']} {case['path']}"].add(interaction["response"]["status_code"])
    return observed


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(SHORT_OPTIONS, id="short", marks=pytest.mark.timeout(300)),
        pytest.param(LONG_OPTIONS, id="long", marks=[pytest.mark.soak, pytest.mark.timeout(0)]),
    ],
)
def test_operations_follow_the_document(own_server: LiveServer, tmp_path: Path, options: tuple[str, ...]) -> None:
    shop = factories.make_shop()
    installation = factories.make_installation(shop)
    ids = make_rows(shop, installation.app)
    token = factories.make_token(installation)
    tool, report = Path(sys.executable).with_name("schemathesis"), tmp_path / "report.ndjson"
    document = write_description(ids, tmp_path / "openapi.json")
    command: list[str | Path] = [tool, "--no-color", "run", document, "--url", own_server.url, *options]
    command += ["--header", f"X-Platform-Access-Token: {token}", "--generation-with-security-parameters", "false"]
    command += ["--exclude-checks", CHECKS_LEFT_OUT, "--suppress-health-check", "all", "--warnings", "off"]
    command += ["--continue-on-failure", "--report", "ndjson", "--report-ndjson-path", report]

    process = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert process.returncode == 0, process.stdout[-20_000:] + process.stderr
    observed = get_statuses(document, report)
    refused = [operation for operation, statuses in observed.items() if not statuses & {200, 201}]
    # Up to a quarter of the operations may always fail: they need a waiting warehouse, a plan or an image.
    assert FURTHER or len(refused) * 4 <= len(observed), f"the requests reach the handlers, but not those of {refused}"
    if "POST /admin/api/2026-10/products.json" not in observed:
        return  # This partial run does not create products.
    with shop_scope(shop):
        assert Product.objects.filter(pk__gt=max(ids["products"])).exists(), "a product was made"
