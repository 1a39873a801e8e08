"""The web page: its files for the service, and the Look inside view as one file."""

from regard.web.bundle import self_contained_page
from regard.web.files import Asset, assets

__all__ = ["Asset", "assets", "self_contained_page"]
