"""Settings, keys and the command: flags before environment before file, mistakes named with their place."""

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from http_world import http
from tiny_world import Command

from regard.errors import ConfigError
from regard.serve.keys import KeyRing
from regard.serve.settings import ServeSettings, load_settings

REPOSITORY = Path(__file__).parent.parent.parent


def test_flags_go_before_environment_before_file(tmp_path: Path) -> None:
    path = tmp_path / "serve.toml"
    path.write_text('port = 1\nitems = 2\ncharacters = 3\nmodels = ["a"]\nhost = "file"\n', encoding="utf-8")
    environment = {
        "REGARD_SERVE_ITEMS": "20",
        "REGARD_SERVE_CHARACTERS": "30",
        "REGARD_SERVE_CORS": "https://a, http://b",
    }
    settings = load_settings(path, {"characters": 300, "host": None}, environment)
    assert (settings.port, settings.items, settings.characters, settings.host) == (1, 20, 300, "file")
    assert settings.cors == ("https://a", "http://b")
    assert settings.models == ("a",)
    assert settings.seconds == ServeSettings().seconds


@pytest.mark.parametrize(
    ("text", "flags", "environment", "sentence"),
    [
        ("prot = 1", {}, {}, "FILE: there is no setting `prot`; did you mean `port`?"),
        ('port = "x"', {}, {}, "FILE: `port` is 'x': input should be a valid integer"),
        ("port = 70000", {}, {}, "FILE: `port` is 70000: input should be less than or equal to 65535"),
        ("port = ", {}, {}, "FILE: not valid TOML"),
        ("", {}, {"REGARD_SERVE_PORT": "x"}, "the environment: `port` is 'x': input should be a valid integer"),
        ("", {}, {"REGARD_SERVE_PROT": "1"}, "the environment: there is no setting `prot`"),
        ("", {"characters": 30_000}, {}, "`characters` (30,000) must not be more than `total_characters`"),
        ("", {"port": -1}, {}, "the command line: `port` is -1"),
    ],
)
def test_mistakes_are_named(
    tmp_path: Path, text: str, flags: dict[str, object], environment: dict[str, str], sentence: str
) -> None:
    path = tmp_path / "serve.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=re.escape(sentence.replace("FILE", str(path)))):
        load_settings(path, flags, environment)


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        *(
            ("cors", value, "write scheme://host or scheme://host:port, such as https://example.org")
            for value in ("https://example.org/", "https://example.org/a", "example.com", "null", "https://", "a b")
        ),
        *(
            ("hosts", value, "write it alone, such as translate.example.org")
            for value in ("host:8443", "https://a.example", "a.example/b", "[::1]", "*", "")
        ),
    ],
)
def test_origins_and_hosts_that_can_never_match_are_named(name: str, value: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(sentence)) as raised:
        load_settings(None, {name: (value,)}, {})
    assert str(raised.value).startswith(f"the command line: `{name}` is ")


def test_origins_are_kept_as_browsers_write_them() -> None:
    given = ("https://A.example:443", "http://b:8080", "http://[::1]:80", "app://c", "https://d:80")
    wanted = ("https://a.example", "http://b:8080", "http://[::1]", "app://c", "https://d:80")
    assert ServeSettings(cors=given).cors == wanted
    assert ServeSettings(cors=("*",)).cors == ("*",)
    assert ServeSettings(hosts=("a_b.example", "192.0.2.1", "2001:db8::1")).hosts[2] == "2001:db8::1"


def test_names_of_this_machine_where_it_listens_to_itself() -> None:
    assert ServeSettings().allowed_hosts == {"127.0.0.1", "localhost", "::1"}
    for host in ("0.0.0.0", "::", "192.0.2.1", "a.example", "128.0.0.1"):
        assert ServeSettings(host=host).allowed_hosts is None
    for host in ("127.0.0.2", "127.1", "127.255.255.254", "LOCALHOST", "a.localhost", "0:0:0:0:0:0:0:1"):
        assert ServeSettings(host=host).allowed_hosts == {"127.0.0.1", "localhost", "::1", host.lower()}
    assert "127.0.0.2" in (ServeSettings(host="127.0.0.2", hosts=("a.example",)).allowed_hosts or ())
    assert "a.example" in (ServeSettings(hosts=("A.example",)).allowed_hosts or ())


