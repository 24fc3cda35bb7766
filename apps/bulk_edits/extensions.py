"""The bulk edit targets, and the permission to view their edits."""

from apps.bulk_edits.domain.targets import edit_targets
from apps.bulk_edits.models import target_labels
from apps.bulk_edits.targets import TARGETS
from apps.core.i18n.messages import define_text
from apps.core.tenancy.permissions import allow_custom, grants

for _target in TARGETS:
    edit_targets.add(_target)
    target_labels.register(_target.name, define_text(f"target_label.{_target.name}", _target.label))
    grants.add(allow_custom(_target.granted_by, "bulk_edits.view_bulkedit", _target.view_permission, reads=True))
