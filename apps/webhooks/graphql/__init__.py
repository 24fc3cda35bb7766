"""GraphQL types, queries and mutations for webhook subscriptions. ``apps.core.graphql`` autodiscovers this package."""

from apps.webhooks.graphql import mutations, queries

__all__ = ["mutations", "queries"]
