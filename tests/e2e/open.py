#!/usr/bin/env python3
"""open.py VRAMTRACE TRACE...: what `vramtrace open` hands over, and to whom: by hand over a socket, and to a page of the
right and of another origin in a real browser."""
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import io

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
UI = "https://ui.perfetto.dev"
failures = 0


def expect(condition, message):
    global failures
    if not condition:
        failures += 1
        print("FAIL:", message)


class Opened:
    """A running `vramtrace open`, with the address that it printed."""

    def __init__(self, vramtrace, *arguments):
        self.process = subprocess.Popen([vramtrace, "open", "--browser", "none", "--port", "0", *arguments], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.link = self.process.stdout.readline().decode().strip()
        found = re.fullmatch(re.escape(UI) + r"/#!/\?url=http://127\.0\.0\.1:(\d+)(/[0-9a-f]{32}/[\w.-]+)&referrer=vramtrace"
                             r"&enablePlugins=dev\.perfetto\.GpuByProcess,com\.meta\.GpuCompute", self.link)
        expect(found, f"the link: {self.link} {'' if found else self.process.stderr.read().decode()}")
        self.port, self.path = int(found[1]), found[2]

    def ask(self, request):
        """(status line, headers, body)"""
        with socket.create_connection(("127.0.0.1", self.port), 60) as connection:
            connection.sendall(request.encode())
            data = b""
            while part := connection.recv(1 << 20):
                data += part
        head, _, body = data.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        return lines[0], dict(line.split(": ", 1) for line in lines[1:]), body

    def get(self, path=None, host=None, more=""):
        return self.ask(f"GET {path or self.path} HTTP/1.1\r\nHost: {host or f'127.0.0.1:{self.port}'}\r\n{more}\r\n")

    def ended(self):
        return self.process.wait(60)


def check_answers(vramtrace, trace, wanted):
    opened = Opened(vramtrace, trace)
    # What browsers open and leave alone must not keep anybody waiting.
    idle = [socket.create_connection(("127.0.0.1", opened.port)) for _ in range(20)]
    for name, answer, status in (
            ("another path", opened.get("/"), "404"), ("a guess", opened.get(f"/{'0' * 32}/{opened.path[34:]}"), "404"),
            ("a path that goes on", opened.get(opened.path + "x"), "404"),
            ("another host", opened.get(host=f"evil.example:{opened.port}"), "403"),
            ("another page", opened.get(more="Origin: https://evil.example\r\n"), "403"),
            ("a page whose origin begins as ours", opened.get(more=f"Origin: {UI}.evil.example\r\n"), "403"),
            ("no host", opened.ask(f"GET {opened.path} HTTP/1.0\r\n\r\n"), "403"),
            ("POST", opened.ask(f"POST {opened.path} HTTP/1.1\r\nHost: 127.0.0.1:{opened.port}\r\n\r\n"), "404"),
            ("a huge head", opened.ask("GET / HTTP/1.1\r\n" + "a" * 8200), "431"),
            ("preflight", opened.ask(f"OPTIONS {opened.path} HTTP/1.1\r\nHost: localhost:{opened.port}\r\nOrigin: {UI}\r\n\r\n"), "204"),
            ("HEAD", opened.ask(f"HEAD {opened.path} HTTP/1.1\r\nHost: localhost:{opened.port}\r\n\r\n"), "200")):
        expect(answer[0].split()[1] == status, f"{name}: {answer[0]}, not {status}")
        expect(not answer[2], f"{name}: has a body")
    expect(opened.process.poll() is None, "it ended before the file was fetched")
    status, headers, body = opened.get(more=f"Origin: {UI}\r\n")
    expect(status.split()[1] == "200" and headers["Access-Control-Allow-Origin"] == UI, f"the answer: {status} {headers}")
    expect(int(headers["Content-Length"]) == len(body) and body == wanted, "the file is not the one of export")
    expect(opened.ended() == 0, f"status {opened.process.returncode}")
    for connection in idle:
        connection.close()


def check_several(vramtrace, traces, exported):
    opened = Opened(vramtrace, *traces)
    body = opened.get()[2]
    expect(opened.ended() == 0, "several: status")
    with tarfile.open(fileobj=io.BytesIO(body)) as tar:
        names = tar.getnames()
        manifest = json.load(tar.extractfile("perfetto_manifest.json"))["perfetto_manifest"]
        expect([f["path"] for f in manifest["files"]] == names[1:], f"the manifest names {manifest['files']}, the archive has {names}")
        expect(manifest["version"] == 1 and manifest["trace_time"] == {"clock": "REALTIME"}, f"the manifest: {manifest}")
        for name, wanted in zip(names[1:], exported):
            expect(tar.extractfile(name).read() == wanted, f"{name} is not what export writes")


def check_other(vramtrace, trace, work):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = subprocess.run([vramtrace, "open", "--browser", "none", "--port", str(taken.getsockname()[1]), trace], capture_output=True)
        expect(done.returncode == 4 and b"listened" in done.stderr, f"a taken port: {done}")
    opened = Opened(vramtrace, trace)
    opened.process.send_signal(signal.SIGINT)
    expect(opened.ended() == -signal.SIGINT, "Ctrl-C does not end it")
    # The program that opens the link gets the link.
    saved, program = os.path.join(work, "link"), os.path.join(work, "browser")
    with open(program, "w") as file:
        file.write(f'#!/bin/sh\nprintf %s "$1" >{saved}.new && mv {saved}.new {saved}\n')
    os.chmod(program, 0o755)
    process = subprocess.Popen([vramtrace, "open", "--browser", program, "--port", "0", trace], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    link = process.stdout.readline().decode().strip()
    for _ in range(200):
        if os.path.exists(saved):
            break
        signal.sigtimedwait([], 0.05)
    expect(os.path.exists(saved) and open(saved).read() == link, "the browser is not given the link")
    process.terminate()
    process.wait()
    for arguments in ([], ["--detail", "lots", trace], ["--port", "70000", trace]):
        expect(subprocess.run([vramtrace, "open", *arguments], capture_output=True).returncode == 2, f"open {arguments}: status")
    expect(subprocess.run([vramtrace, "open", program], capture_output=True).returncode == 3, "open of no trace: status")


def check_browser(vramtrace, trace, wanted):
    from browser import start_browser
    started = start_browser()
    if not started:
        return
    fetch = ("fetch({!r}).then((r) => r.arrayBuffer()).then((b) => crypto.subtle.digest('SHA-256', b))"
             ".then((d) => [...new Uint8Array(d)].map((x) => x.toString(16).padStart(2, '0')).join('')).catch((e) => String(e))")
    import hashlib
    with started as browser:
        browser.pretend(f"{UI}/", "<p>not Perfetto")
        browser.pretend("https://evil.example/", "<p>evil")
        opened = Opened(vramtrace, trace)
        address = f"http://127.0.0.1:{opened.port}{opened.path}"
        browser.go("https://evil.example/")
        browser.wait_for("document.body?.innerText === 'evil'")
        # A person is asked whether a page may speak to this machine; here both pages may, and only one gets the trace.
        browser.grant("https://evil.example", "localNetworkAccess", "loopbackNetwork")
        browser.grant(UI, "localNetworkAccess", "loopbackNetwork")
        answer = browser.evaluate(fetch.format(address))
        expect("Failed to fetch" in answer, f"another page gets {answer}")
        browser.go(opened.link)
        browser.wait_for("document.body?.innerText === 'not Perfetto'")
        found = browser.evaluate("new URL(location.href.replace('#!/', '')).searchParams.get('url')")
        expect(found == address, f"the page reads {found} in the link")
        answer = browser.evaluate(fetch.format(address))
        expect(answer == hashlib.sha256(wanted).hexdigest(), f"Perfetto's page gets {answer}: {browser.problems}")
        expect(opened.ended() == 0, "browser: status")


def main():
    vramtrace, traces = sys.argv[1], sys.argv[2:]
    with tempfile.TemporaryDirectory() as work:
        exported = []
        for trace in traces:
            subprocess.run([vramtrace, "export", "--quiet", "--format", "perfetto", "-o", f"{work}/out", trace], check=True)
            exported.append(open(f"{work}/out", "rb").read())
        check_answers(vramtrace, traces[0], exported[0])
        check_several(vramtrace, traces, exported)
        check_other(vramtrace, traces[0], work)
        check_browser(vramtrace, traces[0], exported[0])
    sys.exit(failures > 0)


main()
