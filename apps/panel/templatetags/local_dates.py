"""Dates in the order of the reader's language; a built-in of every template, in place of Django's filter."""

from datetime import date, datetime

from django import template
from django.template.defaultfilters import date as formatted
from django.utils.translation import pgettext

register = template.Library()


@register.filter(name="date", expects_localtime=True, is_safe=False)
def local_date(value: date | datetime | str | None, arg: str | None = None) -> str:
    """Django's, in the language's own form of the format."""
    return str(formatted(value, pgettext("date format", arg) if arg else arg))
