from collections.abc import Mapping

from apps.content.api.publishing import set_published_at
from apps.content.domain.online_store import pages
from apps.content.models import Page
from apps.core.rest.resources.fields import (
    ModelDerivedField,
    PublishedField,
    ReadOnlyColumn,
    TextField,
    global_id_field,
)
from apps.core.rest.resources.filters import DateTimeFilter, PublishedFilter, ResourceFilter, TextFilter
from apps.core.rest.resources.serializers import ResourceSerializer
from apps.core.rest.viewsets import ShopViewSet
from apps.core.sanitizing import find_html_error
from apps.core.types import Attrs, Errors, Schema
from apps.metafields.api.metafields import METAFIELDS_SCHEMA
from apps.metafields.domain.write import MetafieldInput, validate_metafields


class PageSerializer(ResourceSerializer[Page]):
    title = ModelDerivedField()
    shop_id = ReadOnlyColumn()
    handle = TextField(max_length=255, required=False, allow_blank=True, allow_null=True)
    body_html = TextField(required=False, allow_blank=True, allow_null=True)
    author = TextField(max_length=255, required=False, allow_blank=True, allow_null=True)
    created_at = ModelDerivedField()
    updated_at = ModelDerivedField()
    published_at = ModelDerivedField()
    template_suffix = TextField(max_length=255, required=False, allow_null=True)
    published = PublishedField(required=False, allow_null=True)
    admin_graphql_api_id = global_id_field("Page")

    def validate_across_fields(self, attrs: Attrs, instance: Page | None, errors: Errors) -> None:
        """Check the size of the HTML, and combine ``published`` and ``published_at``."""
        if "body_html" in attrs:
            attrs["body_html"] = attrs["body_html"] or ""
            if (error := find_html_error(attrs["body_html"])) is not None:
                errors["body_html"] = [error]
        set_published_at(attrs, instance)


class PageFilter(ResourceFilter):
    handle = TextFilter("handle")
    title = TextFilter("title")
    published_at_min = DateTimeFilter("published_at", "gte")
    published_at_max = DateTimeFilter("published_at", "lte")
    published_status = PublishedFilter()


class PageViewSet(ShopViewSet[Page]):
    scope = "content"
    serializer_class = PageSerializer
    filterset_class = PageFilter
    singular = "page"
    version_columns = ("version",)

    def get_extra_body_properties(self, version: str) -> Mapping[str, Schema]:
        return {"metafields": METAFIELDS_SCHEMA}

    def metafields(self) -> list[MetafieldInput]:
        return validate_metafields(self.unwrap_body("page").get("metafields"))

    def perform_create(self, attrs: Attrs) -> Page:
        return pages.create_page(attrs, metafield_drafts=self.metafields(), actor=self.actor, at=self.at)

    def perform_update(self, instance: Page, attrs: Attrs) -> None:
        pages.update_page(instance, attrs, metafield_drafts=self.metafields(), actor=self.actor, at=self.at)

    def perform_destroy(self, instance: Page) -> None:
        pages.delete_page(instance, actor=self.actor, at=self.at)
