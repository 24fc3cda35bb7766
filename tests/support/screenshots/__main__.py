"""Create all or some screenshots for the documentation: ``python -m tests.support.screenshots [NAME…]``.

The command starts the product with a new demo shop in a temporary folder, opens pages in Chromium as the account owner
and writes ``docs/images/*.png``.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, StorageState, expect, sync_playwright

from tests.support import services
from tests.support.screenshots.scenes import SCENES, DemoShop, Scene

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "docs" / "images"
# Maximum seconds for starting the product, and for loading a page.
START, PAGE = 3600, 120
COLOURS = 128


def main(names: list[str]) -> None:
    """Create the named screenshots, or all screenshots if ``names`` is empty."""
    scenes = {name: scene for name, scene in SCENES.items() if not names or name in names}
    expect.set_options(timeout=PAGE * 1000)
    with run_product() as store, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=services.find_chromium(), headless=True, args=list(services.CHROMIUM_ARGUMENTS)
        )
        login = log_in(browser, store)
        for name, scene in scenes.items():
            path = FOLDER / f"{name}.png"
            path.write_bytes(reduce_colors(take_screenshot(browser, store, login, scene)))
            sys.stdout.write(f"{path.relative_to(ROOT)}  {path.stat().st_size // 1000} kB\n")
            sys.stdout.flush()


@contextmanager
def run_product() -> Iterator[DemoShop]:
    with tempfile.TemporaryDirectory() as folder:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        environment = {
            **{name: value for name, value in os.environ.items() if not name.endswith("_URL")},
            "BACKOFFICE_DATA_DIR": folder,
            "BACKOFFICE_STATIC_ROOT": f"{folder}/collected",
            "PORT": str(port),
        }
        process = subprocess.Popen([sys.executable, "-m", "backoffice.entrypoints.run_all"], cwd=ROOT, env=environment)
        try:
            wait_until_up(process, f"http://127.0.0.1:{port}/readyz")
            demo = [sys.executable, "manage.py", "demo", "--json"]
            credentials = json.loads(subprocess.check_output(demo, cwd=ROOT, env=environment).splitlines()[-1])
            staff = credentials["staff"]
            yield DemoShop(credentials["base_url"], credentials["access_token"], staff["email"], staff["password"])
        finally:
            process.terminate()
            process.wait(60)


def wait_until_up(process: "subprocess.Popen[bytes]", address: str) -> None:
    until = time.monotonic() + START
    while process.poll() is None and time.monotonic() < until:
        try:
            with urllib.request.urlopen(address, timeout=10):
                return
        except OSError:
            time.sleep(1)
    raise RuntimeError("The product did not start.")


def log_in(browser: Browser, store: DemoShop) -> StorageState:
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(PAGE * 1000)
    page.goto(f"{store.address}/accounts/login/")
    page.get_by_label("Email").fill(store.email)
    page.get_by_label("Password", exact=False).first.fill(store.password)
    page.get_by_role("button", name="Log in", exact=True).click()
    page.wait_for_url("**/s/demo-store/admin/")
    return context.storage_state()


def take_screenshot(browser: Browser, store: DemoShop, login: StorageState, scene: Scene) -> bytes:
    context = browser.new_context(
        storage_state=login,
        viewport={"width": scene.width, "height": scene.height},
        color_scheme="dark" if scene.dark else "light",
        locale=scene.language,
        reduced_motion="reduce",
        device_scale_factor=1,
    )
    page: Page = context.new_page()
    page.set_default_timeout(PAGE * 1000)
    scene.show(page, store)
    page.mouse.move(0, 0)
    page.evaluate("document.fonts.ready")
    page.wait_for_load_state("networkidle")
    picture = page.screenshot(animations="disabled", caret="hide")
    context.close()
    return picture


def reduce_colors(picture: bytes) -> bytes:
    """Return the image with fewer colors, which reduces the file size by two thirds."""
    image = Image.open(BytesIO(picture)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    buffer = BytesIO()
    image.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


if __name__ == "__main__":
    main(sys.argv[1:])
