from apps.metafields.admin.metafields import MetafieldAdmin

__all__ = ["MetafieldAdmin"]
