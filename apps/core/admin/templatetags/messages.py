"""Template filters for messages and labels. Templates can use the filters without ``{% load %}``."""

from django import template

from apps.core.events.timelines import get_topic_label
from apps.core.i18n.formats import lowercase_label
from apps.core.i18n.messages import translate

register = template.Library()
register.filter("translated", translate, is_safe=False)
register.filter("lowered", lambda text: lowercase_label(str(text)), is_safe=False)
register.filter("topic_label", get_topic_label, is_safe=False)
