from apps.content.api.articles import ArticleValuesView, ArticleViewSet
from apps.content.api.assets import AssetViewSet
from apps.content.api.blogs import BlogViewSet
from apps.content.api.comments import CommentViewSet
from apps.content.api.mobile_platform_applications import MobilePlatformApplicationViewSet
from apps.content.api.pages import PageViewSet
from apps.content.api.policies import PolicyViewSet
from apps.content.api.redirects import RedirectViewSet
from apps.content.api.script_tags import ScriptTagViewSet
from apps.content.api.themes import ThemeViewSet
from apps.core.rest.routing import WITHOUT_COUNT, api_path, resource_paths

urlpatterns = [
    *resource_paths("script_tags", ScriptTagViewSet),
    *resource_paths("blogs", BlogViewSet),
    *resource_paths("blogs/<blog_id>/articles", ArticleViewSet),
    api_path("blogs/<blog_id>/articles/tags.json", ArticleValuesView, get="tags"),
    api_path("articles/authors.json", ArticleValuesView, get="authors"),
    api_path("articles/tags.json", ArticleValuesView, get="tags"),
    *resource_paths("pages", PageViewSet),
    *resource_paths("redirects", RedirectViewSet),
    *resource_paths("comments", CommentViewSet, "list", "count", "create", "retrieve", "update"),
    *(
        api_path(f"comments/<id>/{action}.json", CommentViewSet, post=action)
        for action in ("approve", "spam", "not_spam", "remove", "restore")
    ),
    *resource_paths("policies", PolicyViewSet, "list"),
    *resource_paths("themes", ThemeViewSet, *WITHOUT_COUNT),
    api_path("themes/<theme_id>/assets.json", AssetViewSet, get="list_files", put="put_file", delete="delete_file"),
    *resource_paths("mobile_platform_applications", MobilePlatformApplicationViewSet, *WITHOUT_COUNT),
]
