"""Blogs and articles as staff write them."""

from datetime import datetime
from typing import cast

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.forms.renderers import BaseRenderer
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.template.loader import render_to_string
from django.urls import URLPattern
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.api.resources.fields import TagsField
from apps.content.domain import articles, blogs
from apps.content.domain.addresses import article_image_url, path_of
from apps.content.domain.pictures import Picture, store_picture
from apps.content.models import Article, ArticleVersion, Blog
from apps.ground.locks import locked
from apps.ground.markup import harmless, refusal_of
from apps.ground.phrases import size_of
from apps.ground.retelling import retold
from apps.media.intake import PictureRefused
from apps.media.pictures import MAX_BYTES, MAX_MEGAPIXELS
from apps.media.storage import StorageFailed
from apps.metafields.admin.inline import MetafieldInline
from apps.panel.access import may, require
from apps.panel.menu import Menu
from apps.panel.requests import Context, StaffRequest, in_shop
from apps.panel.screens.bases import ShopOwnedAdmin
from apps.panel.screens.filters import Choices, Screen
from apps.panel.screens.forms import PanelForm, read_as
from apps.panel.screens.markup import MarkupArea, MarkupField
from apps.panel.theme import ThemedFileInput, ThemedTextInput, display
from apps.panel.wording import in_words
from apps.staff.domain.actors import names_of
from apps.staff.domain.permissions import grant
from apps.staff.models import Membership

grant("pages", "vacd", "content.blog", "content.article")

# Previews run nothing, reach nothing, and belong to no origin.
PREVIEW_POLICY = "default-src 'none'; img-src 'self' data:; style-src 'unsafe-inline'; sandbox"
MAX_SUGGESTIONS = 500


class SuggestingInput(ThemedTextInput):
    """A text field that suggests values; of tags, of which several stand in it, the last one is completed."""

    def __init__(self, kind: str) -> None:
        super().__init__(attrs={"list": f"{kind}-known", "data-complete": kind, "autocomplete": "off"})
        self.kind = kind
        self.known: list[str] = []

    def render(
        self, name: str, value: object, attrs: Context | None = None, renderer: BaseRenderer | None = None
    ) -> SafeString:
        """The field and its suggestions."""
        field = super().render(name, value, attrs, renderer)
        context = {"id": f"{self.kind}-known", "known": self.known}
        return field + render_to_string("panel/articles/suggestions.html", context)


class BlogForm(PanelForm[Blog]):
    """A blog; without a handle it gets one from its title."""

    handle = forms.SlugField(
        required=False,
        max_length=255,
        widget=ThemedTextInput(),
        help_text=gettext_lazy("Part of its address; made from the title."),
        label=gettext_lazy("Handle"),
    )


@admin.register(Blog)
class BlogAdmin(ShopOwnedAdmin[Blog]):
    """Blogs hold articles."""

    form = BlogForm
    menu = Menu("Online store", "library_books", 20, words=pgettext_lazy("search", "news, comments, magazine"))
    intro = gettext_lazy("Each blog holds articles, and says whether customers may comment on them.")
    empty_text = gettext_lazy("There is no blog yet. Add one to write articles.")
    list_display = ("title", "handle", "commentable", "tags", "updated_at")
    list_self_evident = ("tags",)
    search_fields = ("title__icontains",)
    ordering = ("-id",)
    fields = ("title", "handle", "commentable", "template_suffix")
    inlines = (MetafieldInline,)

    def storefront_path(self, instance: Blog) -> str:
        """Where shoppers see it."""
        return f"/blogs/{instance.handle}"

    def save_model(self, request: HttpRequest, obj: Blog, form: BlogForm, change: bool) -> None:
        """Open or change the blog."""
        attrs = {name: value for name, value in form.given.items() if name in self.fields}
        actor, now = self.actor(request), timezone.now()
        if change:
            blogs.update_blog(self.model.objects.get(pk=obj.pk), attrs, actor=actor, at=now)
        else:
            made = blogs.create_blog(attrs, actor=actor, at=now)
            obj.__dict__.update(made.__dict__)

    def delete_model(self, request: HttpRequest, obj: Blog) -> None:
        """Delete it with its articles."""
        blogs.delete_blog(obj, **self.by(request))


