from collections.abc import Mapping
from datetime import datetime

from django.db.models import Model, QuerySet
from django.http import Http404, HttpResponse
from rest_framework.request import Request

from apps.content.api.publishing import set_published_at
from apps.content.domain import articles
from apps.content.domain.article_images import ArticleImage, store_article_image_from_body
from apps.content.domain.public_urls import get_article_image_url
from apps.content.models import Article, Blog
from apps.core.db.row_locks import get_for_update
from apps.core.i18n.error_messages import INVALID, too_long
from apps.core.rest.exceptions import Unprocessable
from apps.core.rest.openapi.schemas import IMAGE_SCHEMA
from apps.core.rest.render_context import RenderContext
from apps.core.rest.resources.fields import (
    ModelDerivedField,
    OptionalComputedField,
    PublishedField,
    ReadOnlyColumn,
    TagsField,
    TextField,
    global_id_field,
)
from apps.core.rest.resources.filters import ApiFilter, DateTimeFilter, PublishedFilter, ResourceFilter, TextFilter
from apps.core.rest.resources.serializers import ResourceSerializer
from apps.core.rest.resources.text_lists import TAG_PARAMETERS, get_text_list_schema, parse_tag_query
from apps.core.rest.viewsets import ApiView, ShopViewSet
from apps.core.sanitizing import find_html_error
from apps.core.types import Attrs, Errors, Rendered, RequestData, Schema
from apps.metafields.api.metafields import METAFIELDS_SCHEMA
from apps.metafields.domain.write import MetafieldInput, validate_metafields

MAX_ALT = 512


def _image(  # noqa: PLR0917 - the columns of one row
    context: RenderContext,
    pk: int,
    sha256: str | None,
    name: str,
    alt: str | None,
    width: int,
    height: int,
    created_at: datetime | None,
) -> Rendered | None:
    if sha256 is None or created_at is None:
        return None
    return {
        "created_at": created_at.astimezone(context.tz).isoformat(timespec="seconds"),
        "alt": alt,
        "width": width,
        "height": height,
        "src": get_article_image_url(context.shop, pk, name, sha256),
    }


class ArticleSerializer(ResourceSerializer[Article]):
    title = ModelDerivedField()
    created_at = ModelDerivedField()
    body_html = TextField(required=False, allow_blank=True, allow_null=True)
    blog_id = ReadOnlyColumn()
    author = TextField(max_length=255, required=False, allow_blank=True, allow_null=True)
    user_id = ReadOnlyColumn()
    published_at = ModelDerivedField()
    updated_at = ModelDerivedField()
    summary_html = ModelDerivedField()
    template_suffix = TextField(max_length=255, required=False, allow_null=True)
    handle = TextField(max_length=255, required=False, allow_blank=True, allow_null=True)
    tags = TagsField()
    published = PublishedField(required=False, allow_null=True)
    admin_graphql_api_id = global_id_field("Article")
    image = OptionalComputedField(
        _image,
        "pk",
        "image__sha256",
        "image_name",
        "image_alt",
        "image_width",
        "image_height",
        "image_created_at",
        schema={"type": "object"},
    )

    def validate_across_fields(self, attrs: Attrs, instance: Article | None, errors: Errors) -> None:
        """Check the size of the HTML fields, and combine ``published`` and ``published_at``."""
        for name in ("body_html", "summary_html"):
            if (error := find_html_error(attrs.get(name) or "")) is not None:
                errors[name] = [error]
        if "body_html" in attrs:
            attrs["body_html"] = attrs["body_html"] or ""
        set_published_at(attrs, instance)


class TagFilter(ApiFilter):
    field_class = TextFilter.field_class

    def filter(self, qs: QuerySet[Model], value: str | None) -> QuerySet[Model]:
        return qs if value is None else qs.filter(tag_rows__key=value.strip().casefold())


class ArticleFilter(ResourceFilter):
    author = TextFilter("author")
    handle = TextFilter("handle")
    tag = TagFilter()
    published_at_min = DateTimeFilter("published_at", "gte")
    published_at_max = DateTimeFilter("published_at", "lte")
    published_status = PublishedFilter()


