"""What we take of django-unfold: the only module that imports it, so that one place changes with it."""

from unfold.admin import ModelAdmin as ThemedAdmin
from unfold.admin import StackedInline as ThemedStackedInline
from unfold.admin import TabularInline as ThemedTabularInline
from unfold.contrib.filters.admin import AutocompleteSelectFilter
from unfold.dataclasses import SearchResult
from unfold.decorators import display
from unfold.sites import UnfoldAdminSite as ThemedSite
from unfold.views import ChangeList as ThemedChangeList
from unfold.widgets import UnfoldAdminEmailInputWidget as ThemedEmailInput
from unfold.widgets import UnfoldAdminFileFieldWidget as ThemedFileInput
from unfold.widgets import UnfoldAdminSelectWidget as ThemedSelect
from unfold.widgets import UnfoldAdminTextareaWidget as ThemedTextarea
from unfold.widgets import UnfoldAdminTextInputWidget as ThemedTextInput
from unfold.widgets import UnfoldBooleanSwitchWidget as ThemedSwitch

__all__ = [
    "AutocompleteSelectFilter",
    "SearchResult",
    "ThemedAdmin",
    "ThemedChangeList",
    "ThemedEmailInput",
    "ThemedFileInput",
    "ThemedSelect",
    "ThemedSite",
    "ThemedStackedInline",
    "ThemedSwitch",
    "ThemedTabularInline",
    "ThemedTextInput",
    "ThemedTextarea",
    "display",
]
