from typing import Any

from django.db.models import Model
from django.utils.translation import gettext_noop

from apps.content.api.articles import ArticleSerializer
from apps.content.api.blogs import BlogSerializer
from apps.content.api.mobile_platform_applications import MobilePlatformApplicationSerializer
from apps.content.api.script_tags import ScriptTagSerializer
from apps.content.api.themes import ThemeSerializer
from apps.content.models import StoreFile
from apps.core.events.topics import Topic, topics
from apps.core.rest.webhook_topics import DEFAULT_LABELS, build_resource_topics


def _render_file(instance: Model, version: str) -> dict[str, Any]:
    assert isinstance(instance, StoreFile)
    return {"id": instance.pk, "name": instance.name, "width": instance.width, "height": instance.height}


topics.add(
    *build_resource_topics("script_tags", gettext_noop("Script tag"), ScriptTagSerializer, scopes=("read_script_tags",))
)
topics.add(*build_resource_topics("blogs", gettext_noop("Blog"), BlogSerializer, scopes=("read_content",)))
topics.add(*build_resource_topics("articles", gettext_noop("Article"), ArticleSerializer, scopes=("read_content",)))
topics.add(
    *build_resource_topics(
        "themes",
        gettext_noop("Theme"),
        ThemeSerializer,
        scopes=("read_themes",),
        verbs={**DEFAULT_LABELS, "publish": gettext_noop("Theme published")},
    )
)
for verb, label in (("create", gettext_noop("File uploaded")), ("delete", gettext_noop("File deleted"))):
    topics.add(
        Topic(name=f"files/{verb}", scopes=("read_content",), render=_render_file, label=label, is_offered=False)
    )
topics.add(
    *build_resource_topics(
        "mobile_platform_applications",
        gettext_noop("Mobile app"),
        MobilePlatformApplicationSerializer,
        scopes=("read_mobile_platform_applications",),
    )
)
