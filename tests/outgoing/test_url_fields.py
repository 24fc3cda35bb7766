"""Tests that all code uses the guarded HTTP client, and that no URL field leads to a private address.

See check W1 in docs/reliability.md.
"""

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from apps.content.domain import script_tags, themes
from apps.content.models import Theme
from apps.core.jobs import queue as jobs
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.fulfillment.domain.services import polling
from apps.fulfillment.models import FulfillmentService, Pull, PullAttempt
from tests.outgoing.test_ssrf_guard import PRIVATE_HOSTS
from tests.support.api_client import ApiClient, Response
from tests.support.factories import ScriptTagFactory
from tests.support.factories.catalog import make_product
from tests.support.factories.content import make_blog
from tests.support.factories.fulfillment import make_service
from tests.support.servers.http import SilentServer

# A function that submits an address and returns the error.
Try = Callable[[str], str]


def get_error(response: Response) -> str:
    assert response.status_code == 422, response.content
    return response.content.decode()


def try_product_image(api: ApiClient, shop: Shop) -> Try:
    product = make_product()
    return lambda src: get_error(api.post(f"products/{product.pk}/images.json", {"image": {"src": src}}))


def try_product_with_images(api: ApiClient, shop: Shop) -> Try:
    return lambda src: get_error(api.post("products.json", {"product": {"title": "Mug", "images": [{"src": src}]}}))


def try_custom_collection(api: ApiClient, shop: Shop) -> Try:
    def attempt(src: str) -> str:
        body = {"title": "Mugs", "image": {"src": src}}
        return get_error(api.post("custom_collections.json", {"custom_collection": body}))

    return attempt


def try_smart_collection(api: ApiClient, shop: Shop) -> Try:
    def attempt(src: str) -> str:
        rules = [{"column": "title", "relation": "contains", "condition": "mug"}]
        body = {"title": "Mugs", "rules": rules, "image": {"src": src}}
        return get_error(api.post("smart_collections.json", {"smart_collection": body}))

    return attempt


def try_article(api: ApiClient, shop: Shop) -> Try:
    blog = make_blog()
    body = {"title": "Snow"}
    return lambda src: get_error(
        api.post(f"blogs/{blog.pk}/articles.json", {"article": {**body, "image": {"src": src}}})
    )


def try_asset(api: ApiClient, shop: Shop) -> Try:
    draft = themes.duplicate_theme(Theme.objects.get(role=Theme.Role.MAIN), actor="system", at=timezone.now())
    return lambda src: get_error(
        api.put(f"themes/{draft.pk}/assets.json", {"asset": {"key": "assets/a.png", "src": src}})
    )


def try_theme(api: ApiClient, shop: Shop) -> Try:
    return lambda src: get_error(api.post("themes.json", {"theme": {"name": "Dawn", "src": src}}))


def try_theme_in_worker(api: ApiClient, shop: Shop) -> Try:
    """Change the address after saving, because a host name may resolve to a private address later."""
    theme_body = api.post("themes.json", {"theme": {"name": "Dawn", "src": "https://themes.example/a.zip"}}).json()[
        "theme"
    ]

    def attempt(src: str) -> str:
        with shop_scope(shop), transaction.atomic():
            Theme.objects.filter(pk=theme_body["id"]).update(src=src, processing=True, failure="")
            Job.objects.update(state=Job.State.WAITING, attempts=0)
            key = Job.objects.get().key
        jobs.run_job(key)
        with shop_scope(shop):
            return Theme.objects.get(pk=theme_body["id"]).failure

    return attempt


def try_script_copy(api: ApiClient, shop: Shop) -> Try:
    def attempt(src: str) -> str:
        with shop_scope(shop):
            https = src.replace("http:", "https:")
            tag = ScriptTagFactory.create(shop=shop, app=api.installation.app, src=https, cache=True)
            with pytest.raises(script_tags.ScriptUnavailable) as error_info:
                script_tags.get_cached_script(tag, at=timezone.now())
        return str(error_info.value)

    return attempt


def try_callback(api: ApiClient, shop: Shop) -> Try:
    body = {"name": "Depot"}
    return lambda src: get_error(
        api.post("fulfillment_services.json", {"fulfillment_service": {**body, "callback_url": src}})
    )


def try_pull_in_worker(api: ApiClient, shop: Shop) -> Try:
    """Change the address after saving, because a host name may resolve to a private address later."""
    service = make_service(api.installation.app, inventory_management=True)

    def attempt(src: str) -> str:
        with shop_scope(shop):
            FulfillmentService.objects.filter(pk=service.pk).update(callback_url=src.replace("http:", "https:"))
            key = polling.pull_now(service, Pull.Kind.STOCK, at=timezone.now()).key
        jobs.run_job(key)
        with shop_scope(shop):
            return PullAttempt.objects.order_by("-id")[0].message

    return attempt


