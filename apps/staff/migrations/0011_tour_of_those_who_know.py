from django.db import migrations
from django.db.models.functions import Now


def end(apps, schema_editor):
    """Do not offer the tour to users who have logged in before."""
    apps.get_model("staff", "User").objects.filter(last_login__isnull=False).update(tour_ended_at=Now())


class Migration(migrations.Migration):
    dependencies = [("staff", "0010_tour")]

    operations = [migrations.RunPython(end, migrations.RunPython.noop)]
