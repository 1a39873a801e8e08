"""A hundred texts that would do something, were they taken for anything but text."""

_SCRIPT = "alert(1)"
_TAGS = [
    f"<script>{_SCRIPT}</script>",
    f"</script><script>{_SCRIPT}</script>",
    f"<img src=x onerror={_SCRIPT}>",
    f"<svg onload={_SCRIPT}>",
    f"<svg><script>{_SCRIPT}</script></svg>",
    f"<iframe srcdoc='<script>{_SCRIPT}</script>'></iframe>",
    f"<iframe src=javascript:{_SCRIPT}>",
    f"<body onload={_SCRIPT}>",
    f"<input autofocus onfocus={_SCRIPT}>",
    f"<details open ontoggle={_SCRIPT}>",
    f"<video><source onerror={_SCRIPT}></video>",
    f"<math><mtext><img src=x onerror={_SCRIPT}></mtext></math>",
    f"<a href=javascript:{_SCRIPT}>click</a>",
    f"<form action=javascript:{_SCRIPT}><button>b</button></form>",
    "<style>body{display:none}</style>",
    "<link rel=stylesheet href=//example.org/x.css>",
    "<base href=//example.org/>",
    "<meta http-equiv=refresh content=0;url=//example.org>",
    "<object data=//example.org></object>",
    "<embed src=//example.org>",
]
_BREAKS = ["{0}", '">{0}', "'>{0}", "</title>{0}", "</textarea>{0}"]
PAYLOADS = [pattern.format(tag) for tag in _TAGS[:16] for pattern in _BREAKS] + [
    *_TAGS[16:],
    f"javascript:{_SCRIPT}",
    f"data:text/html,<script>{_SCRIPT}</script>",
    "&lt;b&gt;bold&lt;/b&gt;",
    "&#60;script&#62;",
    "{{constructor.constructor('alert(1)')()}}",
    "${alert(1)}",
    "{word}{list}{share}",
    "<!--",
    "-->",
    "]]>",
    "\\u003cscript\\u003e",
    "__proto__",
    "constructor",
    "%3Cscript%3Ealert(1)%3C/script%3E",
    "a\u202eb\u2066c",
    "'; DROP TABLE words; --",
]
assert len(set(PAYLOADS)) == 100
