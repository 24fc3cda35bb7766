"""Blogs over REST."""

from collections.abc import Mapping

from apps.api.resources.fields import Column, Constant, FromModel, GlobalId, TextField
from apps.api.resources.filters import ResourceFilter, TextFilter
from apps.api.resources.serializers import ResourceSerializer
from apps.api.shapes import Attrs, Schema
from apps.api.viewsets import ShopViewSet
from apps.content.domain import blogs
from apps.content.models import Blog
from apps.metafields.api.bodies import METAFIELDS
from apps.metafields.domain.setting import Draft, check_many


class BlogSerializer(ResourceSerializer[Blog]):
    """A blog as the interface shows it."""

    handle = TextField(max_length=255, required=False, allow_blank=True, allow_null=True)
    title = FromModel()
    updated_at = FromModel()
    commentable = FromModel()
    feedburner = Constant(None)
    feedburner_location = Constant(None)
    created_at = FromModel()
    template_suffix = TextField(max_length=255, required=False, allow_null=True)
    tags = Column()
    admin_graphql_api_id = GlobalId("Blog")

    class Meta:
        model = Blog


class BlogFilter(ResourceFilter):
    """How a list of blogs is narrowed."""

    handle = TextFilter("handle")


class BlogViewSet(ShopViewSet[Blog]):
    """``/blogs``."""

    scope = "content"
    model = Blog
    serializer_class = BlogSerializer
    filterset_class = BlogFilter
    singular = "blog"
    plural = "blogs"
    order = ("-id",)
    versions = ("version",)

    def further(self, version: str) -> Mapping[str, Schema]:
        """Its metafields."""
        return {"metafields": METAFIELDS}

    def metafields(self) -> list[Draft]:
        """The metafields that the body brings."""
        return check_many(self.unwrapped("blog").get("metafields"))

    def perform_create(self, attrs: Attrs) -> Blog:
        """Open the blog."""
        return blogs.create_blog(attrs, further=self.metafields(), actor=self.actor, at=self.at)

    def perform_update(self, instance: Blog, attrs: Attrs) -> None:
        """Change the blog."""
        blogs.update_blog(instance, attrs, further=self.metafields(), actor=self.actor, at=self.at)

    def perform_destroy(self, instance: Blog) -> None:
        """Delete the blog with its articles."""
        blogs.delete_blog(instance, actor=self.actor, at=self.at)
