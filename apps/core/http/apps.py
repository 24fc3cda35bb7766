from django.apps import AppConfig

from apps.core.http.allowlist import get_allowed_hosts, get_refused_hosts


class OutgoingConfig(AppConfig):
    name = "apps.core.http"
    label = "outgoing"

    def ready(self) -> None:
        """Fail at startup if a host setting contains an invalid entry."""
        get_allowed_hosts()
        get_refused_hosts()
