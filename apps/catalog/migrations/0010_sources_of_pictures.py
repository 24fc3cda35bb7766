from django.db import migrations, models


class Migration(migrations.Migration):
    """Add the source of imported images, so that importing a file again does not download them twice."""

    dependencies = [
        ('catalog', '0009_indexes_of_the_panels_search'),
    ]

    operations = [
        migrations.AddField(
            model_name='productimage',
            name='source',
            field=models.CharField(blank=True, db_default='', default='', editable=False, help_text='What its address elsewhere is known again by; blank where it was not imported.', max_length=64),
        ),
    ]
