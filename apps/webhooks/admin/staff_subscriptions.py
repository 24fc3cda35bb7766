"""The form for webhook subscriptions that staff add and edit."""

import re
from collections.abc import Iterator

from django import forms
from django.conf import settings
from django.http import Http404, QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.core.admin.forms.error_display import SentenceErrorList
from apps.core.admin.forms.forms import Values
from apps.core.admin.staff_request import Context
from apps.core.http.ssrf_guard import URL_MAX_LENGTH
from apps.core.i18n.messages import translate
from apps.webhooks.domain import topics
from apps.webhooks.domain.topic_examples import get_section_title
from apps.webhooks.models import Subscription

# The fields that staff can change later. The topic of a subscription never changes.
EDITABLE_FIELDS = ("uri", "format", "include_fields", "filter", "api_version")
# Only formats that the topics support.
_FORMATS = [(Subscription.Format.JSON.value, Subscription.Format.JSON.label)]


class SubscriptionForm(forms.Form):
    topic = forms.ChoiceField(
        label=gettext_lazy("Topic"),
        widget=forms.RadioSelect,
        help_text=gettext_lazy("The event that sends the webhook."),
    )
    uri = forms.CharField(
        label=gettext_lazy("Address"),
        max_length=URL_MAX_LENGTH,
        widget=forms.TextInput(attrs={"inputmode": "url", "spellcheck": "false", "autocomplete": "off"}),
        help_text=gettext_lazy("The URL that receives the webhook. It begins with https://."),
    )
    format = forms.ChoiceField(label=gettext_lazy("Format"), choices=_FORMATS)
    include_fields = forms.CharField(
        required=False,
        label=gettext_lazy("Fields"),
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
        help_text=gettext_lazy("One field per line, for example id or customer.email. Leave blank to send all fields."),
    )
    filter = forms.CharField(
        required=False,
        label=gettext_lazy("Event filter"),
        widget=forms.TextInput(attrs={"spellcheck": "false", "autocomplete": "off"}),
        help_text=gettext_lazy("Only events that match are sent, for example total_price:>=100. Leave blank for all."),
    )
    api_version = forms.ChoiceField(
        label=gettext_lazy("API version"),
        choices=[
            *((version, version) for version in reversed(settings.API_VERSIONS)),
            ("unstable", gettext_lazy("unstable, which can change at any time")),
        ],
        help_text=gettext_lazy("The version that defines the fields."),
    )

    def __init__(self, data: QueryDict | None = None, *, subscription: Subscription | None = None) -> None:
        super().__init__(data, error_class=SentenceErrorList)
        self.subscription = subscription
        if subscription is None:
            topic = self.fields["topic"]
            assert isinstance(topic, forms.ChoiceField)
            topic.choices = list(_build_topic_choices())
            return
        del self.fields["topic"]
        self.initial = {name: getattr(subscription, name) for name in EDITABLE_FIELDS}
        self.initial["include_fields"] = "\n".join(subscription.include_fields)

    def clean_include_fields(self) -> list[str]:
        return [name for name in re.split(r"[\s,]+", self.cleaned_data["include_fields"]) if name]

    @property
    def topic_groups(self) -> list[tuple[str, list[Context]]]:
        """Return the topics of each section, with ``value``, ``label`` and ``selected``."""
        field = self["topic"]
        groups = field.field.widget.optgroups(field.html_name, [field.value() or ""])
        return [(name, options) for name, options, _index in groups]

    @property
    def values(self) -> Values:
        """Return the values for the service. Only changed values of an existing subscription are included.

        Otherwise each save would resume a disabled subscription, because a value for the address resumes it.
        """
        names = [name for name in self.fields if name in self.cleaned_data]
        return {
            name: self.cleaned_data[name]
            for name in names
            if self.subscription is None or self.cleaned_data[name] != getattr(self.subscription, name)
        }


def get_displayed_values(subscription: Subscription) -> list[object]:
    return [getattr(subscription, name) for name in EDITABLE_FIELDS]


def require_staff_subscription(subscription: Subscription) -> None:
    """Raise ``Http404`` for a subscription of an app, because each app manages its own subscriptions."""
    if not subscription.app.is_shop_app:
        raise Http404(_("This webhook belongs to an app. Only the app can change it."))


def _build_topic_choices() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield the topics in plain words with their codes, grouped by section."""
    sections: dict[str, list[tuple[str, str]]] = {}
    offered = [topic for topic in topics.get_offered_topics() if topics.is_for_staff(topic.name)]
    for topic in offered:
        sections.setdefault(_(get_section_title(topic.name)), []).append((topic.name, translate(topic.label)))
    yield from sorted(sections.items())
