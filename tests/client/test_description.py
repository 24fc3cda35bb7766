"""A generator of requests tries the operations of our OpenAPI document on a real server, and finds it true.

Rule: reliability, B29. The short form runs with the suite and always tries the same; ``make soak`` tries 500 requests
of each operation and sequences of them. Two of the generator's checks are left out by decision: bodies are read kindly
(what is unknown is ignored), so not all that strays from the document is refused; and what fits the document may still
be refused by a rule that no schema says, such as a handle that is taken. A generator that is only refused finds
nothing, so the test wants most operations to succeed at least once, and a row to be made.
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
from tests.client.conftest import Server, database_url
from tests.client.described import describe, make_rows
from tests.machine import soaked

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("client")]

CHECKS_LEFT_OUT = "negative_data_rejection,positive_data_acceptance"
# It takes the token away that all others need.
REVOKES = r"/api_permissions/current\.json"
SHORT = r"2026-07/(blogs|collects|custom_collections|metafields|products|script_tags)(/\{id\})?\.json"
SHORT_OPTIONS = ("--phases", "fuzzing", "--max-examples", "12", "--seed", "1", "--include-path-regex", SHORT)
EXAMPLES = os.environ.get("SOAK_EXAMPLES") or str(soaked(500))
# ``SOAK_OPTIONS`` are further ones of the generator's, such as ``--include-path-regex``, to do it in parts.
FURTHER = shlex.split(os.environ.get("SOAK_OPTIONS", ""))
LONG_OPTIONS = ("--max-examples", EXAMPLES, "--exclude-path-regex", REVOKES, *FURTHER)


@pytest.fixture
def own_server(db: None, tmp_path: Path) -> Iterator[Server]:
    """A server that speaks as the document does, and reaches no address."""
    running = Server(database_url(), tmp_path, BACKOFFICE_BRAND="platform", BACKOFFICE_OUTGOING_ALLOW="")
    running.wait()
    yield running
    running.stop()


def answers(document: Path, report: Path) -> dict[str, set[int]]:
    """The statuses that each operation of the document answered, from the generator's report."""
    paths = json.loads(document.read_text())["paths"]
    seen: dict[str, set[int]] = defaultdict(set)
    with report.open() as lines:
        for line in lines:
            recorder = json.loads(line).get("ScenarioFinished", {}).get("recorder", {})
            for key, interaction in recorder.get("interactions", {}).items():
                case = recorder["cases"][key]["value"]
                if interaction["response"] and case["method"].lower() in paths[case["path"]]:
                    seen[f"{case['method']} {case['path']}"].add(interaction["response"]["status_code"])
    return seen


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(SHORT_OPTIONS, id="short", marks=pytest.mark.timeout(300)),
        pytest.param(LONG_OPTIONS, id="long", marks=[pytest.mark.soak, pytest.mark.timeout(0)]),
    ],
)
def test_operations_answer_as_the_document_says(own_server: Server, tmp_path: Path, options: tuple[str, ...]) -> None:
    shop = factories.make_shop()
    installation = factories.make_installation(shop)
    ids = make_rows(shop, installation.app)
    token = factories.make_token(installation)
    tool, report = Path(sys.executable).with_name("schemathesis"), tmp_path / "report.ndjson"
    document = describe(ids, tmp_path / "openapi.json")
    command: list[str | Path] = [tool, "--no-color", "run", document, "--url", own_server.url, *options]
    command += ["--header", f"X-Platform-Access-Token: {token}", "--generation-with-security-parameters", "false"]
    command += ["--exclude-checks", CHECKS_LEFT_OUT, "--suppress-health-check", "all", "--warnings", "off"]
    command += ["--continue-on-failure", "--report", "ndjson", "--report-ndjson-path", report]

    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr
    seen = answers(document, report)
    refused = [operation for operation, statuses in seen.items() if not statuses & {200, 201}]
    # Those of one part may all need what no made-up request has: a warehouse that asks, a plan, a picture.
    assert FURTHER or len(refused) * 4 <= len(seen), f"the requests reach the handlers, but not those of {refused}"
    if "POST /admin/api/2026-07/products.json" not in seen:
        return  # a part of the routes, without the one that makes products
    with shop_scope(shop):
        assert Product.objects.filter(pk__gt=max(ids["products"])).exists(), "a product was made"
