from apps.core.tenancy.models import Shop
from apps.core.types import Attrs
from tests.samples import SampleContext, register_sample
from tests.support import factories


def use_premium_plan(world: SampleContext) -> Attrs:
    # All shops need the plan, so that requests with another shop's token fail because of the shop, not the plan.
    Shop.objects.update(plan=Shop.Plan.PREMIUM)
    return {"id": factories.make_member(world.shop, owner=True).pk}


for path in ("users/current", "users", "users/<id>"):
    register_sample(f"GET {path}.json", arrange=use_premium_plan)
