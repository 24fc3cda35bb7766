"""Metafields within the form of their owner: ``inlines = (MetafieldInline,)`` in the owner's admin, and no more."""

from collections.abc import Sequence
from typing import Any

from django.contrib.admin.checks import InlineModelAdminChecks
from django.core import checks
from django.db.models import Model, QuerySet
from django.forms import BaseModelFormSet, modelformset_factory
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.metafields.admin.forms import MetafieldForm
from apps.metafields.domain import setting
from apps.metafields.domain.owners import owner_of
from apps.metafields.models import Metafield
from apps.panel.requests import By
from apps.panel.screens.inlines import ShopOwnedStackedInline, nothing_to_save, saved_by


class MetafieldFormSet(BaseModelFormSet[Metafield, MetafieldForm]):
    """The metafields of one owner; saving goes through the service, which records each change."""

    actor = ""

    def __init__(
        self, *, instance: Model | None = None, queryset: QuerySet[Metafield] | None = None, **kwargs: Any
    ) -> None:
        kwargs.pop("save_as_new", None)
        self.owner = instance
        super().__init__(queryset=_metafields_of(instance), **kwargs)

    @classmethod
    def get_default_prefix(cls) -> str:
        """How the fields' names begin."""
        return "metafields"

    def clean(self) -> None:
        """Two new ones of one name would be refused by the database only."""
        seen = set()
        for form in self.forms:
            if form in self.deleted_forms or not getattr(form, "cleaned_data", None):
                continue
            name = (form.cleaned_data.get("namespace"), form.cleaned_data.get("key"))
            if name in seen:
                form.add_error("key", _("This namespace and key stand here twice."))
            seen.add(name)

    def save(self, commit: bool = True) -> list[Metafield]:
        """Write what changed; nothing is left for the caller to save."""
        nothing_to_save(self)
        assert self.owner is not None
        by: By = {"actor": self.actor, "at": timezone.now()}
        for form in self.deleted_forms:
            if form.instance.pk:
                setting.delete(form.instance, **by)
        for form in self.forms:
            if form in self.deleted_forms or not form.has_changed():
                continue
            if form.instance.pk:
                row = Metafield.objects.get(pk=form.instance.pk)
                setting.update(row, form.values, **by)
            else:
                setting.create(owner_of(self.owner), self.owner.pk, form.values, **by)
        return []


def _metafields_of(owner: Model | None) -> QuerySet[Metafield]:
    if owner is None or owner.pk is None:
        return Metafield.rows().none()
    rows: QuerySet[Metafield] = Metafield.rows().filter(owner_resource=owner_of(owner).resource, owner_id=owner.pk)
    return rows.order_by("namespace", "key")


class _Checks(InlineModelAdminChecks):
    """There is no foreign key to check: metafields name their owner by resource and id."""

    def _check_exclude_of_parent_model(self, obj: object, parent_model: object) -> Sequence[checks.CheckMessage]:
        return []

    def _check_relation(self, obj: object, parent_model: object) -> Sequence[checks.CheckMessage]:
        return []


class MetafieldInline(ShopOwnedStackedInline[Metafield, Model]):
    """The owner's metafields; who may change the owner may change them."""

    model = Metafield
    form = MetafieldForm
    checks_class = _Checks
    verbose_name = gettext_lazy("metafield")
    verbose_name_plural = gettext_lazy("metafields")
    fields = (("namespace", "key"), "type", "value", "description")
    ordering = None

    def get_formset(self, request: HttpRequest, obj: Model | None = None, **kwargs: Any) -> Any:
        """A set that knows who saves."""
        changeable = self.has_change_permission(request, obj)
        made = modelformset_factory(
            Metafield,
            form=self.form,
            formset=MetafieldFormSet,
            extra=0,
            can_delete=changeable,
            fields=MetafieldForm.Meta.fields,
            formfield_callback=lambda field, **options: self.formfield_for_dbfield(field, request, **options),
        )
        return saved_by(request, made)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Metafield]:
        """The set itself knows its rows."""
        return Metafield.rows().none()

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """As the owner's."""
        return self._may(request, "view") or self._may(request, "change")

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """As the owner's."""
        return self._may(request, "change")

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Who may change the owner may give it metafields; a new owner is saved first."""
        return obj is not None and self._may(request, "change")

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Who may change the owner may take them away."""
        return self._may(request, "change")

    def _may(self, request: HttpRequest, verb: str) -> bool:
        label = self.parent_model._meta
        return bool(request.user.has_perm(f"{label.app_label}.{verb}_{label.model_name}"))
