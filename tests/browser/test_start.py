"""Tests of ``make run`` as a new user experiences it."""

import html
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urljoin

import pytest
from django.conf import settings
from django.db import connection
from playwright.sync_api import Browser, Page, Response

from benchmarks import page_loads
from tests.support.servers.ports import find_free_port
from tests.support.timing import get_time_limit, wait_until

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.xdist_group("product")]

COLD_BYTES, WARM_BYTES = 300_000, 40_000
SLOW_PAGES = ["home", "products", "product", "article"]
MOST_FILES, MOST_IMAGES, MOST_SHIFT = 24, 18, 0.05
# The page, a style sheet, a script, four fonts, and the number of new notifications.
MOST_LIST_FILES = 8
OURS = ("BACKOFFICE_", "_BACKOFFICE_", "DATABASE_URL", "BROKER_URL", "CACHE_URL", "STORAGE_URL", "EMAIL_URL")


class ProductProcess:
    def __init__(self, folder: Path, **variables: str) -> None:
        self.folder, self.port = folder, find_free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        clean = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
        paths = {"BACKOFFICE_DATA_DIR": str(folder / "data"), "BACKOFFICE_STATIC_ROOT": str(folder / "static")}
        self.env = {**clean, **paths, "PORT": str(self.port), "WORKERS": "1", "WEB_PROCESSES": "1", **variables}
        self.output = self.interrupted_output = ""

    def start(self, until: str = "Running until Ctrl-C.") -> None:
        """Start the processes and wait for a line of the output. The last line means that the web server responds."""
        with (self.folder / "output").open("w") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "backoffice.entrypoints.run_all"],
                cwd=settings.BASE_DIR,
                env=self.env,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        wait_until(self.read_output, lambda output: until in output or self.process.poll() is not None, seconds=480)
        assert self.process.poll() is None, self.read_output()

    def read_output(self) -> str:
        return (self.folder / "output").read_text()

    def stop(self) -> float:
        before = time.monotonic()
        os.killpg(self.process.pid, signal.SIGINT)
        assert self.process.wait(60) == 0
        self.output = self.read_output()
        return time.monotonic() - before


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProductProcess]:
    """Start the product, stop it while it creates the demo shop, and start it again for the other tests."""
    running = ProductProcess(tmp_path_factory.mktemp("product"))
    running.start(until="Creating the demo shop …")
    running.stop()
    running.interrupted_output = running.output
    running.start()
    assert urllib.request.urlopen(f"{running.url}/healthz", timeout=60).status == 200
    yield running
    running.stop()


def read_printed(output: str, label: str) -> list[str]:
    match = re.search(rf"^  {label}\s+(.*)$", output, re.MULTILINE)
    assert match, output
    return match[1].split()


@pytest.fixture(scope="module")
def owner(product: ProductProcess, browser: Browser) -> Iterator[Page]:
    email, password = read_printed(product.read_output(), "Login")
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{product.url}/accounts/login/")
    page.locator("input[name=login]").fill(email)
    page.locator("input[name=password]").fill(password)
    page.locator("input[name=password]").press("Enter")
    page.wait_for_url("**/s/*/admin/")
    yield page
    context.close()


def test_every_screen_opens_with_files_that_were_collected(owner: Page) -> None:
    """Check all screens with collected static files. Other tests serve static files from the source folders."""
    home = owner.url

    def opened(address: str) -> tuple[str, set[str]]:
        response = owner.request.get(address)
        text = response.text()
        assert response.status == 200, f"{address}: {response.status} {text[:200]}"
        files = re.findall(r'(?:src|href)="([^"]*/static/[^"]*)"', text)
        return text, {urljoin(address, html.unescape(file)) for file in files}

    text, files = opened(home)
    lists = {urljoin(home, link) for link in re.findall(r'href="(/s/[^"?#]+/admin/\w+/\w+/)"', text)}
    assert len(lists) > 20
    for address in sorted(lists):
        text, more = opened(address)
        files |= more
        rows = re.findall(r'<th class="[^"]*"[^>]*><a href="([^"]+)"', text)
        adds = re.findall(r'href="([^"]+/add/)"', text)
        for link in [*rows[:1], *adds[:1]]:
            files |= opened(urljoin(address, html.unescape(link)))[1]
    assert len(files) > 20
    assert {file for file in files if owner.request.get(file).status != 200} == set()


