"""Run a request generator with our OpenAPI document against a real server, and check that both agree.

See check B29 in docs/reliability.md. The suite always tries the same few requests; ``make soak`` tries 500 requests per
operation and sequences of requests. Two of the generator's checks are disabled on purpose: the server ignores unknown
properties instead of rejecting them, and a business rule may reject a request that fits the document.
"""

import json
import os
import shlex
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from apps.catalog.models import Product
from apps.ground.tenancy import shop_scope
from tests import factories
from tests.client.conftest import LiveServer, get_database_url
from tests.client.openapi_document import make_rows, write_description
from tests.timing import scale_for_soak

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("client")]

CHECKS_LEFT_OUT = "negative_data_rejection,positive_data_acceptance"
# This operation revokes the token that all other operations need.
REVOKES = r"/api_permissions/current\.json"
SHORT = r"2026-07/(blogs|collects|custom_collections|metafields|products|script_tags)(/\{id\})?\.json"
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
def test_operations_answer_as_the_document_says(
    own_server: LiveServer, tmp_path: Path, options: tuple[str, ...]
) -> None:
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
    if "POST /admin/api/2026-07/products.json" not in observed:
        return  # This partial run does not create products.
    with shop_scope(shop):
        assert Product.objects.filter(pk__gt=max(ids["products"])).exists(), "a product was made"
