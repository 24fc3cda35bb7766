from apps.core.tenancy.models import ListColumns, Membership, SavedView, SentForm, User
