"""Articles over REST."""

from collections.abc import Mapping
from datetime import datetime

from django.db.models import Model, QuerySet
from django.http import Http404, HttpResponse
from django.utils import timezone
from rest_framework.request import Request

from apps.api.context import Context
from apps.api.errors import Unprocessable
from apps.api.openapi.schemas import PICTURE
from apps.api.resources.fields import Column, Computed, FromModel, GlobalId, PublishedField, TagsField, TextField
from apps.api.resources.filters import ApiFilter, MomentFilter, PublishedFilter, ResourceFilter, TextFilter
from apps.api.resources.serializers import ResourceSerializer
from apps.api.rows.paging import read_limit
from apps.api.shapes import Attrs, Data, Errors, Schema, Shown
from apps.api.viewsets import ApiView, ShopViewSet
from apps.content.domain import articles
from apps.content.domain.addresses import article_image_url
from apps.content.domain.pictures import Picture, take_picture
from apps.content.models import Article, Blog
from apps.ground.locks import locked
from apps.ground.markup import refusal_of
from apps.ground.phrases import INVALID, too_long
from apps.metafields.api.bodies import METAFIELDS
from apps.metafields.domain.setting import Draft, check_many

MAX_ALT = 512


class OptionalImage(Computed):
    """The article's picture; an article without one lacks the key."""

    omitted_when_null = True


def _image(  # noqa: PLR0917 - the columns of one row
    context: Context,
    pk: int,
    sha256: str | None,
    name: str,
    alt: str | None,
    width: int,
    height: int,
    created_at: datetime | None,
) -> Shown | None:
    if sha256 is None or created_at is None:
        return None
    return {
        "created_at": created_at.astimezone(context.tz).isoformat(timespec="seconds"),
        "alt": alt,
        "width": width,
        "height": height,
        "src": article_image_url(context.shop, pk, name, sha256),
    }


