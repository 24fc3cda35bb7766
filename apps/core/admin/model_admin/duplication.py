"""The page that duplicates a row."""

from typing import Any, Unpack

from django import forms
from django.contrib import messages
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django_stubs_ext import StrOrPromise

from apps.core.admin.forms.error_display import format_errors
from apps.core.admin.forms.idempotency import get_post_data
from apps.core.admin.forms.publishing import HIDDEN, VISIBILITIES, VISIBLE
from apps.core.admin.model_admin.base import Row, ShopOwnedAdmin
from apps.core.admin.staff_request import EventKwargs
from apps.core.exceptions import DomainError

MAX_TITLE = 255


class DuplicateForm(forms.Form):
    """Form for a copy. Subclasses add the parts to choose."""

    title = forms.CharField(label=gettext_lazy("Title"), max_length=MAX_TITLE)

    def __init__(self, row: Any, data: QueryDict | None = None) -> None:
        super().__init__(data, initial={"title": _("Copy of {name}").format(name=row)[:MAX_TITLE]})

    def duplicate(self, row: Any, **by: Unpack[EventKwargs]) -> Model:
        """Call the service with the values of the valid form, and return the copy."""
        raise NotImplementedError


class HideableDuplicateForm(DuplicateForm):
    visibility = forms.ChoiceField(label=gettext_lazy("Visibility"), choices=VISIBILITIES, initial=HIDDEN)

    @property
    def is_visible(self) -> bool:
        return bool(self.cleaned_data["visibility"] == VISIBLE)

    @property
    def parts(self) -> dict[str, Any]:
        """Return the values of all fields except the visibility."""
        return {name: value for name, value in self.cleaned_data.items() if name != "visibility"}


def create_choice(label: StrOrPromise, *, initial: bool = True, help_text: StrOrPromise = "") -> forms.BooleanField:
    """Return a checkbox for a part of the row to copy."""
    return forms.BooleanField(label=label, required=False, initial=initial, help_text=help_text)


def create_metafields_choice() -> forms.BooleanField:
    return create_choice(
        gettext_lazy("Metafields"),
        help_text=gettext_lazy("Metafields of the type ID are not copied, because their values are unique."),
    )


class DuplicatingAdmin(ShopOwnedAdmin[Row]):
    """A model admin with a page that duplicates a row.

    Subclasses declare ``duplicate_view`` with their permissions, and include ``panel/more_menu.html`` in the form.
    """

    def render_duplicate(self, request: HttpRequest, row: Row, form_class: type[DuplicateForm]) -> HttpResponse:
        """Show the form. On POST, duplicate the row and redirect to the copy."""
        form = form_class(row, get_post_data(request))
        if request.method == "POST" and form.is_valid():
            try:
                copy = form.duplicate(row, **self.event_kwargs(request))
            except DomainError as error:
                form.add_error(None, format_errors(error))
            else:
                text = _("“{name}” was duplicated. You are now editing the copy.")
                self.message_user(request, text.format(name=row), messages.SUCCESS)
                return HttpResponseRedirect(self.url("change", copy.pk))
        context = {"original": row, "form": form, "back": self.url("change", row.pk)}
        return self.page(request, "panel/duplicate.html", _("Duplicate {name}").format(name=row), **context)
