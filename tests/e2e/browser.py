"""browser.py - a headless Chromium for tests, spoken to through pipes in its DevTools protocol; no other package needed."""
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
# A machine without a network: nothing that would ask for one.
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars", "--force-color-profile=srgb",
         "--remote-debugging-pipe", "about:blank")


def find_chromium():
    """The program, or the test is skipped."""
    path = os.environ.get("VT_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if not path:
        print("SKIP: no Chromium here (Debian: chromium); VT_CHROMIUM names one")
        sys.exit(77)
    return path


def start_browser():
    """A Browser, or None with a word of why: no program of that name, or one that cannot start here."""
    if not (os.environ.get("VT_CHROMIUM") or any(map(shutil.which, NAMES))):
        print("no Chromium here (Debian: chromium; VT_CHROMIUM names one): pages are not looked at")
        return None
    try:
        return Browser()
    except (OSError, RuntimeError) as error:
        print(f"Chromium does not start here ({error}): pages are not looked at")
        return None


class Browser:
    """One page. `problems` collects what its scripts threw or logged as an error, `requests` every address it asked for."""

    def __init__(self, width=1600, height=1000, dark=False):
        self.profile = tempfile.mkdtemp(prefix="vt-chromium-")
        to_read, self.write_fd = os.pipe()
        self.read_fd, to_write = os.pipe()

        def as_three_and_four():
            read, write = os.dup(to_read), os.dup(to_write)
            os.dup2(read, 3)
            os.dup2(write, 4)
        self.process = subprocess.Popen([find_chromium(), f"--user-data-dir={self.profile}", *FLAGS], pass_fds=(3, 4),
                                        preexec_fn=as_three_and_four, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.buffer, self.number, self.session = b"", 0, None
        self.problems, self.requests, self.pages = [], [], {}
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.look(width, height, dark)

    def look(self, width, height, dark):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def receive(self):
        while b"\0" not in self.buffer:
            part = os.read(self.read_fd, 1 << 20)
            if not part:
                raise RuntimeError("Chromium is gone")
            self.buffer += part
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def send(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_fd, json.dumps(message).encode() + b"\0")
        return self.number

    def pretend(self, url, page):
        """A page of another host, without a network: the browser takes this text for what is at that address."""
        self.pages[url] = page
        self.call("Fetch.enable", patterns=[{"urlPattern": f"{url}*"} for url in self.pages])

    def grant(self, origin, *permissions):
        """What a person would be asked for; names that this Chromium does not know are left out."""
        session, self.session = self.session, None
        for permission in permissions:
            try:
                self.call("Browser.grantPermissions", origin=origin, permissions=[permission])
            except RuntimeError:
                pass
        self.session = session

    def call(self, method, **params):
        number = self.send(method, **params)
        while True:
            answer = self.receive()
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.take(answer)

    def take(self, event):
        params = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description", details["text"]))
        elif event.get("method") == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.problems.append(params["entry"]["text"])
        elif event.get("method") == "Fetch.requestPaused":
            self.send("Fetch.fulfillRequest", requestId=params["requestId"], responseCode=200,
                      responseHeaders=[{"name": "Content-Type", "value": "text/html"}],
                      body=base64.b64encode(self.pages.get(params["request"]["url"].split("#")[0], "").encode()).decode())
        elif event.get("method") == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])

    def go(self, url):
        self.problems.clear()
        self.requests.clear()
        self.call("Page.navigate", url=url)

    def evaluate(self, expression):
        """The value of a JavaScript expression, promises awaited."""
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails'].get('exception', {}).get('description')}")
        return result["result"].get("value")

    def wait_for(self, expression, seconds=60):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            value = self.evaluate(expression)
            if value:
                return value
            time.sleep(0.05)
        raise RuntimeError(f"never true: {expression}; problems: {self.problems}")

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y):
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", clickCount=1)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1)

    def drag(self, x, y, to_x):
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", clickCount=1)
        for part in range(1, 6):
            self.mouse("mouseMoved", x + (to_x - x) * part / 5, y, button="left", buttons=1)
        self.mouse("mouseReleased", to_x, y, button="left", clickCount=1)

    def key(self, key):
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=key if len(key) == 1 else "")
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def picture(self, path, whole=False):
        self.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def close(self):
        self.process.terminate()
        self.process.wait()
        os.close(self.read_fd)
        os.close(self.write_fd)
        shutil.rmtree(self.profile, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
