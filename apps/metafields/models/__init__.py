from apps.metafields.models.metafields import Metafield

__all__ = ["Metafield"]
