"""Optimistic locking for objects without a version column, so that a save never overwrites newer changes.

The form contains a fingerprint of the displayed values in the field ``seen``. For rows with a version,
``apps.core.admin.forms.forms`` compares the version instead.
"""

import hashlib

from django.http import HttpRequest
from django.utils.translation import gettext_lazy

EDIT_CONFLICT = gettext_lazy(
    "Someone else changed this in the meantime. Your changes are not saved yet. Review them and save again."
)


def compute_fingerprint(*values: object) -> str:
    return hashlib.sha256(repr(values).encode()).hexdigest()[:20]


def has_changed_since_render(request: HttpRequest, *values: object) -> bool:
    submitted_mark = request.POST.get("seen", "")
    return bool(submitted_mark) and submitted_mark != compute_fingerprint(*values)
