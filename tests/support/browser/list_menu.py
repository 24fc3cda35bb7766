"""Open the menu of a list. Programs that do not set up Django import this module as well."""

from playwright.sync_api import Page


def open_list_menu(page: Page) -> None:
    """Open the menu of a list by keyboard. The menu contains exports, imports, bulk edits and the column chooser."""
    page.locator("summary[aria-label='More actions']").press("Enter")
