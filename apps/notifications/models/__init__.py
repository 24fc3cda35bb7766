from apps.notifications.models.notifications import Notification, Preference, SeenMark
