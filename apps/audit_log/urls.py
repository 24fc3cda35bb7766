from apps.audit_log.api.events import EventViewSet, create_timeline_viewset
from apps.core.events.timelines import timelines
from apps.core.rest.routing import api_path

urlpatterns = [
    api_path("events.json", EventViewSet, get="list"),
    api_path("events/count.json", EventViewSet, get="count"),
    api_path("events/<id>.json", EventViewSet, get="retrieve"),
    *(
        api_path(f"{timeline.plural}/<{timeline.argument}>/events.json", create_timeline_viewset(timeline), get="list")
        for timeline in timelines.values()
    ),
]
