"""Resolve actors such as ``staff:17``, ``app:4`` and ``system`` to names."""

from apps.core.tenancy.models import App, User


def get_staff_actor(user: User) -> str:
    """Return the actor of a staff member for the audit log, e.g. ``staff:17``."""
    return f"staff:{user.pk}"


def get_actor_id(actor: str, kind: str) -> int | None:
    """Return the id of an actor of this kind, ``staff`` or ``app``, or None if the actor is of another kind."""
    actor_kind, _, number = actor.partition(":")
    return int(number) if actor_kind == kind and number.isdecimal() else None


def get_actor_name(actor: str) -> str:
    """Return an actor's name. For several actors, use ``get_actor_names``, which needs only two queries."""
    return get_actor_names([actor])[actor]


def get_actor_names(actors: list[str]) -> dict[str, str]:
    """Return the name of each actor. For an unknown actor, return the actor unchanged."""
    ids_by_kind: dict[str, set[int]] = {"staff": set(), "app": set()}
    for actor in actors:
        kind, _, number = actor.partition(":")
        if kind in ids_by_kind and number.isdecimal():
            ids_by_kind[kind].add(int(number))
    names = {actor: actor for actor in actors}
    names |= {"system": "Backoffice"} if "system" in names else {}
    if ids_by_kind["staff"]:
        names |= {get_staff_actor(user): str(user) for user in User.objects.filter(pk__in=ids_by_kind["staff"])}
    if ids_by_kind["app"]:
        names |= {f"app:{app.pk}": f"{app.name} (app)" for app in App.objects.filter(pk__in=ids_by_kind["app"])}
    return names
