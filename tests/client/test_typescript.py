"""Tests for TypeScript types generated from our OpenAPI document: no warnings, and an app that uses the types works."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from django.conf import settings

from apps.shops.models import Shop
from tests import factories
from tests.client.conftest import LiveServer

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("client")]
ROOT = Path(settings.BASE_DIR)
RUN = 'import { use } from "./use.js"; console.log(JSON.stringify(await use(...process.argv.slice(1))));'


def run_node(*arguments: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run Node in a directory, and show the output if Node fails."""
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
    assert '"/admin/api/2026-07/products/{id}.json": {' in types


def test_a_typescript_app_creates_reads_and_gets_errors(
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
