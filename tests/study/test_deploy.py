"""docs/deploy.md as it stands: nginx with TLS before several server processes on PostgreSQL, one of them killed under load."""

import re
import shutil
import ssl
import subprocess
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from random import Random

import httpx
import psutil
import pytest

from bayesteach.study.server import prepare
from bayesteach.study.simulate import Behaviour, person
from tests.study.people import body
from tests.study.postgres import free_port
from tests.study.server import server
from tests.study.test_kill import Remembering, stored

ROOT = Path(__file__).parent.parent.parent
PEOPLE = 6


def blocks(language: str) -> list[str]:
    page = (ROOT / "docs" / "deploy.md").read_text("utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.MULTILINE | re.DOTALL)


class Persistent(Remembering):
    """A person whose browser sends the same answer again until it is acknowledged, as ours does."""

    def __init__(self, client, here, over):
        super().__init__(client, here)
        self.over = over

    def answer(self, index, choice, rt):
        if (self.phase, index) in self.acknowledged:
            return
        asked = body(index, choice, phase=self.phase)
        while not self.over.is_set():
            try:
                got = self.client.post("/api/answers", json=asked, headers={"X-CSRF": self.csrf})
            except httpx.TransportError:
                continue
            if got.status_code < 500:
                break
        got.raise_for_status()
        self.acknowledged[self.phase, index] = choice


def live(door, here, number, over):
    """To the end; what a broken connection or a proxy without a server cuts off is begun again."""
    while not over.is_set():
        try:
            behaviour = Behaviour(lambda *_: number % 2 == 0, lambda _: 0.0)
            for _ in person(door, here, behaviour, number, Random(number)):
                time.sleep(0.002)
        except httpx.TransportError:
            continue
        except httpx.HTTPStatusError as error:
            if error.response.status_code < 500:
                raise
            continue
        return


def processes(running) -> list[psutil.Process]:
    """Those that serve, without the parent that watches over them."""
    children = psutil.Process(running.process.pid).children()
    alive = [child for child in children if child.status() != psutil.STATUS_ZOMBIE]
    return [child for child in alive if any("spawn_main" in word for word in child.cmdline())]


def through(here, running, client) -> None:
    """People come, a process is killed while they answer, another takes its place, and every answer is there once."""
    over = threading.Event()
    doors = [Persistent(client(), here, over) for _ in range(PEOPLE)]
    threads = [threading.Thread(target=live, args=(door, here, n, over)) for n, door in enumerate(doors)]
    for thread in threads:
        thread.start()
    try:
        # Once everybody is in: a consent whose reply is lost makes a second person.
        while not all(door.agreed for door in doors) or not any(door.acknowledged for door in doors):
            time.sleep(0.001)
        assert all(thread.is_alive() for thread in threads)
        first = processes(running)
        assert len(first) == 2
        first[0].kill()
        for thread in threads:
            thread.join()
    finally:
        over.set()
    total = len(here.materials.stimuli.shown)
    for door in doors:
        assert stored(here, door) == door.acknowledged
        assert len(door.acknowledged) == total
        door.client.close()
    while len(now := processes(running)) < 2:
        time.sleep(0.05)
    assert first[1] in now
    assert first[0] not in now


@pytest.mark.verify
def test_one_of_several_processes_is_killed_under_load_and_nothing_is_lost(folder, url):
    here = prepare(folder, url).serving
    port = free_port()
    with server(folder, url, port, "--workers", "2") as running:
        base = f"http://127.0.0.1:{port}"
        through(here, running, lambda: httpx.Client(base_url=base, timeout=30))
    here.database.close()


@contextmanager
def nginx(scratch: Path, upstream: int):
    """The page's configuration, with ports, paths and a certificate of this test; the address of the HTTPS side."""
    program = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
    if program is None:
        pytest.skip("nginx is not installed: apt install nginx")
    (site,) = blocks("nginx")
    plain, secure = free_port(), free_port()
    name = "/CN=study.example.org"
    pair = [scratch / "key.pem", scratch / "cert.pem"]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", name, "-addext",
         "subjectAltName=DNS:study.example.org", "-keyout", pair[0], "-out", pair[1]],
        check=True, capture_output=True,
    )  # fmt: skip
    live = "/etc/letsencrypt/live/study.example.org"
    for old, new in (
        ("127.0.0.1:8000", f"127.0.0.1:{upstream}"),
        ("listen 80;", f"listen 127.0.0.1:{plain};"),
        ("listen 443 ssl", f"listen 127.0.0.1:{secure} ssl"),
        (f"{live}/fullchain.pem", str(pair[1])),
        (f"{live}/privkey.pem", str(pair[0])),
    ):
        assert old in site, old
        site = site.replace(old, new)
    temporary = "".join(
        f"{kind}_temp_path {scratch}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    whole = f"pid {scratch}/pid; error_log {scratch}/error.log; daemon off; events {{}} http {{ {temporary} {site} }}"
    (scratch / "nginx.conf").write_text(whole)
    command = [program, "-p", str(scratch), "-c", str(scratch / "nginx.conf")]
    checked = subprocess.run([*command, "-t"], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    assert "warn" not in checked.stderr, checked.stderr
    started = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        while not (scratch / "pid").exists():
            assert started.poll() is None, started.stderr.read()
            time.sleep(0.01)
        yield plain, secure, pair[1]
    finally:
        started.terminate()
        started.communicate()


@pytest.mark.verify
def test_the_page_works_from_the_browser_to_the_database(folder, url, tmp_path):
    here = prepare(folder, url).serving
    port = free_port()
    with server(folder, url, port, "--workers", "2", "--behind-proxy") as running, nginx(tmp_path, port) as at:
        plain, secure, certificate = at
        trusted = ssl.create_default_context(cafile=str(certificate))
        trusted.check_hostname = False  # the name leads elsewhere

        def client() -> httpx.Client:
            headers = {"Host": "study.example.org"}
            return httpx.Client(base_url=f"https://127.0.0.1:{secure}", headers=headers, verify=trusted, timeout=30)

        moved = httpx.get(f"http://127.0.0.1:{plain}/?PROLIFIC_PID=1", headers={"Host": "study.example.org"})
        assert moved.status_code == 301
        assert moved.headers["location"] == "https://study.example.org/?PROLIFIC_PID=1"
        with client() as visitor:
            landing = visitor.get("/?mode=test")
            assert landing.status_code == 200
            assert "max-age" in landing.headers["strict-transport-security"]
            assert "Secure" in landing.headers["set-cookie"]
            assert visitor.get("/health").status_code == 200
        through(here, running, client)
    here.database.close()


def test_the_unit_is_one_that_systemd_takes(tmp_path):
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd is not installed")
    (text,) = [block for block in blocks("ini") if "[Service]" in block]
    for path in re.findall(r"^(?:ExecStart)=(\S+)", text, re.MULTILINE):
        text = text.replace(path, "/bin/true")
    unit = tmp_path / "bayesteach.service"
    unit.write_text(text)
    done = subprocess.run([program, "verify", str(unit)], capture_output=True, text=True, check=False)
    said = [line for line in done.stderr.splitlines() if "bayesteach.service" in line]
    assert not said
