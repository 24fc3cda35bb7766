"""Staff pages for imports and exports."""

from apps.exchange.admin.exports import ExportAdmin
from apps.exchange.admin.imports import ImportAdmin

__all__ = ["ExportAdmin", "ImportAdmin"]
