"""The routes of the staff."""

from apps.api.routing import route
from apps.staff.api.users import UserViewSet

urlpatterns = [
    route("users.json", UserViewSet, get="list"),
    route("users/current.json", UserViewSet, get="current"),
    route("users/<id>.json", UserViewSet, get="retrieve"),
]