class ArticleForm(PanelForm[Article]):
    """An article; its HTML is kept as it is typed."""

    handle = forms.SlugField(
        required=False,
        max_length=255,
        widget=ThemedTextInput(),
        help_text=gettext_lazy("Part of its address; made from the title."),
        label=gettext_lazy("Handle"),
    )
    author = forms.CharField(
        required=False,
        max_length=255,
        widget=SuggestingInput("authors"),
        help_text=gettext_lazy("The shop's name, if left empty."),
        label=gettext_lazy("Author"),
    )
    tags = forms.CharField(
        required=False,
        widget=SuggestingInput("tags"),
        help_text=gettext_lazy("Separated by commas."),
        label=gettext_lazy("Tags"),
    )
    body_html = MarkupField(label=gettext_lazy("Content"), widget=MarkupArea(attrs={"data-editor": "html", "rows": 18}))
    summary_html = MarkupField(label=gettext_lazy("Excerpt"), widget=MarkupArea(attrs={"rows": 3}))
    image_alt = forms.CharField(
        label=gettext_lazy("Alternative text"),
        required=False,
        max_length=512,
        empty_value=None,
        widget=ThemedTextInput(),
        help_text=gettext_lazy("What the picture shows, for people who cannot see it."),
    )
    picture = forms.FileField(
        required=False,
        widget=ThemedFileInput(),
        help_text=format_lazy(
            gettext_lazy("PNG, GIF or JPEG, at most {size} and {megapixels} megapixels."),
            size=size_of(MAX_BYTES),
            megapixels=MAX_MEGAPIXELS,
        ),
        label=gettext_lazy("Picture"),
    )
    remove_picture = forms.BooleanField(required=False, label=gettext_lazy("Remove picture"))

    def prepare(self) -> None:
        """Suggestions of names and tags, and the time zone in which it is published."""
        if "published_at" in self.fields:
            zone = timezone.get_current_timezone_name()
            self.fields["published_at"].help_text = _(
                "Later than now schedules it, empty hides it. Time zone: {zone}."
            ).format(zone=zone)
        if "author" in self.fields:
            members = Membership.rows().select_related("user").order_by("id")
            names = {member.user.get_full_name() for member in members} | set(articles.authors()[:MAX_SUGGESTIONS])
            self.fields["author"].widget.known = sorted(names - {""})
            self.fields["tags"].widget.known = articles.tags(limit=MAX_SUGGESTIONS)
        if self.instance._state.adding:
            self.initial.setdefault("published_at", timezone.now())

    def clean_summary_html(self) -> str | None:
        """None where it is empty."""
        return self.cleaned_data["summary_html"] or None

    def clean_tags(self) -> str:
        """Trimmed, once each, sorted."""
        return str(read_as(TagsField(), self.cleaned_data["tags"]))


