"""Two shops with the same data, and a look at everything that is stored."""

from typing import Any

import pytest
from django.apps import apps

from apps.ground.tenancy import every_shop, shop_scope
from apps.shops.models import Shop
from tests import factories
from tests.conftest import ApiClient
from tests.samples import Sample, World

UNRELATED = {"sessions.Session", "contenttypes.ContentType", "auth.Permission"}


def row_counts() -> dict[str, int]:
    """How many rows each table has."""
    with every_shop():
        return {
            model._meta.label: model._base_manager.count()
            for model in apps.get_models()
            if model._meta.managed and model._meta.label not in UNRELATED
        }


class Arranged:
    """A sample in its world: the rows it needs exist, and requests can be sent."""

    def __init__(self, sample: Sample, api: ApiClient, shop: Shop) -> None:
        self.sample = sample
        self.api = api
        with shop_scope(shop):
            self.arguments = sample.arrange(World(shop, api.installation))

    def send(self, client: ApiClient | None = None, **changes: Any) -> Any:
        """Send the sample, or a variation of it."""
        http = (client or self.api).http
        path = changes.pop("path", self.sample.path(self.arguments))
        body = changes.pop("body", self.sample.body_for(self.arguments))
        if self.sample.method == "get":
            return http.get(path, {**self.sample.query_for(self.arguments), **changes.pop("query", {})}, **changes)
        data = body if isinstance(body, bytes) else b"" if body is None else factories.to_json(body)
        kind = changes.pop("content_type", "application/json")
        query = "&".join(f"{k}={v}" for k, v in self.sample.query_for(self.arguments).items())
        method = self.sample.method.upper()
        return http.generic(method, path, data, content_type=kind, QUERY_STRING=query, **changes)


@pytest.fixture
def arranged(api: ApiClient, shop: Shop) -> Any:
    """``arranged(sample)``: the sample with its rows."""
    return lambda sample: Arranged(sample, api, shop)


@pytest.fixture
def unchanged() -> Any:
    """``with unchanged():`` nothing is stored, deleted or recorded meanwhile."""
    from contextlib import contextmanager

    @contextmanager
    def check() -> Any:
        before = row_counts()
        yield
        after = row_counts()
        assert after == before

    return check
