"""Error messages for webhook subscriptions, keyed by field, in the wording that API clients rely on.

As in REST, a message is a phrase that follows the label of the field ("Address" + "can't be blank").
``get_full_message`` returns the full sentence, as in GraphQL's ``userErrors``. A message that begins with a capital
letter is already a full sentence.
"""

from apps.core.exceptions import DomainError

FIELD_LABELS = {
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
NO_SUCH_DELIVERY = "Webhook delivery does not exist"


class SubscriptionRefused(DomainError):
    """Raised when values of a subscription are invalid. The keys of ``errors`` are names of ``Subscription`` fields."""

    @property
    def full_messages(self) -> list[tuple[str, str]]:
        """Return pairs of a field and an error message that is a full sentence."""
        return [(field, get_full_message(field, text)) for field, texts in self.errors.items() for text in texts]


class TopicScopeMissing(DomainError):
    field = "topic"
    status = 403

    def __init__(self, scope: str) -> None:
        super().__init__(f"needs the {scope} scope")
        self.scope = scope


def get_full_message(field: str, message: str) -> str:
    return message if message[:1].isupper() else f"{FIELD_LABELS.get(field, field.capitalize())} {message}"
