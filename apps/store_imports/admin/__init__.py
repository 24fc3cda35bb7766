from apps.core.tenancy.permissions import allow, grants
from apps.store_imports.admin.store_imports import StoreImportAdmin

# Staff also need the permission to import files with the objects that they bring over.
grants.add(allow("preferences", "va", "store_imports.storeimport"))
