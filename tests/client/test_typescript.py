"""Types that a generator makes out of our OpenAPI document, without a warning; an app that keeps to them works."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from django.conf import settings

from apps.shops.models import Shop
from tests import factories
from tests.client.conftest import Server

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("client")]
ROOT = Path(settings.BASE_DIR)
RUN = 'import { use } from "./use.js"; console.log(JSON.stringify(await use(...process.argv.slice(1))));'


def node(*arguments: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run Node in a folder; whatever it says of a failure is the failure's message."""
    done = subprocess.run(["node", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="session")
def generated(tmp_path_factory: pytest.TempPathFactory, node_packages: Path) -> tuple[Path, str]:
    """The folder with the types and with an app that uses them, and what the generator said."""
    folder = tmp_path_factory.mktemp("typescript")
    (folder / "node_modules").symlink_to(node_packages.resolve())
    (folder / "package.json").write_text('{"type": "module"}')
    shutil.copy(Path(__file__).with_name("typescript") / "use.ts", folder)
    tool = "node_modules/openapi-typescript/bin/cli.js"
    done = node(tool, ROOT / "docs" / "openapi.json", "--output", "interface.ts", folder=folder)
    return folder, done.stdout + done.stderr


def test_types_for_typescript_are_generated_without_a_warning(generated: tuple[Path, str]) -> None:
    folder, said = generated

    assert "warn" not in said.lower(), said
    types = (folder / "interface.ts").read_text()
    assert '"/admin/api/2026-07/products/{id}.json": {' in types


def test_an_app_in_typescript_creates_reads_and_is_told_what_is_wrong(
    generated: tuple[Path, str], server: Server, client_shop: Shop
) -> None:
    folder, _ = generated
    token = factories.make_token(factories.make_installation(client_shop, ("write_products",)))

    compiler = "node_modules/typescript/bin/tsc"
    checks = ("--strict", "--noUncheckedIndexedAccess", "--exactOptionalPropertyTypes", "--noUnusedLocals")
    node(compiler, *checks, "--module", "nodenext", "--target", "es2022", "use.ts", folder=folder)
    done = json.loads(node("--input-type=module", "--eval", RUN, server.url, token, folder=folder).stdout)

    assert (done["made"]["title"], done["made"]["tags"], done["price"]) == ("Mug", "a, b", "9.50")
    assert done["read"] == done["made"]
    assert done["titles"] == ["Mug"]
    assert (done["status"], done["errors"]) == (422, {"title": ["can't be blank"]})
