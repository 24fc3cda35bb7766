from django.db import migrations

from apps.core.db.migration_operations import DropShopIndexes


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("content", "0001_initial")]

    operations = [DropShopIndexes("article", "articletag", "blog", "filecontent", "mobileplatformapplication", "scripttag", "storefile", "theme")]
