"""Tests for every field with a URL that the server fetches, with every spelling of a forbidden address.

See check W1 in docs/reliability.md.
"""

import ast
from collections.abc import Callable
from pathlib import Path

import pytest
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from apps.content.domain import script_loader, themes
from apps.content.models import Theme
from apps.fulfillment.domain import service_polling
from apps.fulfillment.models import FulfillmentService, Pull, PullAttempt
from apps.ground.tenancy import shop_scope
from apps.jobs.domain import queue as jobs
from apps.jobs.models import Job
from apps.shops.models import Shop
from tests.catalog.factories import make_product
from tests.conftest import ApiClient, Response
from tests.content.factories import make_blog
from tests.factories import ScriptTagFactory
from tests.fulfillment.factories import make_service

from .servers import SilentServer
from .test_ssrf_guard import PRIVATE_HOSTS

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
            with pytest.raises(script_loader.ScriptUnavailable) as error_info:
                script_loader.get_cached_script(tag, at=timezone.now())
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
            key = service_polling.pull_now(service, Pull.Kind.STOCK, at=timezone.now()).key
        jobs.run_job(key)
        with shop_scope(shop):
            return PullAttempt.objects.order_by("-id")[0].message

    return attempt


# For each module that fetches URLs, a function for each field.
WAYS: dict[str, tuple[Callable[[ApiClient, Shop], Try], ...]] = {
    "media/uploads.py": (
        try_product_image,
        try_product_with_images,
        try_custom_collection,
        try_smart_collection,
        try_article,
    ),
    "content/domain/assets.py": (try_asset,),
    "content/domain/theme_extraction.py": (try_theme, try_theme_in_worker),
    "content/domain/script_loader.py": (try_script_copy,),
    "fulfillment/domain/service_polling.py": (try_callback, try_pull_in_worker),
    # This app only calls the installation that it was started for.
    "fulfillment/demo_warehouse/api_client.py": (),
}


@pytest.mark.parametrize("make_attempt", [way for ways in WAYS.values() for way in ways], ids=lambda way: way.__name__)
def test_no_field_leads_to_a_private_address(
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
        if not path.is_relative_to(root / "outgoing") and _imports_the_client(path)
    }

    assert calling == set(WAYS)


def _imports_the_client(path: Path) -> bool:
    functions = {"download_file", "send_request"}
    return any(
        isinstance(node, ast.ImportFrom)
        and node.module == "apps.outgoing.sync_client"
        and functions & {alias.name for alias in node.names}
        for node in ast.walk(ast.parse(path.read_text()))
    )
