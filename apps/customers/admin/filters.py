"""By what the list of customers is narrowed besides their states."""

from django.utils.translation import gettext_lazy

from apps.panel.screens.typed_filters import DaysFilter


class SinceFilter(DaysFilter):
    """By the day on which the customer became known."""

    title = gettext_lazy("creation")
    parameter_name = "created"
    field = "created_at"
