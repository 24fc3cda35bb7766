from django.db import migrations, models


class Migration(migrations.Migration):
    """Drop the choices of ``kind``, which come from the registry now; the columns do not change."""

    dependencies = [
        ('exchange', '0001_initial'),
    ]

    operations = [
        migrations.AlterField(
            model_name='export',
            name='kind',
            field=models.CharField(max_length=9),
        ),
        migrations.AlterField(
            model_name='importedrow',
            name='kind',
            field=models.CharField(blank=True, max_length=9),
        ),
    ]
