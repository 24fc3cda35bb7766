from collections.abc import Mapping

from apps.content.domain import blogs
from apps.content.models import Blog
from apps.core.rest.resources.fields import ConstantField, ModelDerivedField, ReadOnlyColumn, TextField, global_id_field
from apps.core.rest.resources.filters import ResourceFilter, TextFilter
from apps.core.rest.resources.serializers import ResourceSerializer
from apps.core.rest.viewsets import ShopViewSet
from apps.core.types import Attrs, Schema
from apps.metafields.api.metafields import METAFIELDS_SCHEMA
from apps.metafields.domain.write import MetafieldInput, validate_metafields


class BlogSerializer(ResourceSerializer[Blog]):
    handle = TextField(max_length=255, required=False, allow_blank=True, allow_null=True)
    title = ModelDerivedField()
    updated_at = ModelDerivedField()
    commentable = ModelDerivedField()
    feedburner = ConstantField(None)
    feedburner_location = ConstantField(None)
    created_at = ModelDerivedField()
    template_suffix = TextField(max_length=255, required=False, allow_null=True)
    tags = ReadOnlyColumn()
    admin_graphql_api_id = global_id_field("Blog")


class BlogFilter(ResourceFilter):
    handle = TextFilter("handle")


class BlogViewSet(ShopViewSet[Blog]):
    scope = "content"
    serializer_class = BlogSerializer
    filterset_class = BlogFilter
    singular = "blog"
    order = ("-id",)
    version_columns = ("version",)

    def get_extra_body_properties(self, version: str) -> Mapping[str, Schema]:
        return {"metafields": METAFIELDS_SCHEMA}

    def metafields(self) -> list[MetafieldInput]:
        return validate_metafields(self.unwrap_body("blog").get("metafields"))

    def perform_create(self, attrs: Attrs) -> Blog:
        return blogs.create_blog(attrs, metafield_drafts=self.metafields(), actor=self.actor, at=self.at)

    def perform_update(self, instance: Blog, attrs: Attrs) -> None:
        blogs.update_blog(instance, attrs, metafield_drafts=self.metafields(), actor=self.actor, at=self.at)

    def perform_destroy(self, instance: Blog) -> None:
        blogs.delete_blog(instance, actor=self.actor, at=self.at)
