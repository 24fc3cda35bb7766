from apps.metafields.models.metafields import Metafield
