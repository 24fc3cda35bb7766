"""The app's entry in Django."""

from django.apps import AppConfig

from apps.outgoing.host_lists import allowed_hosts, refused_hosts


class OutgoingConfig(AppConfig):
    """Guarded outgoing HTTP."""

    name = "apps.outgoing"
    label = "outgoing"

    def ready(self) -> None:
        """Stop the start where an entry of the host settings cannot be understood."""
        allowed_hosts()
        refused_hosts()
