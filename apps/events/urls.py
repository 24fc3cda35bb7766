"""REST routes for the events of a shop and for the timelines of objects.

Import this module only after all apps have registered their timelines.
"""

from apps.api.routing import api_path
from apps.events.api.events import EventViewSet, create_timeline_viewset
from apps.events.domain.timelines import get_all_timelines

urlpatterns = [
    api_path("events.json", EventViewSet, get="list"),
    api_path("events/count.json", EventViewSet, get="count"),
    api_path("events/<id>.json", EventViewSet, get="retrieve"),
    *(
        api_path(f"{timeline.plural}/<{timeline.argument}>/events.json", create_timeline_viewset(timeline), get="list")
        for timeline in get_all_timelines()
    ),
]
