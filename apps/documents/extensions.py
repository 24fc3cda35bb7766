"""What the documents app adds to other apps."""

from apps.core.i18n.messages import define_text
from apps.core.tenancy.permissions import allow, grants
from apps.documents.domain import automatic, bulk_files, privacy
from apps.imports_exports.domain.resources import resources
from apps.imports_exports.models import resource_labels
from apps.orders.domain import hooks

hooks.erasure_hooks.add(privacy.erase_delivery_addresses)
hooks.paid_listeners.add(automatic.enqueue_invoices)
for _resource in bulk_files.RESOURCES:
    resources.add(_resource)
    resource_labels.register(_resource.name, define_text(f"resource_label.{_resource.name}", _resource.label))
    define_text(f"resource_name.{_resource.name}", _resource.name)
for _permission in ("orders", "edit_orders"):
    grants.add(allow(_permission, "v", "imports_exports.export"))
