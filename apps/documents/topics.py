"""Audit log topics for documents. They have no scope, so no app can subscribe to them."""

from django.utils.translation import gettext_noop

from apps.core.events.topics import Topic, topics
from apps.documents.domain import issue, settings

for name, label in {
    issue.ISSUED: gettext_noop("Document issued"),
    issue.CANCELLED: gettext_noop("Invoice canceled"),
    settings.CHANGED: gettext_noop("Document settings changed"),
}.items():
    topics.add(Topic(name=name, render=lambda row, version: {"id": row.pk}, label=label))
