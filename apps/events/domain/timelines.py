"""Registry for resources that have a timeline in the API (``/<plural>/<id>/events``). Each app adds its own."""

from dataclasses import dataclass

from apps.ground.base_models import ShopOwned


@dataclass(frozen=True, slots=True)
class Timeline:
    """A resource that has a timeline for each row.

    Attributes:
        plural: The resource's name in paths, e.g. ``orders``.
        argument: The path argument with the row's id, e.g. ``order_id``.
        model: The resource's model.
        scope: The access scope of the timeline, without ``read_``.
    """

    plural: str
    argument: str
    model: type[ShopOwned]
    scope: str


_timelines: dict[str, Timeline] = {}


def register_timeline(plural: str, model: type[ShopOwned], *, scope: str) -> None:
    """Register ``/<plural>/<id>/events`` for a model. Call this function in ``AppConfig.ready()``."""
    if plural in _timelines:
        raise ValueError(f"A timeline for {plural!r} is already registered")
    _timelines[plural] = Timeline(plural, f"{model._meta.model_name}_id", model, scope)


def get_all_timelines() -> tuple[Timeline, ...]:
    """Return all registered timelines, in the order of registration."""
    return tuple(_timelines.values())
