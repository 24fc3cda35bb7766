from django.apps import AppConfig


class AuditLogConfig(AppConfig):
    name = "apps.audit_log"
