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
from apps.store_imports.domain.errors import SourceUnreadable
from apps.store_imports.domain.source_client import SourceClient, normalize_source_url
from tests.outgoing.test_ssrf_guard import PRIVATE_HOSTS
from tests.support.api_client import ApiClient, Response
from tests.support.factories import ScriptTagFactory
from tests.support.factories.catalog import make_product
from tests.support.factories.content import make_blog
from tests.support.factories.fulfillment import make_service
from tests.support.servers.http import SilentServer
from tests.support.types import JsonObject

ROOT = Path(settings.BASE_DIR)
# A function that submits an address and returns the error, and a function that prepares it.
Try = Callable[[str], str]
Way = Callable[[ApiClient, Shop], Try]


def get_error(response: Response) -> str:
    assert response.status_code == 422, response.content
    return response.content.decode()


def post(path: Callable[[], str], name: str, build: Callable[[str], JsonObject]) -> Way:
    """Return a way that posts an object with the address."""

    def make(api: ApiClient, shop: Shop) -> Try:
        address = path()
        return lambda src: get_error(api.post(address, {name: build(src)}))

    return make


def build_mugs(src: str) -> JsonObject:
    return {"title": "Mugs", "image": {"src": src}}


RULES = [{"column": "title", "relation": "contains", "condition": "mug"}]


def try_asset(api: ApiClient, shop: Shop) -> Try:
    draft = themes.duplicate_theme(Theme.objects.get(role=Theme.Role.MAIN), actor="system", at=timezone.now())
    return lambda src: get_error(
        api.put(f"themes/{draft.pk}/assets.json", {"asset": {"key": "assets/a.png", "src": src}})
    )


def try_theme_in_worker(api: ApiClient, shop: Shop) -> Try:
    """Change the address after saving, because a host name may resolve to a private address later."""
    theme = {"name": "Dawn", "src": "https://themes.example/a.zip"}
    pk = api.post("themes.json", {"theme": theme}).json()["theme"]["id"]

    def attempt(src: str) -> str:
        with shop_scope(shop), transaction.atomic():
            Theme.objects.filter(pk=pk).update(src=src, processing=True, failure="")
            Job.objects.update(state=Job.State.WAITING, attempts=0)
            key = Job.objects.get().key
        jobs.run_job(key)
        with shop_scope(shop):
            return Theme.objects.get(pk=pk).failure

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


def try_store_import(api: ApiClient, shop: Shop) -> Try:
    def attempt(src: str) -> str:
        client = SourceClient(normalize_source_url(src), "token", "platform", "2026-10")
        with shop_scope(shop), pytest.raises(SourceUnreadable) as error_info:
            client.get("shop.json")
        return str(error_info.value).replace(client.url, "")

    return attempt


REFUSALS = ("address not allowed", "is not an allowed address", "is not a public internet address")
# For each module that fetches URLs, the ways to its fields.
WAYS: dict[str, dict[str, Way]] = {
    "core/media/uploads.py": {
        "image": post(lambda: f"products/{make_product().pk}/images.json", "image", lambda src: {"src": src}),
        "product": post(lambda: "products.json", "product", lambda src: {"title": "Mug", "images": [{"src": src}]}),
        "custom collection": post(lambda: "custom_collections.json", "custom_collection", build_mugs),
        "smart collection": post(
            lambda: "smart_collections.json", "smart_collection", lambda src: {**build_mugs(src), "rules": RULES}
        ),
        "article": post(lambda: f"blogs/{make_blog().pk}/articles.json", "article", build_mugs),
    },
    "content/domain/assets.py": {"asset": try_asset},
    "content/domain/theme_extraction.py": {
        "theme": post(lambda: "themes.json", "theme", lambda src: {"name": "Dawn", "src": src}),
        "theme in worker": try_theme_in_worker,
    },
    "content/domain/script_tags.py": {"script copy": try_script_copy},
    "fulfillment/domain/services/polling.py": {
        "callback": post(
            lambda: "fulfillment_services.json",
            "fulfillment_service",
            lambda src: {"name": "Depot", "callback_url": src},
        ),
        "pull in worker": try_pull_in_worker,
    },
    "store_imports/domain/source_client.py": {"store import": try_store_import},
    # This app only calls the installation that it was started for.
    "demo/warehouse/api_client.py": {},
}


