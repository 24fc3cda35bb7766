"""The GraphQL schema as a source of the API changelog."""

from apps.core.rest.openapi.changelog import Features, feature_sources


@feature_sources.register("GraphQL")
def _list_schema_features(version: str) -> Features:
    # Import the schema late. The import is slow, and only the changelog needs the schema here.
    from apps.core.graphql.schema import list_schema_features

    return list_schema_features(version)
