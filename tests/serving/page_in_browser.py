#!/usr/bin/env python3
"""Uses the page at / as a person does, in a browser: draws a digit and runs the model, or types a prompt.

usage: page_in_browser.py URL [--prompt TEXT] [--program chromium-headless-shell] [--screenshot FILE] [--dark]

The server at URL has a model of digits (one picture of one channel in, ten scores out), such as examples/mnist/mnist-8.onnx;
with --prompt, a model that generates text.
The browser is steered by its debugging protocol over a pipe; Python's standard library is enough. Exit: 0 all is well, 1 not.
"""
import argparse
import base64
import json
import os
import subprocess
import sys
import tempfile
import time


class Browser:
    def __init__(self, program, profile):
        to_browser, self.writer = os.pipe()
        self.reader, from_browser = os.pipe()
        # The protocol's pipe is the descriptors 3 and 4.
        script = f'exec "$0" "$@" 3<&{to_browser} 4>&{from_browser}'
        flags = ["--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--window-size=1240,1500", f"--user-data-dir={profile}"]
        self.process = subprocess.Popen(["bash", "-c", script, program, *flags], pass_fds=(to_browser, from_browser),
                                        stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.rest, self.number, self.session, self.events = b"", 0, None, []

    def read(self):
        while b"\0" not in self.rest:
            part = os.read(self.reader, 1 << 16)
            if not part:
                raise RuntimeError("the browser ended")
            self.rest += part
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.writer, json.dumps(message).encode() + b"\0")
        while True:
            reply = self.read()
            if reply.get("id") != self.number:
                self.events.append(reply)
                continue
            if "error" in reply:
                raise RuntimeError(f"{method}: {reply['error']}")
            return reply["result"]

    def open(self, url, dark):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        if dark:
            self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
        self.call("Page.navigate", url=url)

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait(self, expression, seconds=60):
        end = time.monotonic() + seconds
        while not self.value(expression):
            if time.monotonic() > end:
                raise RuntimeError(f"{expression} did not come true in {seconds} s: {self.value('document.body.innerText')}")
            time.sleep(0.1)

    def drag(self, points):
        self.call("Input.dispatchMouseEvent", type="mousePressed", x=points[0][0], y=points[0][1], button="left", clickCount=1)
        for x, y in points[1:]:
            self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y, button="left", buttons=1)
        self.call("Input.dispatchMouseEvent", type="mouseReleased", x=points[-1][0], y=points[-1][1], button="left", clickCount=1)

    def complaints(self):
        """What scripts threw, and what the policy stopped."""
        self.value("1")
        found = [event["params"]["exceptionDetails"] for event in self.events if event.get("method") == "Runtime.exceptionThrown"]
        entries = [event["params"]["entry"] for event in self.events if event.get("method") == "Log.entryAdded"]
        return found + [entry["text"] for entry in entries if entry["level"] == "error"]

    def end(self):
        self.process.kill()
        self.process.wait()


def box(browser, selector):
    browser.value(f"document.querySelector('{selector}').scrollIntoView({{block: 'center'}})")
    sides = browser.value(f"JSON.stringify(document.querySelector('{selector}').getBoundingClientRect())")
    return json.loads(sides)


def draw(browser, lines):
    """Lines of a digit, in parts of the pad."""
    pad = box(browser, ".pad")
    for line in lines:
        browser.drag([(pad["x"] + x * pad["width"], pad["y"] + y * pad["height"]) for x, y in line])


def run_model(browser):
    browser.value("document.getElementById('outputs').replaceChildren()")
    browser.value("document.querySelector('#try button.primary').click()")
    browser.wait("document.querySelector('.bar.best') !== null || !document.getElementById('failure').hidden")
    failure = browser.value("document.getElementById('failure').textContent")
    if failure:
        raise RuntimeError(f"the run failed: {failure}")
    return browser.value("document.querySelector('.bar.best span').textContent")


def check_prompt(browser, prompt):
    """The text is the prompt and what came while it was written, and a second run begins anew."""
    browser.wait("document.querySelector('textarea[aria-label=prompt]') !== null")
    for tokens in (3, 20):
        browser.value("document.querySelector('textarea[aria-label=prompt]').select()")
        browser.value("document.querySelector('textarea[aria-label=prompt]').focus()")
        browser.call("Input.insertText", text=prompt)
        browser.value(f"document.querySelector('#inputs input[max=\"100000\"]').value = {tokens}")
        browser.value("document.getElementById('taken').textContent = ''")
        browser.value("document.querySelector('#try button.primary').click()")
        browser.wait("document.getElementById('taken').textContent !== '' || !document.getElementById('failure').hidden")
        failure = browser.value("document.getElementById('failure').textContent")
        assert not failure, f"the run failed: {failure}"
        text = browser.value("document.querySelector('#outputs pre.text').textContent")
        assert text.startswith(prompt) and len(text) > len(prompt), f"the text is '{text}'"


def check_digits(browser):
    browser.wait("document.querySelector('.pad') !== null")
    digits = {
        "1": [[(0.5, 0.2), (0.5, 0.5), (0.5, 0.8)]],
        "7": [[(0.3, 0.25), (0.5, 0.25), (0.7, 0.25), (0.6, 0.5), (0.5, 0.65), (0.42, 0.82)]],
    }
    for digit, lines in digits.items():
        browser.value("[...document.querySelectorAll('button')].find((each) => each.textContent === 'Clear').click()")
        draw(browser, lines)
        best = run_model(browser)
        assert best == digit, f"a {digit} was drawn, the best class is '{best}'"
    for _ in range(3):
        run_model(browser)
        time.sleep(0.7)


def check(browser, url, arguments):
    browser.open(url, arguments.dark)
    browser.wait("document.querySelectorAll('#models button').length > 0")
    if arguments.prompt:
        check_prompt(browser, arguments.prompt)
    else:
        check_digits(browser)
    browser.wait("document.getElementById('latency').textContent !== '–'")
    browser.wait("document.getElementById('totals').textContent.includes('in all')")
    assert browser.value("document.querySelectorAll('#signature tr').length") >= 2
    if arguments.screenshot:
        browser.value("window.scrollTo(0, 0)")
        picture = browser.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        with open(arguments.screenshot, "wb") as file:
            file.write(base64.b64decode(picture["data"]))
    complaints = browser.complaints()
    assert not complaints, f"the browser complains: {complaints}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("--prompt", help="typed into the form of a model that generates text")
    parser.add_argument("--program", default="chromium-headless-shell")
    parser.add_argument("--screenshot")
    parser.add_argument("--dark", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(arguments.program, profile)
        try:
            check(browser, arguments.url, arguments)
        except (AssertionError, RuntimeError) as error:
            print(f"the page: {error}")
            return 1
        finally:
            browser.end()
    print("the page works")
    return 0


if __name__ == "__main__":
    sys.exit(main())
