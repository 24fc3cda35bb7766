"""The routes of events: of a shop, and of each row that has a timeline.

Imported once every domain has registered its timelines.
"""

from apps.api.routing import route
from apps.events.api.events import EventViewSet, timeline_viewset
from apps.events.domain.timelines import all_timelines

urlpatterns = [
    route("events.json", EventViewSet, get="list"),
    route("events/count.json", EventViewSet, get="count"),
    route("events/<id>.json", EventViewSet, get="retrieve"),
    *(
        route(f"{each.plural}/<{each.argument}>/events.json", timeline_viewset(each), get="list")
        for each in all_timelines()
    ),
]
