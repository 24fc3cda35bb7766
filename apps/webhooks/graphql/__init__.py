"""GraphQL types, queries and mutations of webhooks; ``apps.graphql`` imports them when it builds the schema."""

from apps.webhooks.graphql import mutations, queries

__all__ = ["mutations", "queries"]