class VisibilityFilter(admin.SimpleListFilter):
    """By whether shoppers see it."""

    title = gettext_lazy("visibility")
    parameter_name = "visibility"

    def lookups(self, request: HttpRequest, model_admin: Screen) -> Choices:
        """The three states."""
        return [("visible", _("Visible")), ("scheduled", _("Scheduled")), ("hidden", _("Hidden"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Article]) -> QuerySet[Article]:
        """The rows of the chosen state."""
        now = timezone.now()
        states: dict[str | None, dict[str, datetime | None]] = {
            "visible": {"published_at__lte": now},
            "scheduled": {"published_at__gt": now},
            "hidden": {"published_at": None},
        }
        return queryset.filter(**states[self.value()]) if self.value() in states else queryset


class _ArticleRequest(StaffRequest):
    """A request that saves an article, with the picture that came along, if any."""

    picture: Picture


@admin.register(Article)
class ArticleAdmin(ShopOwnedAdmin[Article]):
    """Articles, written as HTML with a preview that runs nothing."""

    form = ArticleForm
    menu = Menu("Online store", "article", 21, words=pgettext_lazy("search", "blog post, news, text, writing, content"))
    intro = gettext_lazy("What your blogs say. A date in the future schedules an article; earlier texts are kept.")
    empty_text = gettext_lazy("Nobody has written anything yet.")
    inlines = (MetafieldInline,)
    change_form_template = "panel/articles/change_form.html"
    list_display = ("title", "blog", "author", "tags", "visibility", "updated_at")
    list_self_evident = ("blog", "author", "tags")
    list_filter = (VisibilityFilter, "blog")
    list_select_related = ("blog",)
    search_fields = ("title__icontains",)
    ordering = ("-id",)
    fieldsets = (
        (None, {"fields": ("title", "body_html", "summary_html")}),
        (gettext_lazy("Publishing"), {"fields": ("published_at", "blog", "author", "tags")}),
        (gettext_lazy("Picture"), {"fields": ("picture", "image_alt", "remove_picture")}),
        (gettext_lazy("Address and look"), {"fields": ("handle", "template_suffix")}),
    )
    _attributes = (
        *("title", "body_html", "summary_html", "published_at", "author", "tags"),
        *("image_alt", "handle", "template_suffix"),
    )

    def storefront_path(self, instance: Article) -> str:
        """Where shoppers see it."""
        return f"/blogs/{instance.blog.handle}/{instance.handle}"

    def get_readonly_fields(self, request: HttpRequest, obj: Article | None = None) -> tuple[str, ...]:
        """An article stays in its blog."""
        return ("blog",) if obj else ()

    @display(
        description=gettext_lazy("Visibility"), label={"visible": "success", "scheduled": "info", "hidden": "warning"}
    )
    def visibility(self, article: Article) -> tuple[str, str]:
        """Whether shoppers see it."""
        if article.published_at is None:
            return "hidden", _("Hidden")
        if article.published_at <= timezone.now():
            return "visible", _("Visible")
        return "scheduled", _("Scheduled")

    def get_urls(self) -> list[URLPattern]:
        """The preview and the earlier versions, besides Django's own."""
        return [
            self.action_url("preview/", self.preview_view, "preview"),
            self.action_url("<path:object_id>/versions/<int:version_id>/", self.version_view, "version"),
            *super().get_urls(),
        ]

    def version_view(self, request: HttpRequest, object_id: str, version_id: int) -> HttpResponse:
        """What restoring an earlier text would change; POST restores it."""
        require(request, "content.view_article", "content.change_article")
        article = self.row_or_404(request, object_id)
        version = ArticleVersion.objects.filter(article=article, pk=version_id).first()
        if version is None:
            raise Http404(_("No version {number}").format(number=version_id))
        if request.method == "POST":
            require(request, "content.change_article")
            articles.restore_version(version, **self.by(request))
            self.message_user(request, _("Restored the earlier text."), messages.SUCCESS)
            return HttpResponseRedirect(self.url("change", article.pk))
        return self.page(
            request,
            "panel/articles/version.html",
            str(version.title),
            original=article,
            version=version,
            who=names_of([version.actor])[version.actor],
            parts=[
                (label, name, now, earlier)
                for name, label in (("title", _("Title")), ("body_html", _("Content")), ("summary_html", _("Excerpt")))
                if (now := getattr(article, name) or "") != (earlier := getattr(version, name) or "")
            ],
            may_change=may(request, "content.change_article"),
        )

    def preview_view(self, request: HttpRequest) -> HttpResponse:
        """What a text looks like, with everything taken away that could act."""
        require(request, "content.view_article", "content.change_article", "content.add_article")
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        markup = request.POST.get("html", "")
        if (refusal := refusal_of(markup)) is not None:
            return HttpResponse(
                _("This {refusal}.").format(refusal=retold(refusal)),
                status=422,
                content_type="text/plain; charset=utf-8",
            )
        page = render_to_string("panel/articles/preview.html", {"markup": SafeString(harmless(markup))})
        return HttpResponse(page, headers={"Content-Security-Policy": PREVIEW_POLICY, "X-Frame-Options": "SAMEORIGIN"})

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: Context | None = None,
    ) -> HttpResponse:
        """Store the picture before the transaction of saving opens: a file knows no rollback."""
        upload = request.FILES.get("picture") if request.method == "POST" else None
        if upload is not None:
            require(request, "content.change_article" if object_id else "content.add_article")
            try:
                cast("_ArticleRequest", request).picture = store_picture(upload.read(), str(upload.name))
            except PictureRefused as refusal:
                said = _("The picture {refusal}.").format(refusal=retold(refusal.errors["image"][0]))
                in_shop(request).panel_refusal = PictureRefused(said, field="picture")
            except StorageFailed as failure:
                in_shop(request).panel_refusal = PictureRefused(
                    _("{refusal} Try again.").format(refusal=in_words(failure)), field="picture"
                )
        article = self.get_object(request, object_id) if object_id else None
        return super().changeform_view(request, object_id, form_url, (extra_context or {}) | self._shown(article))

    def _shown(self, article: Article | None) -> Context:
        """The picture that the article has, and its earlier texts."""
        if article is None:
            return {}
        versions = list(ArticleVersion.objects.filter(article=article).order_by("-id").defer("body_html"))
        names = names_of([version.actor for version in versions])
        shown: Context = {"versions": [(version, names[version.actor]) for version in versions]}
        if article.image is not None:
            url = article_image_url(article.shop, article.pk, article.image_name, article.image.sha256)
            shown["picture_path"] = path_of(url)
        return shown

    def hold(self, instance: Article) -> None:
        """The blog holds its articles."""
        locked(Blog, instance.blog_id, no_key=True)
        super().hold(instance)

    def save_model(self, request: HttpRequest, obj: Article, form: ArticleForm, change: bool) -> None:
        """Write or change the article."""
        attrs = {name: value for name, value in form.given.items() if name in self._attributes}
        picture: Picture | None = getattr(request, "picture", None)
        actor, now = self.actor(request), timezone.now()
        if change:
            articles.update_article(
                Article.objects.get(pk=obj.pk),
                attrs,
                picture=picture,
                without_picture=bool(form.cleaned_data.get("remove_picture")) and picture is None,
                actor=actor,
                at=now,
            )
            return
        made = articles.create_article(form.cleaned_data["blog"].pk, attrs, picture=picture, actor=actor, at=now)
        obj.__dict__.update(made.__dict__)

    def delete_model(self, request: HttpRequest, obj: Article) -> None:
        """Delete it."""
        articles.delete_article(obj, **self.by(request))
