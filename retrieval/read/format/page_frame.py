"""What stands around the content of an HTML page: navigation, cookie banners, footers and the like."""

from __future__ import annotations

import re
from typing import Any

_TAGS = ("script", "style", "noscript", "template", "nav", "footer", "iframe", "svg", "dialog")
_FIELDS = ("input", "select", "textarea", "button")
_ROLES = ("navigation", "contentinfo", "search", "dialog", "alertdialog", "menu", "menubar", "banner")
_NAMED = re.compile(
    r"(?:^|[\s_-])(?:cookies?|\w*cookie(?:bot|banner|consent|dialog)\w*|consent|gdpr|ccpa|onetrust|breadcrumbs?|navbar"
    r"|navigation|nav|gnb|lnb|snb|topnav|sidenav|footer|copyright|skip-?(?:link|nav|to\w*)|advert\w*|ads?|adsbygoogle"
    r"|sphinxsidebar|toctree|paging|pagination|pager|popup|newsletter-?signup|subscribe|headerlink|preheader|editsection"
    r"|noprint|viewcode-link)(?=$|[\s_-])",
    re.IGNORECASE,
)
"""Names in ``class`` and ``id`` of what surrounds the content, as the usual systems write them."""
_LINKED = re.compile(
    r"(?:^|[\s_-])(?:sidebar|share|sharing|sns|social|related(?:-\w+)?|recommend\w*|toolbar|menu)(?=$|[\s_-])",
    re.IGNORECASE,
)
"""Names of what surrounds the content when most of it are links; a restaurant has a menu, too."""
_SMALL = 0.4
"""A part that its name alone leaves out has at most this share of the page's text; more is the content itself."""
FEW = 40
"""With fewer letters a part named so is no text."""
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden|mso-hide\s*:\s*all", re.IGNORECASE)


def drop_frame(root: Any) -> None:
    """Removes from a page what surrounds its content, and unwraps forms without their fields."""
    for element in [*root.iter(*_TAGS, *_FIELDS)]:
        _drop_element(element)
    for form in [*root.iter("form")]:
        form.drop_tag()
    size = len(_join_letters(root))
    for element in [each for each in root.iter() if isinstance(each.tag, str) and _is_around(each)]:
        if (
            element.tag not in ("html", "body", "main", "article", "h1")
            and len(_join_letters(element)) <= _SMALL * size
        ):
            _drop_element(element)


def _is_around(element: Any) -> bool:
    if element.get("role") in _ROLES or element.get("hidden") is not None or _HIDDEN.search(element.get("style", "")):
        return True
    if element.tag == "header":
        parent = element.getparent()
        return parent is not None and parent.tag in ("body", "div") and next(element.iter("h1"), None) is None
    name = f"{element.get('class', '')} {element.get('id', '')}"
    return len(name) > 1 and (_NAMED.search(name) is not None or (bool(_LINKED.search(name)) and _is_linked(element)))


def _is_linked(element: Any) -> bool:
    """Returns whether most words of an element are links and headings, or it has hardly any."""
    size = len(_join_letters(element))
    linked = sum(len(_join_letters(each)) for each in element.iter("a", "h2", "h3", "h4", "h5", "h6"))
    return size < FEW or 2 * linked > size


def _drop_element(element: Any) -> None:
    if element.getparent() is not None:
        element.drop_tree()


def _join_letters(element: Any) -> str:
    return "".join("".join(element.itertext()).split())
