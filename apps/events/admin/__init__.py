"""Panel pages for events: the audit log."""

from apps.events.admin.audit_log import EventAdmin

__all__ = ["EventAdmin"]
