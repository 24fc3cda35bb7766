from apps.content.domain.online_store.policies import get_policy_title, get_policy_url
from apps.content.models import Policy
from apps.core.rest.render_context import RenderContext
from apps.core.rest.resources.fields import ComputedField, ModelDerivedField, ReadOnlyColumn
from apps.core.rest.resources.serializers import ResourceSerializer
from apps.core.rest.viewsets import ShopViewSet


def _url(context: RenderContext, handle: str) -> str:
    return get_policy_url(context.shop, handle)


class PolicySerializer(ResourceSerializer[Policy]):
    id = None
    body = ReadOnlyColumn()
    created_at = ModelDerivedField()
    updated_at = ModelDerivedField()
    handle = ReadOnlyColumn()
    title = ComputedField(lambda _context, handle: get_policy_title(handle), "handle")
    url = ComputedField(_url, "handle")


class PolicyViewSet(ShopViewSet[Policy]):
    """The policies of a shop. They are public texts, so every app may read them."""

    serializer_class = PolicySerializer
    singular = "policy"
    plural = "policies"
    has_few_rows = True