class ArticleSerializer(ResourceSerializer[Article]):
    """An article as the interface shows it."""

    title = FromModel()
    created_at = FromModel()
    body_html = TextField(required=False, allow_blank=True, allow_null=True)
    blog_id = Column()
    author = TextField(max_length=255, required=False, allow_blank=True, allow_null=True)
    user_id = Column()
    published_at = FromModel()
    updated_at = FromModel()
    summary_html = FromModel()
    template_suffix = TextField(max_length=255, required=False, allow_null=True)
    handle = TextField(max_length=255, required=False, allow_blank=True, allow_null=True)
    tags = TagsField()
    published = PublishedField(required=False, allow_null=True)
    admin_graphql_api_id = GlobalId("Article")
    image = OptionalImage(
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

    class Meta:
        model = Article

    def check(self, attrs: Attrs, instance: Article | None, errors: Errors) -> None:
        """Bound the markup, and bring the two ways of publishing to one moment."""
        for name in ("body_html", "summary_html"):
            if (refusal := refusal_of(attrs.get(name) or "")) is not None:
                errors[name] = [refusal]
        if "body_html" in attrs:
            attrs["body_html"] = attrs["body_html"] or ""
        _settle_publishing(attrs, instance)


def _settle_publishing(attrs: Attrs, instance: Article | None) -> None:
    """``published`` false hides; true publishes now, unless the body names the moment or the article is visible."""
    published = attrs.pop("published", None)
    if instance is not None and "published_at" in attrs and published == (instance.published_at is not None):
        # Whole objects are sent back: of the two ways the one that changes counts.
        published = None
    now = timezone.now()
    if published is False:
        attrs["published_at"] = None
    elif published and attrs.get("published_at") is None:
        visible = instance is not None and instance.published_at is not None and instance.published_at <= now
        attrs["published_at"] = instance.published_at if visible and instance else now
    elif instance is None:
        attrs.setdefault("published_at", now)


class TagFilter(ApiFilter):
    """Articles that have a tag, ignoring case."""

    field_class = TextFilter.field_class

    def filter(self, qs: QuerySet[Model], value: str | None) -> QuerySet[Model]:
        """The rows that fit."""
        return qs if value is None else qs.filter(tag_rows__key=value.strip().casefold())


class ArticleFilter(ResourceFilter):
    """How a list of articles is narrowed."""

    author = TextFilter("author")
    handle = TextFilter("handle")
    tag = TagFilter()
    published_at_min = MomentFilter("published_at", "gte")
    published_at_max = MomentFilter("published_at", "lte")
    published_status = PublishedFilter()


class ArticleViewSet(ShopViewSet[Article]):
    """``/blogs/{blog_id}/articles``."""

    scope = "content"
    model = Article
    serializer_class = ArticleSerializer
    filterset_class = ArticleFilter
    singular = "article"
    plural = "articles"
    order = ("-id",)
    versions = ("version",)
    parents = {"blog_id": Blog}
    takes_uploads = True

    picture: Picture | None = None
    without_picture = False

    def further(self, version: str) -> Mapping[str, Schema]:
        """Its picture and its metafields."""
        return {"image": PICTURE, "metafields": METAFIELDS}

    def prepare(self) -> None:
        """Fetch and store the picture that the body brings."""
        body = self.unwrapped("article")
        if "image" not in body:
            return
        instance = self.get_object() if "id" in self.kwargs else None
        self.attributes(instance)
        self.metafields()
        image = body["image"]
        if image in ("", None):
            self.without_picture = True
        elif isinstance(image, dict):
            self.picture = take_picture(self._without_own_src(image, instance))
        else:
            raise Unprocessable({"image": [INVALID]})

    def _without_own_src(self, image: Data, instance: Article | None) -> Data:
        """Clients send whole objects back: the address of the picture that is there brings no new one."""
        src = image.get("src")
        if instance is None or instance.image is None or not isinstance(src, str):
            return image
        own = article_image_url(self.shop, instance.pk, instance.image_name, instance.image.sha256)
        if src.partition("?")[0] != own.partition("?")[0]:
            return image
        return {name: value for name, value in image.items() if name != "src"}

    def attributes(self, instance: Article | None = None) -> Attrs:
        """The body, checked; the picture's text is the article's."""
        attrs = super().attributes(instance)
        image = self.unwrapped("article").get("image")
        if isinstance(image, dict) and "alt" in image:
            alt = image["alt"]
            if alt is not None and not isinstance(alt, str):
                raise Unprocessable({"image": [f"alt {INVALID}"]})
            if alt and len(alt) > MAX_ALT:
                raise Unprocessable({"image": [f"alt {too_long(MAX_ALT)}"]})
            attrs["image_alt"] = alt
        return attrs

    def metafields(self) -> list[Draft]:
        """The metafields that the body brings."""
        return check_many(self.unwrapped("article").get("metafields"))

    def perform_create(self, attrs: Attrs) -> Article:
        """Write the article."""
        return articles.create_article(
            self.kwargs["blog_id"],
            attrs,
            picture=self.picture,
            further=self.metafields(),
            actor=self.actor,
            at=self.at,
        )

    def hold(self, instance: Article) -> None:
        """The blog holds its articles."""
        locked(Blog, instance.blog_id, no_key=True)
        super().hold(instance)

    def perform_update(self, instance: Article, attrs: Attrs) -> None:
        """Change the article."""
        articles.update_article(
            instance,
            attrs,
            picture=self.picture,
            without_picture=self.without_picture,
            further=self.metafields(),
            actor=self.actor,
            at=self.at,
        )

    def perform_destroy(self, instance: Article) -> None:
        """Delete the article."""
        articles.delete_article(instance, actor=self.actor, at=self.at)


class ArticleWordsView(ApiView):
    """The authors and tags that articles have."""

    scope = "content"
    answers = {
        name: {
            "type": "object",
            "required": [name],
            "properties": {name: {"type": "array", "items": {"type": "string"}}},
        }
        for name in ("authors", "tags")
    }

    def open(self) -> None:
        """Load the blog that the path names."""
        blog_id = self.kwargs.get("blog_id")
        if blog_id is not None and not Blog.objects.filter(pk=blog_id).exists():
            raise Http404

    def authors(self, request: Request, **_: int) -> HttpResponse:
        """List the authors of articles."""
        return self.json({"authors": articles.authors()})

    def tags(self, request: Request, **_: int) -> HttpResponse:
        """List the tags of articles."""
        limit = read_limit(self.query["limit"]) if "limit" in self.query else None
        popular = self.query.get("popular", "0") not in {"0", "false", ""}
        found = articles.tags(blog_id=self.kwargs.get("blog_id"), limit=limit, popular=popular)
        return self.json({"tags": found})
