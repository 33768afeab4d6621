from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("jobs", "0009_refused_pods")]

    operations = [
        migrations.AddField("stream", "gap_open", models.BooleanField(default=False)),
    ]
