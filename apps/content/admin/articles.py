from typing import Unpack, cast

from django import forms
from django.contrib import admin, messages
from django.forms.renderers import BaseRenderer
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.content.admin.preview import PreviewAdmin, render_preview
from apps.content.admin.publishing import (
    VISIBILITY_COLORS,
    VisibilityFilter,
    add_redirect_field,
    create_handle_field,
    create_redirect_field,
    get_visibility,
    redirect_if_renamed,
)
from apps.content.domain import articles, blogs
from apps.content.domain.article_images import ArticleImage, store_article_image
from apps.content.domain.articles import ArticleCopy
from apps.content.domain.public_urls import get_article_image_url, get_local_path
from apps.content.models import Article, ArticleVersion, Blog
from apps.core.admin.forms.error_display import format_errors
from apps.core.admin.forms.forms import PanelForm, validate_with_api_field
from apps.core.admin.forms.html_fields import MarkupArea, MarkupField
from apps.core.admin.forms.image_input import ImageInput
from apps.core.admin.forms.publishing import PublishingForm
from apps.core.admin.menu import MenuItem
from apps.core.admin.model_admin.base import ShopOwnedAdmin
from apps.core.admin.model_admin.duplication import (
    DuplicatingAdmin,
    HideableDuplicateForm,
    create_choice,
    create_metafields_choice,
)
from apps.core.admin.model_admin.extra_views import extra_view, row_view
from apps.core.admin.permissions import has_permission, require_permission
from apps.core.admin.staff_request import Context, EventKwargs, StaffRequest, as_staff_request
from apps.core.admin.theme import Fieldset, ThemedTextInput, display
from apps.core.db.row_locks import get_for_update
from apps.core.i18n.error_messages import format_bytes
from apps.core.i18n.messages import translate
from apps.core.media.image_validation import MAX_BYTES, MAX_MEGAPIXELS
from apps.core.media.storage import StorageFailed
from apps.core.media.uploads import UploadRefused
from apps.core.rest.resources.fields import TagsField
from apps.core.tenancy.actor_names import get_actor_names
from apps.core.tenancy.models import Membership
from apps.core.tenancy.permissions import allow, grants
from apps.core.tenancy.shops import lock_shop
from apps.metafields.admin.inline import MetafieldInline

grants.add(allow("pages", "vacd", "content.blog", "content.article"))

MAX_SUGGESTIONS = 500


class AutocompleteInput(ThemedTextInput):
    """A text input with suggestions. In a comma-separated list of tags, the suggestions complete the last tag."""

    def __init__(self, source: str) -> None:
        super().__init__(attrs={"list": f"{source}-known", "data-complete": source, "autocomplete": "off"})
        self.kind = source
        self.suggestions: list[str] = []

    def render(
        self, name: str, value: object, attrs: Context | None = None, renderer: BaseRenderer | None = None
    ) -> SafeString:
        field = super().render(name, value, attrs, renderer)
        context = {"id": f"{self.kind}-known", "known": self.suggestions}
        return field + render_to_string("panel/articles/suggestions.html", context)


class BlogForm(PanelForm[Blog]):
    handle = create_handle_field()


@admin.register(Blog)
class BlogAdmin(ShopOwnedAdmin[Blog]):
    form = BlogForm
    menu = MenuItem("Content", "library_books", 20)
    search_terms = pgettext_lazy("search", "news, comments, magazine")
    intro = gettext_lazy("A blog is a series of articles. For each blog, you choose whether customers can comment.")
    empty_text = gettext_lazy("No blogs yet. Create a blog to write articles.")
    list_display = ("title", "handle", "commentable", "tags", "updated_at")
    mobile_hide_labels = ("tags",)
    search_fields = ("title__icontains",)
    ordering = ("-id",)
    fields = ("title", "handle", "commentable", "template_suffix")
    inlines = (MetafieldInline,)

    def storefront_path(self, instance: Blog) -> str:
        return f"/blogs/{instance.handle}"

    def save_model(self, request: HttpRequest, obj: Blog, form: BlogForm, change: bool) -> None:
        attrs = {name: value for name, value in form.values_to_store.items() if name in self.fields}
        actor, now = self.actor(request), timezone.now()
        if change:
            blogs.update_blog(self.model.objects.get(pk=obj.pk), attrs, actor=actor, at=now)
        else:
            blog = blogs.create_blog(attrs, actor=actor, at=now)
            obj.__dict__.update(blog.__dict__)

    def delete_model(self, request: HttpRequest, obj: Blog) -> None:
        blogs.delete_blog(obj, **self.event_kwargs(request))


