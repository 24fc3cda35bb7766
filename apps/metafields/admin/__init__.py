from apps.metafields.admin.metafields import MetafieldAdmin
