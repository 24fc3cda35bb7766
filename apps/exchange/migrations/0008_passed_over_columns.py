from django.db import migrations, models


class Migration(migrations.Migration):
    """Add the unsupported columns of a file."""

    dependencies = [
        ('exchange', '0007_names'),
    ]

    operations = [
        migrations.AddField(
            model_name='import',
            name='passed_over',
            field=models.JSONField(default=list, help_text='Its columns that are known to have no place here.', null=True),
        ),
    ]
