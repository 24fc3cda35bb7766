"""The GraphQL route."""

from apps.api.openapi.changelog import Features, register_source
from apps.api.routing import api_path
from apps.graphql.views import GraphqlView


def _list_schema_features(version: str) -> Features:
    # Import the schema late. The import is slow, and only the changelog needs the schema here.
    from apps.graphql.changelog import list_schema_features

    return list_schema_features(version)


register_source(_list_schema_features)

urlpatterns = [api_path("graphql.json", GraphqlView, post="execute")]
