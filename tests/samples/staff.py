"""Requests about the staff."""

from typing import Any

from apps.shops.models import Shop
from tests import factories
from tests.samples import World, sample


def on_premium(world: World) -> dict[str, Any]:
    # Every shop, so that a stranger's token is refused for being a stranger's.
    Shop.objects.update(plan=Shop.Plan.PREMIUM)
    return {"id": factories.make_member(world.shop, owner=True).pk}


sample("GET users/current.json", arrange=on_premium)
sample("GET users.json", arrange=on_premium)
sample("GET users/<id>.json", arrange=on_premium)
