from apps.core.rest.routing import api_path
from apps.staff.api.users import UserViewSet

urlpatterns = [
    api_path("users.json", UserViewSet, get="list"),
    api_path("users/current.json", UserViewSet, get="current"),
    api_path("users/<id>.json", UserViewSet, get="retrieve"),
]
