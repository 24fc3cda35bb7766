from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('webhooks', '0005_names'),
    ]

    operations = [
        migrations.AlterField(
            model_name='delivery',
            name='state',
            field=models.CharField(choices=[('due', 'Waiting'), ('retry', 'Waiting for retry'), ('leased', 'Sending'), ('done', 'Delivered'), ('dead', 'Failed'), ('held', 'Held (subscription paused or disabled)'), ('cancelled', 'Canceled')], default='due', max_length=10, verbose_name='state'),
        ),
        migrations.AlterField(
            model_name='subscription',
            name='ordered',
            field=models.BooleanField(default=False, help_text='Deliver events of each resource in order.', verbose_name='ordered'),
        ),
        migrations.AlterField(
            model_name='subscription',
            name='origin',
            field=models.CharField(choices=[('api', 'Created by the app for this shop'), ('config', "From the app's configuration file, for all its shops")], default='api', editable=False, max_length=10),
        ),
    ]