class ArticleForm(PublishingForm[Article]):
    """Form for an article. The HTML is stored exactly as entered."""

    handle = create_handle_field()
    author = forms.CharField(
        required=False,
        max_length=255,
        widget=AutocompleteInput("authors"),
        help_text=gettext_lazy("Leave blank to use the shop's name."),
        label=gettext_lazy("Author"),
    )
    tags = forms.CharField(
        required=False,
        widget=AutocompleteInput("tags"),
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
        help_text=gettext_lazy("Describe the image for people who can't see it."),
    )
    picture = forms.FileField(
        required=False,
        widget=ImageInput(),
        help_text=format_lazy(
            gettext_lazy("PNG, JPEG, GIF, WebP or AVIF, up to {size} and {megapixels} megapixels."),
            size=format_bytes(MAX_BYTES),
            megapixels=MAX_MEGAPIXELS,
        ),
        label=gettext_lazy("Image"),
    )
    remove_picture = forms.BooleanField(required=False, label=gettext_lazy("Remove image"))
    redirect_old_url = create_redirect_field()

    def prepare(self) -> None:
        super().prepare()
        if "picture" in self.fields:
            self.fields["picture"].widget.thumbnail = image = _render_image(self.instance)
            if image is None:
                self.fields["remove_picture"].widget = forms.HiddenInput()
        if "author" in self.fields:
            members = Membership.rows().select_related("user").order_by("id")
            names = {member.user.get_full_name() for member in members} | set(articles.list_authors()[:MAX_SUGGESTIONS])
            self.fields["author"].widget.suggestions = sorted(names - {""})
            self.fields["tags"].widget.suggestions = articles.list_tags(limit=MAX_SUGGESTIONS)
        if "blog" in self.fields:
            choices = Blog.rows().order_by("pk").values_list("pk", flat=True)[:2]
            if len(choices) == 1:
                self.initial.setdefault("blog", choices[0])
            elif not choices:
                text = BlogAdmin.empty_text
                self.fields["blog"].help_text = format_html(
                    '<a href="{}">{}</a>', reverse("admin:content_blog_add"), text
                )

    def clean_summary_html(self) -> str | None:
        return self.cleaned_data["summary_html"] or None

    def clean_tags(self) -> str:
        return str(validate_with_api_field(TagsField(), self.cleaned_data["tags"]))


def _render_image(article: Article) -> SafeString | None:
    if article.image is None:
        return None
    url = get_article_image_url(article.shop, article.pk, article.image_name, article.image.sha256)
    return format_html('<img src="{}" alt="{}" class="bo-picture">', get_local_path(url), article.image_alt or "")


class ArticleDuplicateForm(HideableDuplicateForm):
    """Form for a copy of an article. The blog can be chosen if the shop has several blogs."""

    image = create_choice(gettext_lazy("Image with its alternative text"))
    metafields = create_metafields_choice()

    def __init__(self, row: Article, data: QueryDict | None = None) -> None:
        super().__init__(row, data)
        choices = list(Blog.rows().order_by("title", "pk").values_list("pk", "title"))
        if len(choices) > 1:
            self.fields["blog_id"] = forms.TypedChoiceField(
                label=gettext_lazy("Blog"), coerce=int, choices=choices, initial=row.blog_id
            )
            self.order_fields(("title", "blog_id"))

    def duplicate(self, row: Article, **by: Unpack[EventKwargs]) -> Article:
        return articles.duplicate_article(row, ArticleCopy(**self.parts, visible=self.is_visible), **by)


class _ArticleRequest(StaffRequest):
    """A request that saves an article. ``image`` is set if the form contains a valid upload."""

    image: ArticleImage


