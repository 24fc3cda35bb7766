"""The importable and exportable resources, and the permissions to import and export them."""

from apps.core.i18n.messages import define_text
from apps.core.tenancy.permissions import allow, allow_custom, grants
from apps.imports_exports.domain.resources import resources
from apps.imports_exports.models import resource_labels
from apps.imports_exports.resources import RESOURCES
from apps.imports_exports.resources.metafields.resource import IMPORT_PERMISSION as METAFIELDS_IMPORT

for _resource in RESOURCES:
    resources.add(_resource)
    resource_labels.register(_resource.name, define_text(f"resource_label.{_resource.name}", _resource.label))
    define_text(f"resource_name.{_resource.name}", _resource.name)
    if (_exporter := _resource.exporter) is not None:
        grants.add(allow_custom(_exporter.granted_by, _exporter.permission, reads=False))

for _permission in {_resource.importer.granted_by for _resource in RESOURCES if _resource.importer is not None}:
    grants.add(allow(_permission, "va", "imports_exports.import"))
    grants.add(allow(_permission, "v", "imports_exports.importedrow"))

for _permission in ("products", "customers", "edit_orders", "pages"):
    # The import checks which owners of metafields staff may change.
    grants.add(allow_custom(_permission, METAFIELDS_IMPORT, reads=False))
for _permission in {_resource.exporter.granted_by for _resource in RESOURCES if _resource.exporter is not None}:
    grants.add(allow(_permission, "v", "imports_exports.export"))
