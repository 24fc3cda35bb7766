from django.db import migrations


class Migration(migrations.Migration):
    """The files that go out and come in belong to ``exchange``; their tables stay."""

    dependencies = [
        ('exchange', '0001_initial'),
        ('orders', '0003_export_of_the_audit_log'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.DeleteModel(name='ImportedRow'),
                migrations.DeleteModel(name='Import'),
                migrations.DeleteModel(name='Export'),
            ],
        ),
    ]
