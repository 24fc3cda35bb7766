"""Two shops with the same data, and a look at everything that is stored."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.db.models import Model

from apps.ground.tenancy import shop_scope
from apps.shops.models import Shop
from tests import factories
from tests.conftest import ApiClient, Response
from tests.samples import Sample, World

UNRELATED = {"sessions.Session", "contenttypes.ContentType", "auth.Permission"}
# Asking notes when the token was used, whatever is answered.
NOTED = {"AccessToken.last_used_at", "AccessToken.updated_at"}


@cache
def _statement() -> str:
    """One query for all tables: the name of each, how many rows it has, and what these say."""
    quote = connection.ops.quote_name

    def contents(model: type[Model]) -> str:
        fields = [field for field in model._meta.concrete_fields if f"{model.__name__}.{field.name}" not in NOTED]
        columns = [quote(field.column) for field in fields if field.column]
        if connection.vendor == "postgresql":
            said = f"string_agg(ROW({','.join(columns)})::text, ',')"
        else:
            said = f"group_concat({'||'.join(f'quote({column})' for column in columns)})"
        return f"SELECT '{model._meta.label}', count(*), {said} FROM {quote(model._meta.db_table)}"

    models = (model for model in apps.get_models() if model._meta.managed and model._meta.label not in UNRELATED)
    return " UNION ALL ".join(map(contents, models))


def everything_stored() -> dict[str, tuple[int, str]]:
    """Of each table how many rows it has, and all that they say."""
    with connection.cursor() as cursor:
        cursor.execute(_statement())
        return {label: (count, said) for label, count, said in cursor.fetchall()}


class Arranged:
    """A sample in its world: the rows it needs exist, and requests can be sent."""

    def __init__(self, sample: Sample, api: ApiClient, shop: Shop) -> None:
        self.sample = sample
        self.api = api
        with shop_scope(shop):
            self.arguments = sample.arrange(World(shop, api.installation))

    def send(self, client: ApiClient | None = None, **changes: Any) -> Response:
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
    """``with unchanged():`` nothing is stored, changed, deleted or recorded meanwhile."""

    @contextmanager
    def check(*about: object, besides: Collection[str] = ()) -> Iterator[None]:
        before = everything_stored()
        yield
        after = everything_stored()
        assert [table for table in before if before[table] != after[table] and table not in besides] == [], about

    return check
