from datetime import datetime, timedelta

from django.http import HttpResponse
from rest_framework.request import Request

from apps.core.rest.models import DeprecatedCall
from apps.core.rest.requests.deprecations import REASONS, Deprecation
from apps.core.rest.viewsets import ApiView
from apps.core.types import Attrs

PERIOD = timedelta(days=30)
_MOMENT = {"type": "string", "format": "date-time"}
_TEXT = {"type": "string"}
_CALL = {
    "api_type": _TEXT,
    "description": _TEXT,
    "documentation_url": _TEXT,
    "endpoint": _TEXT,
    "last_call_at": _MOMENT,
    "migration_deadline": {"type": "null"},
    "graphql_schema_name": {"type": "null"},
    "version": _TEXT,
}


class DeprecatedCallView(ApiView):
    """``GET /deprecated_api_calls.json``: the deprecated routes that the calling app used in the last 30 days."""

    plural = "deprecated_api_calls"
    responses = {
        "list": {
            "type": "object",
            "required": ["data_updated_at", "deprecated_api_calls"],
            "properties": {
                "data_updated_at": _MOMENT,
                "deprecated_api_calls": {
                    "type": "array",
                    "items": {"type": "object", "required": [*_CALL], "properties": _CALL},
                },
            },
        }
    }

    def list(self, request: Request) -> HttpResponse:
        """Return each deprecated route that the app called in the last 30 days, with the time of the last call."""
        rows = DeprecatedCall.objects.filter(
            installation_id=self.access.installation.pk, last_call_at__gte=self.at - PERIOD, anchor__in=REASONS
        ).order_by("-last_call_at", "pk")
        calls = [self._render(row) for row in rows]
        return self.json_response({"data_updated_at": self._format(self.at), "deprecated_api_calls": calls})

    def _render(self, row: DeprecatedCall) -> Attrs:
        title, text = REASONS[row.anchor]
        return {
            "api_type": "REST",
            "description": f"{title}: {text}",
            "documentation_url": Deprecation(row.anchor).url,
            "endpoint": row.endpoint,
            "last_call_at": self._format(row.last_call_at),
            # No date is set on which a route will be removed.
            "migration_deadline": None,
            "graphql_schema_name": None,
            "version": row.version,
        }

    def _format(self, moment: datetime) -> str:
        return moment.astimezone(self.context.tz).isoformat(timespec="seconds")
