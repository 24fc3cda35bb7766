"""Template filters for messages and labels. Templates can use the filters without ``{% load %}``."""

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext as _

from apps.core.events.timelines import get_topic_label
from apps.core.i18n.formats import lowercase_label
from apps.core.i18n.messages import translate

# Longer values are folded.
_MAX_VALUE_LENGTH = 140

register = template.Library()
register.filter("translated", translate, is_safe=False)
register.filter("lowered", lambda text: lowercase_label(str(text)), is_safe=False)
register.filter("topic_label", get_topic_label, is_safe=False)


@register.filter(is_safe=False)
def fold_long(text: str) -> str | SafeString:
    """Return a text, folded to its beginning if it is long."""
    if len(text) <= _MAX_VALUE_LENGTH:
        return text
    return format_html(
        '<details class="bo-long-text"><summary><span class="bo-when-closed">{} <span class="bo-show">{}</span></span>'
        '<span class="bo-when-open bo-show">{}</span></summary> {}</details>',
        Truncator(text).chars(_MAX_VALUE_LENGTH - 20),
        _("Show all"),
        _("Show less"),
        text,
    )
