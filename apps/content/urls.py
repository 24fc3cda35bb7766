"""The routes of content, as the specification writes them."""

from apps.api.routing import route
from apps.content.api.articles import ArticleViewSet, ArticleWordsView
from apps.content.api.assets import AssetViewSet
from apps.content.api.blogs import BlogViewSet
from apps.content.api.mobile_platform_applications import MobilePlatformApplicationViewSet
from apps.content.api.script_tags import ScriptTagViewSet
from apps.content.api.themes import ThemeViewSet

urlpatterns = [
    route("script_tags.json", ScriptTagViewSet, get="list", post="create"),
    route("script_tags/count.json", ScriptTagViewSet, get="count"),
    route("script_tags/<id>.json", ScriptTagViewSet, get="retrieve", put="update", delete="destroy"),
    route("blogs.json", BlogViewSet, get="list", post="create"),
    route("blogs/count.json", BlogViewSet, get="count"),
    route("blogs/<id>.json", BlogViewSet, get="retrieve", put="update", delete="destroy"),
    route("blogs/<blog_id>/articles.json", ArticleViewSet, get="list", post="create"),
    route("blogs/<blog_id>/articles/count.json", ArticleViewSet, get="count"),
    route("blogs/<blog_id>/articles/tags.json", ArticleWordsView, get="tags"),
    route("blogs/<blog_id>/articles/<id>.json", ArticleViewSet, get="retrieve", put="update", delete="destroy"),
    route("articles/authors.json", ArticleWordsView, get="authors"),
    route("articles/tags.json", ArticleWordsView, get="tags"),
    route("themes.json", ThemeViewSet, get="list", post="create"),
    route("themes/<id>.json", ThemeViewSet, get="retrieve", put="update", delete="destroy"),
    route("themes/<theme_id>/assets.json", AssetViewSet, get="list_files", put="put_file", delete="delete_file"),
    route("mobile_platform_applications.json", MobilePlatformApplicationViewSet, get="list", post="create"),
    route(
        "mobile_platform_applications/<id>.json",
        MobilePlatformApplicationViewSet,
        get="retrieve",
        put="update",
        delete="destroy",
    ),
]
