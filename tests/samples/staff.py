"""Requests for staff members."""

from typing import Any

from apps.shops.models import Shop
from tests import factories
from tests.samples import World, sample


def on_premium(world: World) -> dict[str, Any]:
    # All shops, so that another shop's token is rejected because of its shop and not because of the plan.
    Shop.objects.update(plan=Shop.Plan.PREMIUM)
    return {"id": factories.make_member(world.shop, owner=True).pk}


sample("GET users/current.json", arrange=on_premium)
sample("GET users.json", arrange=on_premium)
sample("GET users/<id>.json", arrange=on_premium)