# For each module that fetches URLs, a function for each field.
WAYS: dict[str, tuple[Callable[[ApiClient, Shop], Try], ...]] = {
    "core/media/uploads.py": (
        try_product_image,
        try_product_with_images,
        try_custom_collection,
        try_smart_collection,
        try_article,
    ),
    "content/domain/assets.py": (try_asset,),
    "content/domain/theme_extraction.py": (try_theme, try_theme_in_worker),
    "content/domain/script_tags.py": (try_script_copy,),
    "fulfillment/domain/services/polling.py": (try_callback, try_pull_in_worker),
    # This app only calls the installation that it was started for.
    "demo/warehouse/api_client.py": (),
}


@pytest.mark.parametrize("make_attempt", [way for ways in WAYS.values() for way in ways], ids=lambda way: way.__name__)
def test_url_fields_never_lead_to_a_private_address(
    api: ApiClient, shop: Shop, silent_server: SilentServer, make_attempt: Callable[[ApiClient, Shop], Try]
) -> None:
    with shop_scope(shop):
        attempt = make_attempt(api, shop)

    words = {attempt(f"http://{host}:{silent_server.port}/a.png") for host in PRIVATE_HOSTS}

    assert len(words) == 1
    assert "address not allowed" in (word := words.pop()) or "is not an allowed address" in word
    assert not silent_server.was_broken()


def test_every_module_that_fetches_is_tried_here() -> None:
    root = Path(settings.BASE_DIR) / "apps"
    calling = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        if not path.is_relative_to(root / "core" / "http") and _imports_the_client(path)
    }

    assert calling == set(WAYS)


def _imports_the_client(path: Path) -> bool:
    functions = {"download_file", "send_request"}
    return any(
        isinstance(node, ast.ImportFrom)
        and node.module == "apps.core.http.sync_client"
        and functions & {alias.name for alias in node.names}
        for node in ast.walk(ast.parse(path.read_text()))
    )


ROOT = Path(__file__).resolve().parents[2]
DOOR = ROOT / "apps" / "core" / "http"
# Modules that listen on a socket, check the local server's heartbeat or notify the next SQLite writer.
LISTENING = {
    f"backoffice/{name}.py"
    for name in (
        *("entrypoints/run_all", "observability/heartbeat"),
        *("server/process", "server/supervisor", "sqlite/write_queue"),
    )
}
FORBIDDEN = (
    *["aiohttp", "ftplib", "http.client", "httpcore", "httplib2", "httpx", "pycurl", "requests", "socket"],
    *["telnetlib", "urllib.request", "urllib3", "websockets"],
)


def find_imports(source: str) -> Iterator[str]:
    """Yield every dotted name in an import statement or in a call to `import_module`."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module), names=names, level=0):
                yield module
                yield from (f"{module}.{alias.name}" for alias in names)
            case ast.Call(
                func=ast.Name(id="import_module" | "__import__") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(module)), *_],
            ):
                yield module


def find_forbidden_imports(source: str) -> set[str]:
    """Return the forbidden modules that a source imports."""
    dotted = {f"{import_name}." for import_name in find_imports(source)}
    return {name for name in FORBIDDEN if any(import_name.startswith(f"{name}.") for import_name in dotted)}


def test_http_libraries_are_imported_only_by_the_guarded_client() -> None:
    files = [path for folder in ("apps", "backoffice") for path in (ROOT / folder).rglob("*.py")]

    imports_by_file = {path: find_forbidden_imports(path.read_text()) for path in files}

    outside = {
        str(path.relative_to(ROOT)): names for path, names in imports_by_file.items() if DOOR not in path.parents
    }
    assert {path: names for path, names in outside.items() if names and path not in LISTENING} == {}
    assert {name for path in LISTENING for name in outside[path]} == {"socket"}
    assert {"socket", "urllib3", "http.client"} <= set().union(
        *imports_by_file.values()
    )  # proves that the scan finds imports


@pytest.mark.parametrize(
    "source",
    [
        "import requests",
        "import urllib.request",
        "import os, socket as s",
        "from urllib import request",
        "from urllib.request import urlopen",
        "from http import client",
        "from http.client import HTTPSConnection",
        "def late():\n    import httpx",
        "from aiohttp.client import ClientSession",
        "from urllib3.util import Retry",
        "import importlib\nimportlib.import_module('requests')",
        "__import__('socket')",
    ],
)
def test_scan_finds_every_way_to_import_a_client(source: str) -> None:
    assert find_forbidden_imports(source)


@pytest.mark.parametrize(
    "source",
    [
        "from urllib.parse import urlsplit",
        "import urllib.parse",
        "from http import HTTPStatus",
        "from .requests import Request",
        "import socketserver_like",
        "from apps.core.http.sync_client import send_request",
    ],
)
def test_scan_leaves_harmless_imports_alone(source: str) -> None:
    assert not find_forbidden_imports(source)
