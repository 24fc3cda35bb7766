"""Messages of events that several apps record."""

from apps.core.i18n.messages import define_message

DUPLICATED = define_message("events.duplicated", "Duplicated from {name}")
