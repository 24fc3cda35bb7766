"""Generate the examples of the API reference from real requests to the demo shop (``make examples``).

Nothing is generated without ``EXAMPLES=write``; ``test_reference.py`` checks the stored examples.
"""

import io
import json
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import transaction
from django.utils import timezone
from pytest_django import Settings
from time_machine import TimeMachineFixture

from apps.core.rest.openapi.generators import get_document
from apps.core.rest.reference.examples import EXAMPLES_PATH, Example
from apps.core.rest.versions import get_latest_version, get_served_versions
from apps.core.tenancy.models import Installation, Shop
from apps.core.tenancy.scope import shop_scope
from apps.core.types import Attrs
from apps.shops.domain import tokens
from tests.api.test_openapi import remove_texts
from tests.samples import Sample, SampleContext, load_all_samples
from tests.support.api_client import ApiClient
from tests.support.rest.routes import Route, get_all_routes
from tests.support.types import Json, JsonObject

# Almost every resource has metafields. Examples for products and the shop are enough.
OWNERS = ("products/<owner_id>/", "")
KEPT = re.compile(r"\b(\d{7,}|[0-9a-f]{32,64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b")
SECRET = re.compile(r"bk[os]_[\w-]+")


def needs_example(route: Route) -> bool:
    name = route.name.split(" ")[1]
    return "metafields" not in name or name.split("metafields")[0] in OWNERS


class Stabilizer:
    """Replaces ids and random strings with stable values, so that regenerated examples do not change."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}

    def calm(self, value: Any) -> Json:
        text = SECRET.sub("bko_…", json.dumps(value))
        return json.loads(KEPT.sub(self._replace_number, text))

    def _replace_number(self, match: re.Match[str]) -> str:
        original = match[0]
        if original not in self.known:
            number = len(self.known) + 1
            if original.isdigit():
                self.known[original] = str(1_000_000 + number)
            else:
                self.known[original] = re.sub("[0-9a-f]", lambda _: format(number % 16, "x"), original)
        return self.known[original]


class DemoShop:
    """Sends requests to the demo shop and rolls back changes. A second shop's app covers what the demo shop lacks."""

    def __init__(self, other_api: ApiClient) -> None:
        call_command("demo", json=True, stdout=io.StringIO())
        self.shop = Shop.objects.get(domain="demo-store.localhost")
        with shop_scope(self.shop):
            self.installation = Installation.objects.select_related("app", "shop").get(app__name="Demo app")
            token = tokens.issue_token(self.installation, actor="system", at=timezone.now())
        self.api, self.beside = ApiClient(token, self.installation), other_api

    def example(self, route: Route, sample: Sample, version: str) -> Example:
        """Return an example. Use the demo shop's rows if a GET request finds any, and new rows otherwise."""
        if sample.method == "get":
            with suppress(Exception):
                own_example = self._sent(self.api, route, sample, version, self._find_arguments(route))
                if isinstance(own_example["answer"], dict) and any(own_example["answer"].values()):
                    return own_example
        try:
            return self._sent(self.api, route, sample, version, None)
        except AssertionError:
            return self._sent(self.beside, route, sample, version, None)

    def _sent(
        self, api: ApiClient, route: Route, sample: Sample, version: str, arguments: JsonObject | None
    ) -> Example:
        with transaction.atomic():
            own = arguments is not None
            if arguments is None:
                with shop_scope(api.installation.shop):
                    arguments = sample.arrange(SampleContext(api.installation.shop, api.installation))
            full_path = sample.path(arguments, version)
            query = {} if own else dict(sample.query_for(arguments))
            if own and route.action in {"list", "search"}:
                query |= {"limit": "1"} | ({"query": "country:US"} if route.action == "search" else {})
            body = sample.body_for(arguments)
            text = "&".join(f"{name}={value}" for name, value in query.items())
            data = b"" if body is None else json.dumps(body).encode()
            send = api.http.generic
            response = send(sample.method.upper(), full_path, data, content_type="application/json", QUERY_STRING=text)
            transaction.set_rollback(True)
        assert response.status_code < 304, (route.name, version, response.status_code, response.content[:300])
        path = full_path.removeprefix(f"/admin/api/{version}/")
        return Example(path=path, query=text, body=body, status=response.status_code, answer=response.json())

    def _find_arguments(self, route: Route) -> Attrs:
        """Return the path arguments for the demo shop's first row."""
        names = re.findall(r"<(\w+)>", route.name)
        parents = getattr(route.view, "parents", {})
        with shop_scope(self.shop):
            if not names:
                return {}
            row = route.view.model.objects.order_by("id")[0]
            return {name: getattr(row, name if name in parents else "pk") for name in names}


def get_descriptions(version: str) -> dict[str, str]:
    """Return the full description of each operation, including referenced schemas, by operation id."""
    document = get_document(version)
    schemas = {name: json.dumps(schema, sort_keys=True) for name, schema in document["components"]["schemas"].items()}
    descriptions = {}
    for path, methods in document["paths"].items():
        for operation in methods.values():
            text = json.dumps(remove_texts(operation), sort_keys=True)
            text += "".join(schemas[name] for name in sorted(set(re.findall(r"schemas/(\w+)", text))))
            descriptions[operation["operationId"]] = text.replace(path, "").replace(version, "")
    return descriptions


def find_operation_id(route: Route, version: str) -> str | None:
    method, pattern = route.name.split(" ")
    path = re.sub(r"<(\w+)>", r"{\1}", pattern)
    below = path if path[0] == "/" else f"/admin/api/{version}/{path}"
    operation = get_document(version)["paths"].get(below, {}).get(method.lower())
    return operation["operationId"] if operation else None


@pytest.mark.skipif(os.environ.get("EXAMPLES") != "write", reason="make examples writes them")
def test_examples_are_made(
    api: ApiClient, settings: Settings, tmp_path: Path, time_machine: TimeMachineFixture
) -> None:
    settings.DATA_DIR = tmp_path
    time_machine.move_to("2026-07-15T10:00:00Z")
    store, samples, book = DemoShop(api), load_all_samples(), Stabilizer()
    current = get_descriptions(get_latest_version())
    examples: dict[str, dict[str, Example]] = {}
    failed: list[str] = []
    for version in sorted(get_served_versions(), key=lambda version: version != get_latest_version()):
        descriptions = get_descriptions(version)
        for route in get_all_routes():
            operation = find_operation_id(route, version)
            if operation is None or not needs_example(route):
                continue
            if version != get_latest_version() and descriptions[operation] == current.get(operation):
                continue
            try:
                example = store.example(route, samples[route.name], version)
                examples.setdefault(operation, {})[version] = book.calm(example)
            except Exception as error:
                failed.append(f"{version} {route.name}: {error!r:.500}")

    EXAMPLES_PATH.write_text(json.dumps(examples, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
    assert failed == []
