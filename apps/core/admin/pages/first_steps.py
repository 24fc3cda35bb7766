"""The first steps of a new shop, which its home page offers until one of them was taken.

Apps register ``first_steps`` in their ``admin`` module.
"""

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter

from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django_stubs_ext import StrOrPromise

from apps.core.admin.permissions import has_permission
from apps.core.registry import Registry


@dataclass(frozen=True, slots=True)
class FirstStep:
    """A way to get data into a new shop, for users with ``permission``. Once it has been used, there are ``rows``."""

    view: str
    title: StrOrPromise
    note: StrOrPromise
    icon: str
    permission: str
    rows: Callable[[], QuerySet[Model]]
    order: int = 50


first_steps = Registry[str, FirstStep]("first steps on the home page", get_key=attrgetter("view"))


def get_first_steps(request: HttpRequest) -> list[tuple[FirstStep, str]]:
    """Return the user's first steps with their URLs, or an empty list if one of them was taken."""
    steps = sorted(first_steps.values(), key=attrgetter("order"))
    offered = [(step, reverse(f"admin:{step.view}")) for step in steps if has_permission(request, step.permission)]
    return [] if not offered or any(step.rows().exists() for step in steps) else offered
