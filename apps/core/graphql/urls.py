from apps.core.graphql.views import GraphqlView
from apps.core.rest.routing import api_path

urlpatterns = [api_path("graphql.json", GraphqlView, post="execute")]
