from apps.core.tenancy.permissions import allow, grants
from apps.documents.admin import bulk, documents, order_page, settings

grants.add(
    allow("orders", "v", "documents.issueddocument"),
    allow("edit_orders", "va", "documents.issueddocument"),
    allow("preferences", "vc", "documents.documentsettings"),
)
