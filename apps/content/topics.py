from dataclasses import replace
from typing import Any

from django.db.models import Model
from django.utils.translation import gettext_noop

from apps.content.api.articles import ArticleSerializer
from apps.content.api.blogs import BlogSerializer
from apps.content.api.comments import CommentSerializer
from apps.content.api.mobile_platform_applications import MobilePlatformApplicationSerializer
from apps.content.api.pages import PageSerializer
from apps.content.api.policies import PolicySerializer
from apps.content.api.redirects import RedirectSerializer
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
# Topics that only the audit log and ``/events.json`` show. Other platforms have no webhooks for these resources either.
for resource_topics in (
    build_resource_topics("pages", gettext_noop("Page"), PageSerializer, scopes=("read_content",)),
    build_resource_topics("redirects", gettext_noop("Redirect"), RedirectSerializer, scopes=("read_content",)),
    build_resource_topics("policies", gettext_noop("Policy"), PolicySerializer, scopes=("read_content",)),
    build_resource_topics(
        "comments",
        gettext_noop("Blog comment"),
        CommentSerializer,
        scopes=("read_content",),
        verbs={
            **DEFAULT_LABELS,
            "approve": gettext_noop("Blog comment approved"),
            "spam": gettext_noop("Blog comment marked as spam"),
            "not_spam": gettext_noop("Blog comment marked as not spam"),
            "remove": gettext_noop("Blog comment removed"),
            "restore": gettext_noop("Blog comment restored"),
        },
    ),
):
    topics.add(*(replace(topic, is_offered=False) for topic in resource_topics))
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
