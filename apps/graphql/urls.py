"""The route of GraphQL."""

from apps.api.routing import route
from apps.graphql.views import GraphqlView

urlpatterns = [route("graphql.json", GraphqlView, post="execute")]
