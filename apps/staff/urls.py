from apps.core.rest.routing import api_path, resource_paths
from apps.staff.api.users import UserViewSet

urlpatterns = [
    *resource_paths("users", UserViewSet, "list", "retrieve"),
    api_path("users/current.json", UserViewSet, get="current"),
]