class ArticleViewSet(ShopViewSet[Article]):
    scope = "content"
    serializer_class = ArticleSerializer
    filterset_class = ArticleFilter
    singular = "article"
    order = ("-id",)
    version_columns = ("version",)
    parents = {"blog_id": Blog}
    takes_uploads = True

    image: ArticleImage | None = None
    remove_image = False

    def get_extra_body_properties(self, version: str) -> Mapping[str, Schema]:
        return {"image": IMAGE_SCHEMA, "metafields": METAFIELDS_SCHEMA}

    def prepare_write(self) -> None:
        """Store the image from the request body, either an attachment or a download from a URL."""
        body = self.unwrap_body("article")
        if "image" not in body:
            return
        instance = self.get_object() if "id" in self.kwargs else None
        self.get_validated_attributes(instance)
        self.metafields()
        image = body["image"]
        if image in ("", None):
            self.remove_image = True
        elif isinstance(image, dict):
            self.image = store_article_image_from_body(self._without_current_url(image, instance))
        else:
            raise Unprocessable({"image": [INVALID]})

    def _without_current_url(self, image: RequestData, instance: Article | None) -> RequestData:
        """Remove the URL of the current image, because clients that send a whole article back need no download."""
        src = image.get("src")
        if instance is None or instance.image is None or not isinstance(src, str):
            return image
        current_url = get_article_image_url(self.shop, instance.pk, instance.image_name, instance.image.sha256)
        if src.partition("?")[0] != current_url.partition("?")[0]:
            return image
        return {name: value for name, value in image.items() if name != "src"}

    def get_validated_attributes(self, instance: Article | None = None) -> Attrs:
        attrs = super().get_validated_attributes(instance)
        image = self.unwrap_body("article").get("image")
        if isinstance(image, dict) and "alt" in image:
            alt = image["alt"]
            if alt is not None and not isinstance(alt, str):
                raise Unprocessable({"image": [f"alt {INVALID}"]})
            if alt and len(alt) > MAX_ALT:
                raise Unprocessable({"image": [f"alt {too_long(MAX_ALT)}"]})
            attrs["image_alt"] = alt
        return attrs

    def metafields(self) -> list[MetafieldInput]:
        return validate_metafields(self.unwrap_body("article").get("metafields"))

    def perform_create(self, attrs: Attrs) -> Article:
        return articles.create_article(
            self.kwargs["blog_id"],
            attrs,
            image=self.image,
            metafield_drafts=self.metafields(),
            actor=self.actor,
            at=self.at,
        )

    def lock_instance(self, instance: Article) -> None:
        """Lock the blog first and then the article, in the same order as all other changes."""
        get_for_update(Blog, instance.blog_id, no_key=True)
        super().lock_instance(instance)

    def perform_update(self, instance: Article, attrs: Attrs) -> None:
        articles.update_article(
            instance,
            attrs,
            image=self.image,
            remove_image=self.remove_image,
            metafield_drafts=self.metafields(),
            actor=self.actor,
            at=self.at,
        )

    def perform_destroy(self, instance: Article) -> None:
        articles.delete_article(instance, actor=self.actor, at=self.at)


class ArticleValuesView(ApiView):
    # The tag of these routes in the OpenAPI document.
    plural = "articlewords"
    scope = "content"
    query_parameters = {"tags": TAG_PARAMETERS}
    responses = {name: get_text_list_schema(name) for name in ("authors", "tags")}

    def load_parents(self) -> None:
        blog_id = self.kwargs.get("blog_id")
        if blog_id is not None and not Blog.objects.filter(pk=blog_id).exists():
            raise Http404

    def authors(self, request: Request, **_: int) -> HttpResponse:
        """List the authors of articles."""
        return self.json_response({"authors": articles.list_authors()})

    def tags(self, request: Request, **_: int) -> HttpResponse:
        """List the tags of articles."""
        limit, popular = parse_tag_query(self.query)
        tag_names = articles.list_tags(blog_id=self.kwargs.get("blog_id"), limit=limit, popular=popular)
        return self.json_response({"tags": tag_names})
