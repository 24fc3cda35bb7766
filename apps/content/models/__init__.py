from apps.content.models.blogs import Article, ArticleTag, ArticleVersion, Blog
from apps.content.models.comments import Comment
from apps.content.models.files import FileContent, StoreFile
from apps.content.models.mobile import MobilePlatformApplication
from apps.content.models.pages import Page, Policy
from apps.content.models.redirects import Redirect
from apps.content.models.script_tags import ScriptCopy, ScriptTag
from apps.content.models.themes import Asset, AssetVersion, Theme
