from django.db import migrations, models


class Migration(migrations.Migration):
    """Add the column mapping of a user."""

    dependencies = [
        ('exchange', '0004_json_documents'),
    ]

    operations = [
        migrations.AddField(
            model_name='import',
            name='mapping',
            field=models.JSONField(help_text='What people said its columns mean; else their names say it.', null=True),
        ),
    ]
