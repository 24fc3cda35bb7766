"""GraphQL types, queries and mutations for webhook subscriptions. ``apps.graphql`` imports them to build its schema."""

from apps.webhooks.graphql import mutations, queries

__all__ = ["mutations", "queries"]
