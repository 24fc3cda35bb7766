"""Reading the calling app's subscriptions."""

from enum import Enum
from typing import Annotated

import strawberry
from django.db.models import Q

from apps.graphql import registry
from apps.graphql.connections import Window, page_of
from apps.graphql.errors import refusal
from apps.graphql.ids import number_of
from apps.graphql.info import Info
from apps.graphql.scalars import URL
from apps.ground.rows import TimestampedQuerySet
from apps.query import QuerySyntaxError
from apps.query.database import QueryValueError, SearchFields
from apps.query.fields import Integer, Moment
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
    connection_of,
    find,
    shown,
)
from apps.webhooks.models import Subscription

SEARCH = SearchFields(
    fields={"id": Integer("id"), "created_at": Moment("created_at"), "updated_at": Moment("updated_at")}
)
_ORDERS = {
    WebhookSubscriptionSortKeys.CREATED_AT: ("created_at", "id"),
    WebhookSubscriptionSortKeys.ID: ("id",),
}
MAX_COUNT = 10_000


@strawberry.enum(description="Whether a count is the whole one.")
class CountPrecision(Enum):
    """Whether a count is the whole one."""

    EXACT = "exact"
    AT_LEAST = "at_least"


@strawberry.type(description="How many there are.")
class Count:
    """How many there are."""

    count: int
    precision: CountPrecision


@registry.query
@strawberry.type
class WebhookQueries:
    """What an app can read of its subscriptions; those of its configuration file are not among them."""

    @strawberry.field(description="A subscription of the calling app by its global id.")
    def webhook_subscription(self, info: Info, id: strawberry.ID) -> WebhookSubscriptionType | None:
        """One subscription; null where the app has none of that id."""
        row = find(info, number_of(id, KIND))
        return None if row is None else shown(row)

    @strawberry.field(description="The subscriptions that the calling app made for the shop.")
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
        uri: Annotated[str | None, strawberry.argument(metadata=registry.gated(since=SINCE_URI))] = None,
        callback_url: Annotated[URL | None, strawberry.argument(metadata=BY_URI)] = None,
    ) -> WebhookSubscriptionConnection:
        """A page of subscriptions."""
        rows = _searched(info, query)
        if topics is not None:
            rows = rows.filter(topic__in=[each.value for each in topics])
        if format is not None:
            rows = rows.filter(format=format.value)
        for address in (uri, callback_url):
            if address is not None:
                rows = rows.filter(uri=address)
        order = _ORDERS[sort_key or WebhookSubscriptionSortKeys.CREATED_AT]
        return connection_of(page_of(rows, order, Window(first, after, last, before, bool(reverse))))

    @strawberry.field(description="How many subscriptions the calling app made for the shop.")
    def webhook_subscriptions_count(
        self, info: Info, query: str | None = None, limit: int | None = MAX_COUNT
    ) -> Count | None:
        """How many there are, counted up to the limit."""
        most = MAX_COUNT if limit is None else limit
        if not 0 <= most <= MAX_COUNT:
            raise refusal(f"limit must be between 0 and {MAX_COUNT}")
        found = _searched(info, query)[: most + 1].count()
        precision = CountPrecision.AT_LEAST if found > most else CountPrecision.EXACT
        return Count(count=min(found, most), precision=precision)


def _searched(info: Info, query: str | None) -> TimestampedQuerySet[Subscription]:
    """The caller's subscriptions that fit a search.

    Raises:
        GraphQLError: The search is none; the message says where.
    """
    caller = info.context
    rows = subscriptions.subscriptions_of(caller.shop, caller.access.installation.app_id)
    if query is None or not query.strip():
        return rows
    try:
        fitting: Q = SEARCH.compile(SEARCH.parse(query), zone=caller.shop.tzinfo)
    except (QuerySyntaxError, QueryValueError) as error:
        raise refusal(f"Invalid search: {error}") from error
    return rows.filter(fitting)