def test_a_list_page_is_light_and_its_files_are_kept_for_good(owner: Page, browser: Browser) -> None:
    address = f"{owner.url.rstrip('/')}/orders/order/"
    cookies = owner.context.cookies()

    def weigh(page_address: str, is_cached: bool) -> tuple[int, list[Response]]:
        responses: list[Response] = []
        total = 0
        context = browser.new_context()
        context.add_cookies(cookies)  # type: ignore[arg-type]
        tab = context.new_page()
        # Load twice, because a busy browser may not have cached everything after the first load.
        for _ in range(2 * is_cached):
            tab.goto(page_address, wait_until="networkidle")
        tab.on("response", lambda response: responses.append(response))  # noqa: PLW0108 - Playwright marks what it is given
        tab.goto(page_address, wait_until="networkidle")
        for response in responses:
            sizes = response.request.sizes()
            total += sizes["responseBodySize"] + sizes["responseHeadersSize"]
        context.close()
        return total, responses

    cold, cold_responses = weigh(address, is_cached=False)
    warm, _ = weigh(address, is_cached=True)

    heads = {item.url: item.headers for item in cold_responses}
    static = {url: head for url, head in heads.items() if "/static/" in url}
    assert {item.status for item in cold_responses} == {200}
    assert heads[address]["content-encoding"] == "gzip"
    assert static
    assert all("immutable" in head["cache-control"] for head in static.values()), static.keys()
    assert all(re.search(r"\.[0-9a-f]{12}\.\w+$", url) for url in static)
    texts = [head for url, head in static.items() if url.endswith((".css", ".js"))]
    assert all(head.get("content-encoding") in {"br", "gzip"} for head in texts if int(head["content-length"]) > 1000)
    assert cold <= COLD_BYTES, f"{cold:,} bytes: {sorted(heads)}"
    assert warm <= WARM_BYTES, f"{warm:,} bytes"


def test_pages_load_few_files_and_do_not_move_on_a_slow_line(owner: Page, browser: Browser) -> None:
    loads = {load.name: load for load in page_loads.measure_pages(browser, owner, owner.url, only=SLOW_PAGES)}

    page_loads.print_loads([*loads.values()])
    files = {name: load.requests - load.images for name, load in loads.items()}
    assert list(loads) == SLOW_PAGES
    assert {name: count for name, count in files.items() if count > MOST_FILES} == {}, files
    assert {name: files[name] for name in page_loads.LISTS if files.get(name, 0) > MOST_LIST_FILES} == {}
    assert {name: load.images for name, load in loads.items() if load.images > MOST_IMAGES} == {}
    assert {name: load.shift for name, load in loads.items() if load.shift > MOST_SHIFT} == {}
    # The editors load after the page. Nothing that they draw is the page's largest paint, which would come a round trip
    # (300 ms) later at least.
    assert all(load.largest_paint < load.loaded + 150 for load in loads.values()), loads


def test_the_login_page_goes_out_as_it_is(product: ProductProcess) -> None:
    request = urllib.request.Request(f"{product.url}/accounts/login/", headers={"Accept-Encoding": "gzip, br"})
    with urllib.request.urlopen(request) as response:
        assert response.headers.get("Content-Encoding") is None


def test_the_data_folder_is_private(product: ProductProcess) -> None:
    assert urllib.request.urlopen(f"{product.url}/accounts/login/").status == 200

    data = product.folder / "data"
    modes = dict(read_modes([data, *data.rglob("*")]))

    assert {"backoffice.sqlite3", "media", "secret_key"} <= {path.name for path in modes}
    assert {path: oct(mode) for path, mode in modes.items() if mode & 0o077} == {}


def read_modes(paths: Iterable[Path]) -> Iterator[tuple[Path, int]]:
    """Yield the mode of each file that still exists: the worker removes messages from the broker's folder."""
    for path in paths:
        with suppress(FileNotFoundError):
            yield path, path.stat().st_mode


def test_a_start_can_be_interrupted(product: ProductProcess) -> None:
    assert product.interrupted_output.splitlines()[-3:] == ["Creating the demo shop …", "", "Stopped."]


def test_the_product_stops_at_once_prints_little_and_issues_one_token(product: ProductProcess) -> None:
    seconds = product.stop()
    first = product.output
    product.start()
    second = product.read_output()

    lines = [line for line in first.splitlines() if line]
    assert seconds < get_time_limit(10), f"{seconds:.1f} s"
    assert [line.split("  ")[0] for line in lines if not line.startswith(" ")] == [
        "Preparing the database …",
        "Collecting static files …",
        "Creating the demo shop …",
        "Starting the web server and the worker …",
        "Running until Ctrl-C.",
        "Stopping …",
    ], first
    assert read_printed(first, "Access token")[0].startswith("bko_")
    assert "{" not in first
    assert "bko_" not in second
    assert "shown only at the first start" in second


def test_an_own_database_gets_no_demo_data(transactional_db: None, tmp_path: Path) -> None:
    file = tmp_path / "own.sqlite3"
    if connection.vendor == "sqlite":
        # Copy the test database without a shop, so that no migrations have to run.
        with connection.cursor() as cursor:
            cursor.execute("VACUUM INTO %s", [str(file)])
    own = ProductProcess(tmp_path, DATABASE_URL=f"sqlite:///{file}")

    # The processes would run as in the other tests, so only prepare them.
    ended = subprocess.run(
        [sys.executable, "-m", "backoffice.entrypoints.prepare"],
        cwd=settings.BASE_DIR,
        env=own.env,
        capture_output=True,
        text=True,
        timeout=480,
        check=True,
    )

    assert "createsuperuser" in ended.stdout
    assert "bko_" not in ended.stdout
    assert "demo" not in (ended.stdout + ended.stderr).lower()
