"""Texts that were stored in English, told again in the reader's language; a built-in of every template."""

from django import template

from apps.ground.retelling import retold

register = template.Library()
register.filter("retold", lambda text: retold(str(text)), is_safe=False)
