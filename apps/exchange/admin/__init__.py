"""The staff face of imports and exports."""

from apps.exchange.admin.exchange import ExportAdmin, ImportAdmin

__all__ = ["ExportAdmin", "ImportAdmin"]
