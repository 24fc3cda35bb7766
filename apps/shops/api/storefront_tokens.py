"""Views for storefront access tokens. Each app can access only its own tokens."""

import orjson
from django.db.models import QuerySet

from apps.core.rest.resources.fields import ConstantField, ModelDerivedField, ReadOnlyColumn, TextField, global_id_field
from apps.core.rest.resources.serializers import ResourceSerializer
from apps.core.rest.viewsets import ShopViewSet
from apps.core.types import Attrs
from apps.shops.domain import storefront_tokens
from apps.shops.models import StorefrontAccessToken


class StorefrontAccessTokenSerializer(ResourceSerializer[StorefrontAccessToken]):
    access_token = ReadOnlyColumn("token")
    access_scope = ConstantField("")
    created_at = ModelDerivedField()
    admin_graphql_api_id = global_id_field("StorefrontAccessToken")
    title = TextField(max_length=255)


class StorefrontAccessTokenViewSet(ShopViewSet[StorefrontAccessToken]):
    serializer_class = StorefrontAccessTokenSerializer
    singular = "storefront_access_token"

    def get_queryset(self) -> QuerySet[StorefrontAccessToken]:
        return StorefrontAccessToken.objects.filter(app_id=self.access.installation.app_id)

    def perform_create(self, attrs: Attrs) -> StorefrontAccessToken:
        return storefront_tokens.create_storefront_token(
            self.access.installation, attrs["title"], actor=self.actor, at=self.at
        )

    def redact_for_replay(self, content: bytes) -> bytes:
        """Remove the token from the stored response, because only the row may contain it, encrypted."""
        body = orjson.loads(content)
        if self.singular in body:
            body[self.singular]["access_token"] = None
        return orjson.dumps(body)

    def restore_for_replay(self, content: bytes) -> bytes:
        """Restore the token. It is null if the row was deleted."""
        body = orjson.loads(content)
        if self.singular in body:
            row = self.get_queryset().filter(pk=body[self.singular]["id"]).first()
            body[self.singular]["access_token"] = row.token if row else None
        return orjson.dumps(body)
