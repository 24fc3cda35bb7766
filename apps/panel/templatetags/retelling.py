"""Texts that were stored in English, told again in the reader's language; a built-in of every template."""

from django import template

from apps.ground.languages import lowered
from apps.ground.retelling import renamed, retold

register = template.Library()
register.filter("retold", lambda text: retold(str(text)), is_safe=False)
register.filter("lowered", lambda text: lowered(str(text)), is_safe=False)
register.filter("renamed", lambda text: renamed(str(text)), is_safe=False)
