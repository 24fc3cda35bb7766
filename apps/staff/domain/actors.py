"""Who did it: the names behind ``staff:17``, ``app:4`` and ``system``."""

from apps.shops.models import App
from apps.staff.models import User


def actor_of(user: User) -> str:
    """How a staff member is named in the audit trail, e.g. ``staff:17``."""
    return f"staff:{user.pk}"


def name_of(actor: str) -> str:
    """One actor's name; a list asks ``names_of``, which takes two queries for all."""
    return names_of([actor])[actor]


def names_of(actors: list[str]) -> dict[str, str]:
    """The names of actors by actor; unknown ones as they are."""
    wanted: dict[str, set[int]] = {"staff": set(), "app": set()}
    for actor in actors:
        kind, _, number = actor.partition(":")
        if kind in wanted and number.isdecimal():
            wanted[kind].add(int(number))
    names = {actor: actor for actor in actors}
    names |= {"system": "Backoffice"} if "system" in names else {}
    if wanted["staff"]:
        names |= {actor_of(user): str(user) for user in User.objects.filter(pk__in=wanted["staff"])}
    if wanted["app"]:
        names |= {f"app:{app.pk}": f"{app.name} (app)" for app in App.objects.filter(pk__in=wanted["app"])}
    return names
