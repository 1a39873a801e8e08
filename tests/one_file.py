"""What holds of every page in one file: a policy for its very parts, nothing from outside, text that stays text."""

import base64
import hashlib
import json
import re
from typing import Any

NASTY = "</script><script>alert(1)</script><!-- ]]> {{data}} & \u2028\u2029 \ud800 '\""


def data_of(page: str, name: str) -> Any:
    """The JSON that the page has for its script, in the element of that name."""
    return json.loads(re.search(rf'id="{name}">(.*?)</script>', page, re.DOTALL)[1])


def check_policy(page: str, script: str) -> None:
    """The policy names the very style and script of the page; `script` is the tag that opens it."""
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1].replace("&#x27;", "'")
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for tag, opening in (("style", "<style>"), ("script", script)):
        text = re.search(rf"{re.escape(opening)}(.*?)</{tag}>", page, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def check_nothing_outside(page: str) -> None:
    """The page asks for nothing but itself, and sets text as text."""
    assert set(re.findall(r"https?://[^\s\"'`)]+", page)) <= {"http://www.w3.org/2000/svg"}
    assert set(re.findall(r"<link [^>]*>", page)) <= {'<link rel="icon" href="data:,">'}
    assert not re.search(r"<(img|iframe)|@import|url\(|\bsrc=|fetch\(", page)
    assert not re.search(r"innerHTML|insertAdjacentHTML|document\.write", page)


def check_hostile_text(page: str) -> None:
    """A page that was given NASTY text has two scripts all the same, and no comment."""
    assert "alert(1)</script>" not in page
    assert page.count("<script") == 2
    assert "<!--" not in page
    page.encode("utf-8")
