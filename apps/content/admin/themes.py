"""Themes as staff keep them: cards, uploading, publishing, and what else may be done with one."""

from collections.abc import Callable
from typing import cast

from django import forms
from django.contrib import admin, messages
from django.core.files.uploadedfile import UploadedFile
from django.http import (
    FileResponse,
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseNotAllowed,
    HttpResponseRedirect,
)
from django.urls import URLPattern
from django.utils import timezone
from django.utils.functional import lazy
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.content.admin.code import ThemeCode
from apps.content.domain import contents, extraction, themes
from apps.content.domain.archive import DEFAULT
from apps.content.domain.scripts import is_vintage
from apps.content.models import Theme
from apps.ground import languages
from apps.ground.errors import DomainError, Gone
from apps.ground.phrases import larger_than, size_of
from apps.ground.retelling import retold
from apps.jobs.models import Job
from apps.media.storage import StorageFailed
from apps.outgoing.addresses import UrlRefused, vet_url
from apps.panel.access import may, require
from apps.panel.menu import Menu
from apps.panel.once import once_or_back
from apps.panel.requests import Context
from apps.panel.seen import MEANWHILE, changed_meanwhile, mark
from apps.panel.wording import in_words
from apps.staff.domain.permissions import grant

grant("themes", "vacd", "content.theme", "content.asset")

VIEW, ADD, CHANGE, DELETE = (f"content.{verb}_theme" for verb in ("view", "add", "change", "delete"))
WHEN_READY = gettext_lazy("Its files are still being copied. As soon as they are there, customers will see this theme.")
ASKED = {"publish": gettext_lazy("Publish {name}?"), "delete": gettext_lazy("Delete {name}?")}
DOES = {"publish": gettext_lazy("Publish {name}"), "delete": gettext_lazy("Delete {name}")}
CONFIRMED = {
    "publish": gettext_lazy("Customers will see this theme at once. The theme that is published now becomes a draft."),
    "delete": gettext_lazy(
        "The theme and all of its files go, with the earlier versions of each. This cannot be undone."
    ),
}


class ThemeForm(forms.Form):
    """Where a new theme's files come from."""

    name = forms.CharField(max_length=255, label=gettext_lazy("Name"))
    archive = forms.FileField(
        label=gettext_lazy("ZIP archive"),
        required=False,
        help_text=format_lazy(
            gettext_lazy("At most {packed}, {unpacked} and {files} files unpacked."),
            packed=size_of(DEFAULT.packed_bytes),
            unpacked=size_of(DEFAULT.unpacked_bytes),
            files=lazy(languages.count, str)(DEFAULT.entries),
        ),
    )
    src = forms.CharField(
        label=gettext_lazy("Or its address"),
        required=False,
        max_length=4096,
        widget=forms.URLInput,
        help_text=gettext_lazy(
            "The URL of a ZIP archive. With neither of the two the theme begins with a few plain files."
        ),
    )
    role = forms.ChoiceField(
        label=gettext_lazy("Kind"),
        choices=[
            (Theme.Role.UNPUBLISHED, gettext_lazy("Draft")),
            (Theme.Role.MAIN, gettext_lazy("Publish it when its files are there")),
            (Theme.Role.DEVELOPMENT, gettext_lazy("For development: cannot be published")),
            (Theme.Role.DEMO, gettext_lazy("Demo: cannot be published")),
        ],
    )

    def clean_src(self) -> str:
        """An address that may be fetched."""
        src: str = self.cleaned_data["src"]
        if src:
            try:
                vet_url(src, schemes=("http", "https"))
            except UrlRefused as error:
                raise forms.ValidationError(_("The address {refusal}.").format(refusal=retold(str(error)))) from None
        return src

    def clean_archive(self) -> UploadedFile[bytes] | None:
        """An archive within the limit."""
        archive: UploadedFile[bytes] | None = self.cleaned_data["archive"]
        if archive is not None and (archive.size or 0) > DEFAULT.packed_bytes:
            raise forms.ValidationError(
                _("The archive is {size}.").format(size=retold(larger_than(DEFAULT.packed_bytes)))
            )
        return archive


