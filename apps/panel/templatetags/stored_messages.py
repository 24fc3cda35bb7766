"""Template filters that translate strings stored in English. Templates can use the filters without ``{% load %}``."""

from django import template

from apps.ground.languages import lowercase_label
from apps.ground.stored_messages import translate_label, translate_stored

register = template.Library()
register.filter("retold", lambda text: translate_stored(str(text)), is_safe=False)
register.filter("lowered", lambda text: lowercase_label(str(text)), is_safe=False)
register.filter("renamed", lambda text: translate_label(str(text)), is_safe=False)
