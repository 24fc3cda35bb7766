"""The GraphQL face of webhooks: found by ``apps.graphql`` when the first schema is made."""

from apps.webhooks.graphql import mutations, queries

__all__ = ["mutations", "queries"]
