from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('payments', '0003_names'),
    ]

    operations = [
        migrations.AlterField(
            model_name='paymenthandlerconfig',
            name='available_instruments',
            field=models.JSONField(blank=True, help_text='Blank for all instruments.', null=True),
        ),
        migrations.AlterField(
            model_name='paymenthandlerconfig',
            name='enabled',
            field=models.BooleanField(default=False, help_text='Published, and available at checkout.', verbose_name='enabled'),
        ),
        migrations.AlterField(
            model_name='paymenthandlerconfig',
            name='handler_id',
            field=models.CharField(help_text='Identifies this handler. Payment instruments refer to this ID.', max_length=128, verbose_name='handler ID'),
        ),
    ]
