"""The registry of resources with a timeline in the interface; each domain registers its own."""

from dataclasses import dataclass

from apps.ground.base_models import ShopOwned


@dataclass(frozen=True, slots=True)
class Timeline:
    """A resource with a timeline for each row.

    Attributes:
        plural: The resource's name in paths, e.g. ``orders``.
        argument: The path's argument for the row, e.g. ``order_id``.
        model: The resource's model.
        scope: The access scope of the timeline, without its verb.
    """

    plural: str
    argument: str
    model: type[ShopOwned]
    scope: str


_timelines: dict[str, Timeline] = {}


def register_timeline(plural: str, model: type[ShopOwned], *, scope: str) -> None:
    """Register ``/<plural>/<id>/events`` for the rows of a model; called from ``AppConfig.ready()``."""
    if plural in _timelines:
        raise ValueError(f"A timeline for {plural!r} is already registered")
    _timelines[plural] = Timeline(plural, f"{model._meta.model_name}_id", model, scope)


def get_all_timelines() -> tuple[Timeline, ...]:
    """Return every resource with timelines, in the order of registration."""
    return tuple(_timelines.values())
