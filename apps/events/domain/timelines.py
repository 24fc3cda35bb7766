"""Whose events can be read alone: each domain registers the resources that have a timeline in the interface."""

from dataclasses import dataclass

from apps.ground.rows import ShopOwned


@dataclass(frozen=True, slots=True)
class Timeline:
    """A resource whose rows have timelines.

    Attributes:
        plural: Its name in paths, e.g. ``orders``.
        argument: The path's argument for the row, e.g. ``order_id``.
        model: Its rows.
        scope: The word of the access scope that opens the timeline.
    """

    plural: str
    argument: str
    model: type[ShopOwned]
    scope: str


_timelines: dict[str, Timeline] = {}


def register(plural: str, model: type[ShopOwned], *, scope: str) -> None:
    """Give the rows of a model ``/<plural>/<id>/events``; called from ``AppConfig.ready()``."""
    if plural in _timelines:
        raise ValueError(f"{plural!r} have timelines already")
    _timelines[plural] = Timeline(plural, f"{model._meta.model_name}_id", model, scope)


def all_timelines() -> tuple[Timeline, ...]:
    """Every resource with timelines, in the order of registration."""
    return tuple(_timelines.values())
