"""Fixtures for the generated API tests: sample requests, the rows that they need, and database snapshots."""

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
from tests.samples import Sample, SampleContext

UNRELATED = {"sessions.Session", "contenttypes.ContentType", "auth.Permission"}
# Even a failed request updates the token's last use.
ALWAYS_UPDATED = {"AccessToken.last_used_at", "AccessToken.updated_at"}


@cache
def _build_snapshot_query() -> str:
    """Return one query that selects the name, row count and contents of every table."""
    quote = connection.ops.quote_name

    def contents(model: type[Model]) -> str:
        fields = [
            field for field in model._meta.concrete_fields if f"{model.__name__}.{field.name}" not in ALWAYS_UPDATED
        ]
        columns = [quote(field.column) for field in fields if field.column]
        if connection.vendor == "postgresql":
            contents_sql = f"string_agg(ROW({','.join(columns)})::text, ',')"
        else:
            contents_sql = f"group_concat({'||'.join(f'quote({column})' for column in columns)})"
        return f"SELECT '{model._meta.label}', count(*), {contents_sql} FROM {quote(model._meta.db_table)}"

    models = (model for model in apps.get_models() if model._meta.managed and model._meta.label not in UNRELATED)
    return " UNION ALL ".join(map(contents, models))


def snapshot_database() -> dict[str, tuple[int, str]]:
    """Return the row count and the contents of each table."""
    with connection.cursor() as cursor:
        cursor.execute(_build_snapshot_query())
        return {label: (count, contents) for label, count, contents in cursor.fetchall()}


class PreparedRequest:
    """A sample request with the rows that it needs."""

    def __init__(self, sample: Sample, api: ApiClient, shop: Shop) -> None:
        self.sample = sample
        self.api = api
        with shop_scope(shop):
            self.arguments = sample.arrange(SampleContext(shop, api.installation))

    def send(self, client: ApiClient | None = None, **changes: Any) -> Response:
        """Send the sample request, with changes such as another path or body."""
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
def prepare_request(api: ApiClient, shop: Shop) -> Any:
    """Return a function that prepares a sample request: ``prepare_request(sample)``."""
    return lambda sample: PreparedRequest(sample, api, shop)


@pytest.fixture
def assert_database_unchanged() -> Any:
    """Return a context manager that fails if its block adds, changes or deletes rows or events."""

    @contextmanager
    def check(*about: object, ignored_tables: Collection[str] = ()) -> Iterator[None]:
        before = snapshot_database()
        yield
        after = snapshot_database()
        assert [table for table in before if before[table] != after[table] and table not in ignored_tables] == [], about

    return check
