"""A stand-in for the service: the same addresses, policy and answers, made up by rule."""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from fake_explanation import explanation

from regard.web import assets

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
LIMITS = {"characters": 200, "alternatives": 10, "explain_characters": 160, "glossary_terms": 3}
WORDS = dict(
    the="le",
    cat="chat",
    dog="chien",
    sleeps="dort",
    eats="mange",
    an="une",
    apple="pomme",
    animal="animal",
    was="était",
)


class StandIn(ThreadingHTTPServer):
    """What it is asked is kept in `requests`; while `busy` it answers 503, and with `late`, too, but for good; `key` is
    wanted where it is given.

    A stream that begins while `hold` is given stops after so many words until `go_on` is set; an explanation stops,
    whatever `hold` is.
    """

    daemon_threads = True
    request_queue_size = 128  # a browser asks for all files of the page at once

    def __init__(self, models=None):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.models = models or [_model("en", "fr", "English", "French"), _model("fr", "en", "French", "English")]
        self.requests = []
        self.busy = self.late = False
        self.key = None
        self.hold = None
        self.go_on = threading.Event()

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_address[1]}/"

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *error):
        self.shutdown()
        self.server_close()

    def asked(self, path):
        return [body for asked, body in self.requests if asked == path]


def _model(source, target, source_name, target_name):
    return {
        "name": "demo",
        "source": source,
        "target": target,
        "source_name": source_name,
        "target_name": target_name,
        "calibrated": False,
        "parameters": 1_234_567,
    }


def translated(body, best=1):
    """The answer of /api/translate: word by word, from a dictionary of nine words."""
    sentences, after = [], ""
    for before, source in re.findall(r"(\s*)((?:[^\s.!?]|[.!?](?!\s|$)|(?<=\S)\s(?=\S))+[.!?]*|[.!?]+)", body["text"]):
        sentences.append(_sentence(before, source, body, best))
    end = re.search(r"\s*$", body["text"])
    after = end[0] if end and sentences else ""
    text = "".join(one["target_before"] + one["translations"][0]["text"] for one in sentences) + after
    return {"source": body["source"], "target": body["target"], "text": text, "sentences": sentences, "after": after}


def _sentence(before, source, body, best):
    words = [{"text": m[0], "start": m.start(), "stop": m.end()} for m in re.finditer(r"[\w'’]+|[^\w\s]+", source)]
    terms = {term["source"].lower(): term["target"] for term in body.get("glossary", [])}
    translations = [_translation(source, words, terms, rank, body.get("alignment")) for rank in range(best)]
    if "{" in source:  # a span that is put back as it was: then nobody knows how likely the words were
        for word in (word for translation in translations for word in translation["words"]):
            word["probability"] = None
    used = [term for term in body.get("glossary", []) if term["source"].lower() in source.lower()]
    return {
        "source": source,
        "before": before,
        "target_before": before,
        "source_words": words,
        "translations": translations,
        "constraints": [{"term": term["source"], "wanted": term["target"], "met": True} for term in used],
    }


def _translation(source, words, terms, rank, alignment):
    text, found, done = "", [], 0
    for index, word in enumerate(words):
        text += source[done : word["start"]]
        done = word["stop"]
        spelled = terms.get(word["text"].lower()) or WORDS.get(word["text"].lower(), word["text"])
        if rank and index == rank:
            spelled += "s" * rank
        start = len(text)
        text += spelled
        probability = (0.97, 0.5, 0.2)[(len(word["text"]) + rank) % 3]
        found.append({"text": spelled, "start": start, "stop": len(text), "probability": probability})
    text += source[done:]
    pairs = [[index, index] for index in range(len(words))] if alignment else []
    return {"text": text, "score": -0.25 - 0.3 * rank, "confidence": None, "words": found, "alignment": pairs}


class _Handler(BaseHTTPRequestHandler):
    server: StandIn

    def do_GET(self):
        path = self.path.split("?")[0]
        name = "index.html" if path == "/" else path.removeprefix("/static/")
        if path == "/api/models":
            needed = self.server.key is not None
            self._json({"models": self.server.models, "limits": LIMITS, "api_key_required": needed})
        elif name in assets():
            asset = assets()[name]
            self._send(200, asset.content, asset.content_type, {"ETag": asset.etag})
        else:
            self._json({"error": "there is nothing here"}, 404)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, body))
        if self.server.busy:
            self._json({"error": "the queue is full"}, 503, {"Retry-After": "1"})
        elif self.server.late:
            self._json({"error": "Took too long: not done within 30 s"}, 503)
        elif self.server.key is not None and body.get("api_key") != self.server.key:
            self._json({"error": "this key is not known"}, 403)
        elif body.get("best", 1) > LIMITS["alternatives"] + 1:
            self._json({"error": f"Invalid request: best must be <= {LIMITS['alternatives'] + 1}"}, 400)
        elif self.path == "/api/translate":
            self._json(translated(body, body.get("best", 1)))
        elif self.path == "/api/stream":
            self._stream(body)
        elif self.path == "/api/explain":
            given = body["translation"]
            own = translated(body)["text"]
            languages = (body["source"], body["target"])
            if self.server.hold is not None:
                self.server.go_on.wait(timeout=60)
            forced = given is not None
            self._json(explanation(body["text"], given or own, own=own, forced=forced, languages=languages))

    def _stream(self, body):
        self.send_response(200)
        for name, value in {"Content-Type": "text/event-stream", "Content-Security-Policy": POLICY}.items():
            self.send_header(name, value)
        self.end_headers()
        answer, hold = translated(body), self.server.hold
        words = answer["text"].split(" ")
        try:
            for count in range(1, len(words) + 1):
                self._event("partial", {"text": " ".join(words[:count])})
                if count == hold:
                    self.server.go_on.wait(timeout=60)
            self._event("done", answer)
        except OSError:
            return  # whoever asked has left

    def _event(self, name, data):
        self.wfile.write(f"event: {name}\ndata: {json.dumps(data)}\n\n".encode())
        self.wfile.flush()

    def _json(self, value, status=200, headers=None):
        self._send(status, json.dumps(value).encode(), "application/json", headers)

    def _send(self, status, content, kind, headers=None):
        self.send_response(status)
        all_headers = {
            "Content-Type": kind,
            "Content-Length": str(len(content)),
            "Content-Security-Policy": POLICY,
            "X-Content-Type-Options": "nosniff",
        } | (headers or {})
        for name, value in all_headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments):
        """Say nothing."""
