"""An inline for an owner's metafields. To use it, add ``inlines = (MetafieldInline,)`` to the owner's admin class."""

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

from apps.core.admin.forms.forms import ShopOwnedStackedInline, add_actor_to_formset, mark_formset_saved
from apps.core.admin.staff_request import EventKwargs
from apps.metafields.admin.forms import MetafieldForm
from apps.metafields.domain import write
from apps.metafields.domain.owners import get_owner_type_of_row
from apps.metafields.models import Metafield


class MetafieldFormSet(BaseModelFormSet[Metafield, MetafieldForm]):
    actor = ""

    def __init__(
        self, *, instance: Model | None = None, queryset: QuerySet[Metafield] | None = None, **kwargs: Any
    ) -> None:
        kwargs.pop("save_as_new", None)
        self.owner = instance
        super().__init__(queryset=_get_metafields(instance), **kwargs)

    @classmethod
    def get_default_prefix(cls) -> str:
        return "metafields"

    def clean(self) -> None:
        """Add an error if two new metafields have the same namespace and key, because saving both would fail."""
        names = set()
        for form in self.forms:
            if form in self.deleted_forms or not getattr(form, "cleaned_data", None):
                continue
            name = (form.cleaned_data.get("namespace"), form.cleaned_data.get("key"))
            if name in names:
                form.add_error("key", _("Another metafield above already uses this namespace and key."))
            names.add(name)

    def save(self, commit: bool = True) -> list[Metafield]:
        """Save the changes through ``domain.write``. Return an empty list, so that the admin saves nothing itself."""
        mark_formset_saved(self)
        assert self.owner is not None
        by: EventKwargs = {"actor": self.actor, "at": timezone.now()}
        for form in self.deleted_forms:
            if form.instance.pk:
                write.delete_metafield(form.instance, **by)
        for form in self.forms:
            if form in self.deleted_forms or not form.has_changed():
                continue
            if form.instance.pk:
                row = Metafield.objects.get(pk=form.instance.pk)
                write.update_metafield(row, form.values, **by)
            else:
                write.create_metafield(get_owner_type_of_row(self.owner), self.owner.pk, form.values, **by)
        return []


def _get_metafields(owner: Model | None) -> QuerySet[Metafield]:
    if owner is None or owner.pk is None:
        return Metafield.rows().none()
    rows: QuerySet[Metafield] = Metafield.rows().filter(
        owner_resource=get_owner_type_of_row(owner).resource, owner_id=owner.pk
    )
    return rows.order_by("namespace", "key")


class _Checks(InlineModelAdminChecks):
    """Inline checks without the foreign key check. Metafields refer to their owner by resource and ID."""

    def _check_exclude_of_parent_model(self, obj: object, parent_model: object) -> Sequence[checks.CheckMessage]:
        return []

    def _check_relation(self, obj: object, parent_model: object) -> Sequence[checks.CheckMessage]:
        return []


class MetafieldInline(ShopOwnedStackedInline[Metafield, Model]):
    """An inline for an owner's metafields. Users who may change the owner may also change its metafields."""

    model = Metafield
    form = MetafieldForm
    checks_class = _Checks
    verbose_name = gettext_lazy("metafield")
    verbose_name_plural = gettext_lazy("metafields")
    fields = (("namespace", "key"), "type", "value", "description")
    ordering = None

    def get_formset(self, request: HttpRequest, obj: Model | None = None, **kwargs: Any) -> Any:
        changeable = self.has_change_permission(request, obj)
        formset = modelformset_factory(
            Metafield,
            form=self.form,
            formset=MetafieldFormSet,
            extra=0,
            can_delete=changeable,
            fields=MetafieldForm.Meta.fields,
            formfield_callback=lambda field, **options: self.formfield_for_dbfield(field, request, **options),
        )
        return add_actor_to_formset(request, formset)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Metafield]:
        """Return no metafields, because the formset loads them itself."""
        return Metafield.rows().none()

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return self._may(request, "view") or self._may(request, "change")

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return self._may(request, "change")

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return obj is not None and self._may(request, "change")

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return self._may(request, "change")

    def _may(self, request: HttpRequest, verb: str) -> bool:
        label = self.parent_model._meta
        return bool(request.user.has_perm(f"{label.app_label}.{verb}_{label.model_name}"))