def test_every_setting_is_in_the_docs() -> None:
    page = (REPOSITORY / "docs" / "service.md").read_text(encoding="utf-8")
    for row in settings_table():
        assert row in page, row


def settings_table() -> list[str]:
    """The rows of docs/service.md."""
    rows = []
    for name, field in ServeSettings.model_fields.items():
        shown = str(field.default).lower() if isinstance(field.default, bool) else str(field.default)
        default = "none" if field.default in ((), None) else f"`{shown}`"
        rows.append(f"| `{name}` | {default} | {field.description} |")
    return rows


def test_api_key_prints_a_key_once(regard: Command, tmp_path: Path) -> None:
    path = tmp_path / "keys.toml"
    made = regard("api-key", path, "--name", 'al"ice', "--rate", "5")
    assert made.code == 0
    key = made.output.strip()
    found = KeyRing.load(path).find(key)
    assert found is not None
    assert (found.name, found.rate) == ('al"ice', 5)
    assert KeyRing.load(path).find(key.upper()) is None
    again = regard("api-key", path, "--name", 'al"ice')
    assert again.code == 2
    assert "already" in again.errors


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("[[key]]\nname = 'a'\n", "`key.0.sha256`: field required"),
        ("[[key]]\nname = 'a'\nsha256 = 'x'\n", "`key.0.sha256`"),
        ("kex = 1\n", "`kex`"),
        ("[", "not valid TOML"),
        (None, "no such file of keys"),
    ],
)
def test_bad_files_of_keys_are_named(
    regard: Command, tiny_run: Path, tmp_path: Path, content: str | None, sentence: str
) -> None:
    path = tmp_path / "keys.toml"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    ended = regard("serve", tiny_run, "--keys", path, "--port", "0")
    assert ended.code == 2
    assert str(path) in ended.errors
    assert sentence in ended.errors


def test_mistakes_of_the_command(regard: Command, tiny_run: Path, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        for arguments, sentence in (
            ((), "there is no model to serve"),
            (("nowhere",), "no such model folder"),
            ((tiny_run, tiny_run), "both translate from 'en' to 'fr'"),
            ((tiny_run, "--port", str(port)), f"port {port} of 127.0.0.1 is in use"),
            ((tiny_run, "--host", "203.0.113.7", "--port", "0"), "is no address of this machine"),
            ((tiny_run, "--host", "no.such.host.invalid"), "no such address"),
            ((tiny_run, "--config", tmp_path / "none.toml"), "no such file of settings"),
            ((tiny_run, "--set", "port"), "write it as name=value"),
            ((tiny_run, "--set", "itms=3"), "did you mean `items`?"),
        ):
            ended = regard("serve", *arguments)
            assert (ended.code, sentence in ended.errors) == (2, True), (arguments, ended.errors)


def test_the_extra_is_named_where_it_is_missing(
    regard: Command, tiny_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fastapi", None)
    ended = regard("serve", tiny_run)
    assert ended.code == 2
    assert "pip install -e '.[serve]'" in ended.errors


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_command_serves_and_ends_well(tiny_run: Path, number: int) -> None:
    command = [sys.executable, "-m", "regard", "serve", str(tiny_run), "--port", "0"]
    environment = {**os.environ, "REGARD_SERVE_CHARACTERS": "100"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=REPOSITORY
    ) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        address = re.findall(r"http://[\d.:]+", first)[0]
        assert "en to fr" in process.stdout.readline()
        assert "100 characters" in process.stdout.readline()
        body = {"q": "the cat", "source": "en", "target": "fr"}
        assert http.post(f"{address}/translate", json=body).status_code == 200
        process.send_signal(number)
        assert process.wait(120) == 0
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()
