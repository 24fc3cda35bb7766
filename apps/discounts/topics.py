"""Audit log topics for price rules and codes. They have no scope, so no app can subscribe to them."""

from django.utils.translation import gettext_noop

from apps.core.events.topics import Topic, topics
from apps.discounts.domain import batches, codes, price_rules

for name, label in {
    price_rules.CREATED: gettext_noop("Discount created"),
    price_rules.UPDATED: gettext_noop("Discount changed"),
    price_rules.DELETED: gettext_noop("Discount deleted"),
    batches.CREATED: gettext_noop("Batch of discount codes created"),
    codes.CREATED: gettext_noop("Discount code created"),
    codes.UPDATED: gettext_noop("Discount code changed"),
    codes.DELETED: gettext_noop("Discount code deleted"),
}.items():
    topics.add(Topic(name=name, render=lambda row, version: {"id": row.pk}, label=label))