class NameForm(forms.Form):
    """A theme's name."""

    name = forms.CharField(max_length=255, label=gettext_lazy("Name"))


@admin.register(Theme)
class ThemeAdmin(ThemeCode):
    """The looks of the shop: one is published, up to twenty are kept."""

    menu = Menu(
        "Online store",
        "palette",
        10,
        words=pgettext_lazy(
            "search",
            "design, look, appearance, template, layout, logo, colours, colors, font, website, storefront, html, "
            "css, liquid, brand",
        ),
    )
    search_fields = ("name__icontains",)
    list_display = ("name", "role")
    ordering = ("name", "id")

    def get_urls(self) -> list[URLPattern]:
        """What may be done with a theme, besides Django's own."""
        return [
            self.action_url("<path:object_id>/download/", self.download_view, "download"),
            self.action_url(
                "<path:object_id>/publish/", self._confirming("publish", CHANGE, themes.publish), "publish"
            ),
            self.action_url("<path:object_id>/duplicate/", self._doing(ADD, themes.duplicate), "duplicate"),
            self.action_url("<path:object_id>/retry/", self._doing(CHANGE, themes.retry), "retry"),
            *self.code_urls(),
            *super().get_urls(),
        ]

    def changelist_view(self, request: HttpRequest, extra_context: Context | None = None) -> HttpResponse:
        """The cards."""
        require(request, VIEW, CHANGE)
        rows = sorted(
            self.get_queryset(request), key=lambda theme: (theme.role != Theme.Role.MAIN, theme.name, theme.pk)
        )
        return self.page(
            request,
            "panel/themes/list.html",
            _("Themes"),
            cards=[self._card(request, theme, len(rows)) for theme in rows],
            count=len(rows),
            limit=themes.MAX_THEMES,
            may_add=may(request, ADD),
            full=len(rows) >= themes.MAX_THEMES,
        )

    def _card(self, request: HttpRequest, theme: Theme, count: int) -> Context:
        return {
            "theme": theme,
            "kind": _badge_of(theme),
            "job": _job_of(theme) if theme.processing else None,
            "vintage": theme.previewable and is_vintage(theme),
            "may_change": may(request, CHANGE),
            "may_add": may(request, ADD),
            "may_delete": may(request, DELETE),
            "publish_refusal": _publish_refusal(theme),
            "duplicate_refusal": _duplicate_refusal(theme, count),
            "delete_refusal": _delete_refusal(theme),
        }

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Context | None = None) -> HttpResponse:
        """Upload a theme."""
        require(request, ADD)
        form = ThemeForm(request.POST or None, request.FILES or None)
        if request.method == "POST" and form.is_valid():
            try:
                return cast(
                    "HttpResponse", once_or_back(request, lambda: self._add(request, form.cleaned_data), keyed=True)
                )
            except DomainError as refusal:
                form.add_error(None, in_words(refusal))
        return self.page(request, "panel/themes/add.html", _("Add a theme"), form=form)

    def _add(self, request: HttpRequest, values: Context) -> HttpResponse:
        archive = values["archive"]
        theme = themes.create_theme(
            name=values["name"],
            role=values["role"],
            src="" if archive else values["src"],
            upload=contents.store(archive.read()) if archive else None,
            actor=self.actor(request),
            at=timezone.now(),
        )
        self.message_user(request, _("The files of {theme} are being copied into place.").format(theme=theme))
        return HttpResponseRedirect(self.url("changelist"))

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Context | None = None
    ) -> HttpResponse:
        """A theme's name."""
        require(request, VIEW, CHANGE)
        theme = self.row_or_404(request, object_id)
        form = NameForm(request.POST or None, initial={"name": theme.name})
        if request.method == "POST":
            require(request, CHANGE)
            if form.is_valid() and changed_meanwhile(request, theme.name):
                form.add_error("name", MEANWHILE)
            if form.is_valid():
                themes.rename(theme, form.cleaned_data["name"], **self.by(request))
                self.message_user(request, _("The theme is called {theme} now.").format(theme=theme), messages.SUCCESS)
                return HttpResponseRedirect(self.url("changelist"))
        may_change = may(request, CHANGE)
        form.fields["name"].disabled = not may_change
        context = {"original": theme, "form": form, "seen": mark(theme.name), "may_change": may_change}
        return self.page(request, "panel/themes/detail.html", theme.name, **context)

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Context | None = None) -> HttpResponse:
        """Ask, then delete."""
        return self._confirming("delete", DELETE, themes.delete_theme)(request, object_id)

    def download_view(self, request: HttpRequest, object_id: str) -> FileResponse | HttpResponse:
        """The theme as a ZIP archive."""
        require(request, VIEW, CHANGE)
        theme = self.row_or_404(request, object_id)
        if not theme.previewable:
            self.message_user(request, _("A theme without files cannot be downloaded."), messages.ERROR)
            return HttpResponseRedirect(self.url("changelist"))
        try:
            archive = extraction.archived(theme)
        except StorageFailed as failure:
            self.message_user(
                request,
                _("{refusal} The theme cannot be downloaded.").format(refusal=in_words(failure)),
                messages.ERROR,
            )
            return HttpResponseRedirect(self.url("changelist"))
        return FileResponse(archive, as_attachment=True, filename=f"theme-{theme.pk}.zip")

    # --- one request, one service ---

    def _doing(self, permission: str, service: Callable[..., object]) -> Callable[..., HttpResponse]:
        """A view that calls a service with the theme."""

        def view(request: HttpRequest, object_id: str) -> HttpResponse:
            require(request, permission)
            theme = self.row_or_404(request, object_id)
            if request.method != "POST":
                return HttpResponseNotAllowed(["POST"])
            return self._done(request, theme, service)

        return view

    def _confirming(self, verb: str, permission: str, service: Callable[..., object]) -> Callable[..., HttpResponse]:
        """The same, with a question before."""

        def view(request: HttpRequest, object_id: str) -> HttpResponse:
            require(request, permission)
            theme = self.row_or_404(request, object_id)
            if request.method == "POST":
                return self._done(request, theme, service)
            title = ASKED[verb].format(name=theme)
            waits = verb == "publish" and theme.processing
            consequence = WHEN_READY if waits else CONFIRMED[verb]
            context = {
                "original": theme,
                "is_deletion": verb == "delete",
                "does": DOES[verb].format(name=theme),
                "consequence": consequence,
            }
            return self.page(request, "panel/themes/confirm.html", title, **context)

        return view

    def _done(self, request: HttpRequest, theme: Theme, service: Callable[..., object]) -> HttpResponse:
        name = theme.name
        try:
            service(theme, **self.by(request))
        except (Gone, Theme.DoesNotExist):
            raise Http404 from None
        except DomainError as refusal:
            self.message_user(request, in_words(refusal), messages.ERROR)
        else:
            self.message_user(request, _("Done: {name}.").format(name=name), messages.SUCCESS)
        return HttpResponseRedirect(self.url("changelist"))


def _badge_of(theme: Theme) -> str:
    """The kind of badge that its state has."""
    if theme.role == Theme.Role.MAIN:
        return "success"
    return "danger" if theme.failed else "warning" if theme.processing else "info"


def _job_of(theme: Theme) -> Job | None:
    """The newest job that copies a theme's files."""
    return Job.rows().filter(task=themes.EXTRACT, arguments={"theme_id": theme.pk}).order_by("-id").first()


def _publish_refusal(theme: Theme) -> str:
    if theme.role == Theme.Role.MAIN:
        return _("It is published.")
    if theme.role not in themes.PUBLISHABLE:
        return _("A theme of the kind “{kind}” cannot be published.").format(kind=theme.get_role_display())
    return _("It has no files.") if theme.failed else ""


def _duplicate_refusal(theme: Theme, count: int) -> str:
    if not theme.previewable:
        return _("It has no files yet.")
    return _("There are {number} themes already.").format(number=count) if count >= themes.MAX_THEMES else ""


def _delete_refusal(theme: Theme) -> str:
    if theme.processing:
        return _("Its files are being copied.")
    return _("It is published.") if theme.role == Theme.Role.MAIN else ""