@admin.register(Article)
class ArticleAdmin(PreviewAdmin[Article], DuplicatingAdmin[Article]):
    form = ArticleForm
    menu = MenuItem("Content", "article", 21)
    search_terms = pgettext_lazy("search", "blog post, news, text, writing, content")
    intro = gettext_lazy(
        "The articles in your blogs. Set a future date to schedule an article. You can restore earlier versions."
    )
    empty_text = gettext_lazy("No articles yet.")
    inlines = (MetafieldInline,)
    change_form_template = "panel/articles/change_form.html"
    list_display = ("title", "blog", "author", "tags", "visibility", "updated_at")
    mobile_hide_labels = ("blog", "author", "tags")
    list_filter = (VisibilityFilter, "blog")
    list_select_related = ("blog",)
    search_fields = ("title__icontains",)
    ordering = ("-id",)
    fieldsets = (
        (None, {"fields": ("title", "body_html", "summary_html")}),
        (
            gettext_lazy("Publishing"),
            {"classes": ("bo-aside",), "fields": ("visibility", "published_at", "blog", "author", "tags")},
        ),
        (gettext_lazy("Image"), {"classes": ("bo-aside",), "fields": ("picture", "image_alt", "remove_picture")}),
        (gettext_lazy("URL and template"), {"classes": ("bo-aside",), "fields": ("handle", "template_suffix")}),
    )
    _attributes = (
        *("title", "body_html", "summary_html", "published_at", "author", "tags"),
        *("image_alt", "handle", "template_suffix"),
    )

    def storefront_path(self, instance: Article) -> str:
        return f"/blogs/{instance.blog.handle}/{instance.handle}"

    def get_readonly_fields(self, request: HttpRequest, obj: Article | None = None) -> tuple[str, ...]:
        return ("blog",) if obj else ()

    def get_fieldsets(self, request: HttpRequest, obj: Article | None = None) -> list[Fieldset]:
        return add_redirect_field(super().get_fieldsets(request, obj), request, obj)

    @display(description=gettext_lazy("Visibility"), label=VISIBILITY_COLORS)
    def visibility(self, article: Article) -> tuple[str, str]:
        return get_visibility(article)

    @row_view("versions/<int:version_id>/", "content.view_article", "content.change_article")
    def version_view(self, request: HttpRequest, article: Article, version_id: int) -> HttpResponse:
        """Show what restoring an earlier version would change. On POST, restore the version."""
        version = ArticleVersion.objects.filter(article=article, pk=version_id).first()
        if version is None:
            raise Http404(_("Version {number} does not exist.").format(number=version_id))
        if request.method == "POST":
            require_permission(request, "content.change_article")
            articles.restore_article_version(version, **self.event_kwargs(request))
            self.message_user(request, _("Earlier version restored."), messages.SUCCESS)
            return HttpResponseRedirect(self.url("change", article.pk))
        return self.page(
            request,
            "panel/articles/version.html",
            str(version.title),
            original=article,
            version=version,
            who=get_actor_names([version.actor])[version.actor],
            parts=[
                (label, name, current, earlier)
                for name, label in (("title", _("Title")), ("body_html", _("Content")), ("summary_html", _("Excerpt")))
                if (current := getattr(article, name) or "") != (earlier := getattr(version, name) or "")
            ],
            may_change=has_permission(request, "content.change_article"),
        )

    @row_view("duplicate/", "content.add_article", keyed=True)
    def duplicate_view(self, request: HttpRequest, article: Article) -> HttpResponse:
        return self.render_duplicate(request, article, ArticleDuplicateForm)

    @extra_view("preview/", "content.view_article", "content.change_article", "content.add_article", post_only=True)
    def preview_view(self, request: HttpRequest) -> HttpResponse:
        return render_preview(request)

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: Context | None = None,
    ) -> HttpResponse:
        """Store the uploaded image before the transaction starts, because files are not rolled back."""
        upload = request.FILES.get("picture") if request.method == "POST" else None
        if upload is not None:
            require_permission(request, "content.change_article" if object_id else "content.add_article")
            try:
                cast("_ArticleRequest", request).image = store_article_image(upload.read(), str(upload.name))
            except UploadRefused as error:
                message = _("The image {refusal}.").format(refusal=translate(error.errors["image"][0]))
                as_staff_request(request).domain_error = UploadRefused(message, field="picture")
            except StorageFailed as failure:
                as_staff_request(request).domain_error = UploadRefused(
                    _("{refusal} Try again.").format(refusal=format_errors(failure)), field="picture"
                )
        article = self.get_object(request, object_id) if object_id else None
        return super().changeform_view(
            request, object_id, form_url, (extra_context or {}) | self._get_page_context(article)
        )

    def _get_page_context(self, article: Article | None) -> Context:
        if article is None:
            return {}
        versions = list(ArticleVersion.objects.filter(article=article).order_by("-id").defer("body_html"))
        names = get_actor_names([version.actor for version in versions])
        return {"versions": [(version, names[version.actor]) for version in versions]}

    def lock_row(self, instance: Article) -> None:
        """Lock the shop, the blog and then the article, because a new handle can create a redirect."""
        lock_shop()
        get_for_update(Blog, instance.blog_id, no_key=True)
        super().lock_row(instance)

    def save_model(self, request: HttpRequest, obj: Article, form: ArticleForm, change: bool) -> None:
        attrs = {name: value for name, value in form.values_to_store.items() if name in self._attributes}
        image: ArticleImage | None = getattr(request, "image", None)
        actor, now = self.actor(request), timezone.now()
        if change:
            article = Article.objects.select_related("blog").get(pk=obj.pk)
            old_path = self.storefront_path(article)
            articles.update_article(
                article,
                attrs,
                image=image,
                remove_image=bool(form.cleaned_data.get("remove_picture")) and image is None,
                actor=actor,
                at=now,
            )
            redirect_if_renamed(request, form, old_path, self.storefront_path(article), actor=actor, at=now)
            return
        article = articles.create_article(form.cleaned_data["blog"].pk, attrs, image=image, actor=actor, at=now)
        obj.__dict__.update(article.__dict__)

    def delete_model(self, request: HttpRequest, obj: Article) -> None:
        articles.delete_article(obj, **self.event_kwargs(request))