@pytest.mark.parametrize(
    "make_attempt", [pytest.param(way, id=name) for ways in WAYS.values() for name, way in ways.items()]
)
def test_url_fields_never_lead_to_a_private_address(
    api: ApiClient, shop: Shop, silent_server: SilentServer, make_attempt: Way
) -> None:
    with shop_scope(shop):
        attempt = make_attempt(api, shop)

    words = {attempt(f"http://{host}:{silent_server.port}/a.png") for host in PRIVATE_HOSTS}

    assert len(words) == 1
    word = words.pop()
    assert any(refusal in word for refusal in REFUSALS), word
    assert not silent_server.was_broken()


def test_every_module_that_fetches_is_tried_here() -> None:
    root = ROOT / "apps"
    functions = {f"apps.core.http.sync_client.{name}" for name in ("download_file", "send_request")}
    files = [path for path in root.rglob("*.py") if DOOR not in path.parents]

    calling = {path.relative_to(root).as_posix() for path in files if functions & {*find_imports(path.read_text())}}

    assert calling == set(WAYS)


DOOR = ROOT / "apps" / "core" / "http"
# Modules that listen on a socket or check the local server's heartbeat.
LISTENING = {
    f"backoffice/{name}.py"
    for name in (
        *("entrypoints/run_all", "observability/heartbeat"),
        "server/worker",
    )
}
FORBIDDEN = (
    *["aiohttp", "ftplib", "http.client", "httpcore", "httplib2", "httpx", "pycurl", "requests", "socket"],
    *["telnetlib", "urllib.request", "urllib3", "websockets"],
)


def find_imports(source: str) -> Iterator[str]:
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
    dotted = {f"{import_name}." for import_name in find_imports(source)}
    return {name for name in FORBIDDEN if any(import_name.startswith(f"{name}.") for import_name in dotted)}


def test_http_libraries_are_imported_only_by_the_guarded_client() -> None:
    files = [path for folder in ("apps", "backoffice") for path in (ROOT / folder).rglob("*.py")]

    imports = {path: find_forbidden_imports(path.read_text()) for path in files}

    outside = {str(path.relative_to(ROOT)): names for path, names in imports.items() if DOOR not in path.parents}
    assert {path: names for path, names in outside.items() if names and path not in LISTENING} == {}
    assert {name for path in LISTENING for name in outside[path]} == {"socket", "http.client"}
    # This proves that the scan finds imports.
    assert {"socket", "urllib3", "http.client"} <= set().union(*imports.values())


@pytest.mark.parametrize(
    "source",
    [
        *["import requests", "import urllib.request", "import os, socket as s", "from urllib import request"],
        *["from urllib.request import urlopen", "from http import client", "from http.client import HTTPSConnection"],
        *["def late():\n    import httpx", "from aiohttp.client import ClientSession", "__import__('socket')"],
        *["from urllib3.util import Retry", "import importlib\nimportlib.import_module('requests')"],
    ],
)
def test_scan_finds_every_way_to_import_a_client(source: str) -> None:
    assert find_forbidden_imports(source)


@pytest.mark.parametrize(
    "source",
    [
        *["from urllib.parse import urlsplit", "import urllib.parse", "from http import HTTPStatus"],
        *["from .requests import Request", "import socketserver_like"],
        "from apps.core.http.sync_client import send_request",
    ],
)
def test_scan_leaves_harmless_imports_alone(source: str) -> None:
    assert not find_forbidden_imports(source)
