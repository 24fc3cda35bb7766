"""Audit log topics for gift cards. They have no scope, so no app can subscribe to them."""

from django.utils.translation import gettext_noop

from apps.core.events.topics import Topic, topics
from apps.gift_cards.domain import delivery, gift_cards, ledger

for name, label in {
    gift_cards.CREATED: gettext_noop("Gift card created"),
    gift_cards.UPDATED: gettext_noop("Gift card changed"),
    gift_cards.CODE_SET: gettext_noop("Gift card code set"),
    gift_cards.DISABLED: gettext_noop("Gift card disabled"),
    ledger.ADJUSTED: gettext_noop("Gift card balance adjusted"),
    delivery.SENT: gettext_noop("Code sent to the recipient by email"),
    delivery.NOT_SENT: gettext_noop("The email with the code could not be sent"),
}.items():
    topics.add(Topic(name=name, render=lambda row, version: {"id": row.pk}, label=label))
