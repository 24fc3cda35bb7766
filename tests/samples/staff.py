"""Sample requests for staff members."""

from apps.core.tenancy.models import Shop
from apps.core.types import Attrs
from tests.samples import SampleContext, register_sample
from tests.support import factories


def use_premium_plan(world: SampleContext) -> Attrs:
    # All shops need the plan, so that requests with another shop's token fail because of the shop, not the plan.
    Shop.objects.update(plan=Shop.Plan.PREMIUM)
    return {"id": factories.make_member(world.shop, owner=True).pk}


register_sample("GET users/current.json", arrange=use_premium_plan)
register_sample("GET users.json", arrange=use_premium_plan)
register_sample("GET users/<id>.json", arrange=use_premium_plan)
