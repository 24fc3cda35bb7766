from apps.audit_log.api.events import EventViewSet, create_timeline_viewset
from apps.core.events.timelines import timelines
from apps.core.rest.routing import api_path, resource_paths

urlpatterns = [
    *resource_paths("events", EventViewSet, "list", "count", "retrieve"),
    *(
        api_path(f"{timeline.plural}/<{timeline.argument}>/events.json", create_timeline_viewset(timeline), get="list")
        for timeline in timelines.values()
    ),
]
