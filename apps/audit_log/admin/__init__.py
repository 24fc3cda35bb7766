from apps.audit_log.admin.audit_log import EventAdmin
