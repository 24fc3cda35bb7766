from apps.content.api.articles import ArticleValuesView, ArticleViewSet
from apps.content.api.assets import AssetViewSet
from apps.content.api.blogs import BlogViewSet
from apps.content.api.mobile_platform_applications import MobilePlatformApplicationViewSet
from apps.content.api.script_tags import ScriptTagViewSet
from apps.content.api.themes import ThemeViewSet
from apps.core.rest.routing import api_path

urlpatterns = [
    api_path("script_tags.json", ScriptTagViewSet, get="list", post="create"),
    api_path("script_tags/count.json", ScriptTagViewSet, get="count"),
    api_path("script_tags/<id>.json", ScriptTagViewSet, get="retrieve", put="update", delete="destroy"),
    api_path("blogs.json", BlogViewSet, get="list", post="create"),
    api_path("blogs/count.json", BlogViewSet, get="count"),
    api_path("blogs/<id>.json", BlogViewSet, get="retrieve", put="update", delete="destroy"),
    api_path("blogs/<blog_id>/articles.json", ArticleViewSet, get="list", post="create"),
    api_path("blogs/<blog_id>/articles/count.json", ArticleViewSet, get="count"),
    api_path("blogs/<blog_id>/articles/tags.json", ArticleValuesView, get="tags"),
    api_path("blogs/<blog_id>/articles/<id>.json", ArticleViewSet, get="retrieve", put="update", delete="destroy"),
    api_path("articles/authors.json", ArticleValuesView, get="authors"),
    api_path("articles/tags.json", ArticleValuesView, get="tags"),
    api_path("themes.json", ThemeViewSet, get="list", post="create"),
    api_path("themes/<id>.json", ThemeViewSet, get="retrieve", put="update", delete="destroy"),
    api_path("themes/<theme_id>/assets.json", AssetViewSet, get="list_files", put="put_file", delete="delete_file"),
    api_path("mobile_platform_applications.json", MobilePlatformApplicationViewSet, get="list", post="create"),
    api_path(
        "mobile_platform_applications/<id>.json",
        MobilePlatformApplicationViewSet,
        get="retrieve",
        put="update",
        delete="destroy",
    ),
]
