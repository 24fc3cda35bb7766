"""GraphQL queries for the webhook subscriptions of the calling app."""

from enum import Enum
from typing import Annotated

import strawberry
from django.db.models import Q

from apps.core.graphql import registry
from apps.core.graphql.errors import graphql_error
from apps.core.graphql.types import URL, ConnectionArguments, Info, parse_number_of_type, read_connection_page
from apps.core.models import TimestampedQuerySet
from apps.core.search_query import QuerySyntaxError
from apps.core.search_query.database import QueryValueError, SearchFields
from apps.core.search_query.fields import Integer, Timestamp
from apps.webhooks.domain import subscriptions
from apps.webhooks.graphql.types import (
    BY_URI,
    KIND,
    SINCE_URI,
    WebhookSubscriptionConnection,
    WebhookSubscriptionFormat,
    WebhookSubscriptionSortKeys,
    WebhookSubscriptionTopic,
    WebhookSubscriptionType,
    find_subscription,
    to_connection,
    to_subscription_type,
)
from apps.webhooks.models import Subscription

SEARCH = SearchFields(
    fields={"id": Integer("id"), "created_at": Timestamp("created_at"), "updated_at": Timestamp("updated_at")}
)
_SORT_COLUMNS = {
    WebhookSubscriptionSortKeys.CREATED_AT: ("created_at", "id"),
    WebhookSubscriptionSortKeys.ID: ("id",),
}
MAX_COUNT = 10_000


@strawberry.enum(description="The precision of a count.")
class CountPrecision(Enum):
    EXACT = "exact"
    AT_LEAST = "at_least"


@strawberry.type(description="A number of rows.")
class Count:
    count: int
    precision: CountPrecision


@registry.queries.add
@strawberry.type
class WebhookQueries:
    """Queries for the subscriptions that the calling app created, except subscriptions from a configuration file."""

    @strawberry.field(description="A webhook subscription of the calling app, by global ID.")
    def webhook_subscription(self, info: Info, id: strawberry.ID) -> WebhookSubscriptionType | None:
        row = find_subscription(info, parse_number_of_type(id, KIND))
        return None if row is None else to_subscription_type(row)

    @strawberry.field(description="The webhook subscriptions that the calling app created for the shop.")
    def webhook_subscriptions(
        self,
        info: Info,
        *,
        first: int | None = None,
        after: str | None = None,
        last: int | None = None,
        before: str | None = None,
        reverse: bool | None = False,
        sort_key: WebhookSubscriptionSortKeys | None = WebhookSubscriptionSortKeys.CREATED_AT,
        query: str | None = None,
        topics: list[WebhookSubscriptionTopic] | None = None,
        format: WebhookSubscriptionFormat | None = None,
        uri: Annotated[str | None, strawberry.argument(metadata=registry.version_metadata(since=SINCE_URI))] = None,
        callback_url: Annotated[URL | None, strawberry.argument(metadata=BY_URI)] = None,
    ) -> WebhookSubscriptionConnection:
        rows = _search_subscriptions(info, query)
        if topics is not None:
            rows = rows.filter(topic__in=[topic.value for topic in topics])
        if format is not None:
            rows = rows.filter(format=format.value)
        for address in (uri, callback_url):
            if address is not None:
                rows = rows.filter(uri=address)
        order = _SORT_COLUMNS[sort_key or WebhookSubscriptionSortKeys.CREATED_AT]
        return to_connection(
            read_connection_page(rows, order, ConnectionArguments(first, after, last, before, bool(reverse)))
        )

    @strawberry.field(description="The number of webhook subscriptions that the calling app created for the shop.")
    def webhook_subscriptions_count(
        self, info: Info, query: str | None = None, limit: int | None = MAX_COUNT
    ) -> Count | None:
        maximum = MAX_COUNT if limit is None else limit
        if not 0 <= maximum <= MAX_COUNT:
            raise graphql_error(f"limit must be between 0 and {MAX_COUNT}")
        count = _search_subscriptions(info, query)[: maximum + 1].count()
        precision = CountPrecision.AT_LEAST if count > maximum else CountPrecision.EXACT
        return Count(count=min(count, maximum), precision=precision)


def _search_subscriptions(info: Info, query: str | None) -> TimestampedQuerySet[Subscription]:
    """Return the caller's subscriptions that match a search query. An invalid query raises ``GraphQLError``."""
    caller = info.context
    rows = subscriptions.get_api_subscriptions(caller.shop, caller.access.installation.app_id)
    if query is None or not query.strip():
        return rows
    try:
        condition: Q = SEARCH.compile(SEARCH.parse(query), zone=caller.shop.tzinfo)
    except (QuerySyntaxError, QueryValueError) as error:
        raise graphql_error(f"Invalid search: {error}") from error
    return rows.filter(condition)
