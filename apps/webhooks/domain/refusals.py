"""Why a subscription is refused: per field, in the words that clients of the interface know.

A message follows the name of its field ("Address" + "can't be blank"), as REST shows it; ``full_message`` is the whole
sentence, as GraphQL's ``userErrors`` show it. What begins with a capital letter is a sentence already.
"""

from apps.ground.errors import DomainError

LABELS = {
    "topic": "Topic",
    "uri": "Address",
    "format": "Format",
    "filter": "Filter",
    "include_fields": "Include fields",
    "metafield_namespaces": "Metafield namespaces",
    "metafields": "Metafields",
    "private_metafield_namespaces": "Private metafield namespaces",
    "name": "Name",
    "api_version": "Api version",
    "ordered": "Ordered",
    "max_in_flight": "Max in flight",
    "max_per_second": "Max per second",
    "id": "Webhook subscription",
}
NO_SUCH_SUBSCRIPTION = "Webhook subscription does not exist"


class SubscriptionRefused(DomainError):
    """A subscription cannot be so; ``errors`` are by the service's names of fields."""

    code = "subscription_refused"

    @property
    def full_messages(self) -> list[tuple[str, str]]:
        """Each field with each sentence."""
        return [(field, full_message(field, text)) for field, texts in self.errors.items() for text in texts]


class ScopeNeeded(DomainError):
    """The app was not granted the scope of the topic."""

    code = "scope_needed"
    field = "topic"
    status = 403

    def __init__(self, scope: str) -> None:
        """Name the scope that is missing."""
        super().__init__(f"needs the {scope} scope")
        self.scope = scope


def full_message(field: str, message: str) -> str:
    """A message with the name of its field before it."""
    return message if message[:1].isupper() else f"{LABELS.get(field, field.capitalize())} {message}"
