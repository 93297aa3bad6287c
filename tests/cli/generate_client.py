"""generate_client.py - a client of `clattn serve` with a language model
usage: tests/cli/generate_client.py CLATTN RUN DOCUMENTS

What the service writes is what `clattn generate` prints, at once or as events. DOCUMENTS
is the run of a model that ends its texts."""
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time

clattn, run, documents = sys.argv[1:]
MANY = 1000000  # pieces, which take longer than the test


def generate(prompt, *options, model=run):
    """What the command writes behind a prompt."""
    out = subprocess.run([clattn, "generate", "--model", model, "--json", *options, prompt],
                         check=True, capture_output=True, text=True).stdout
    return json.loads(out)["text"]


def post(port, path, value):
    to = http.client.HTTPConnection("127.0.0.1", port)
    to.request("POST", path, json.dumps(value).encode())
    response = to.getresponse()
    made = response.status, json.loads(response.read())
    to.close()
    return made


def check_texts(port):
    def same(value, want):
        got = post(port, "/generate", value)
        assert got == (200, {"text": want}), (value, got, want)

    one = generate("one two", "--greedy", "--pieces", "20")
    same({"prompt": "one two", "greedy": True, "pieces": 20}, one)
    same({"prompt": "one two", "temperature": 0, "pieces": 20}, one)
    same({"prompt": ["one two", "four"], "greedy": True, "pieces": 20},
         [one, generate("four", "--greedy", "--pieces", "20")])
    same({"prompt": "one two", "greedy": True, "stop": [" five", "\n"]},
         generate("one two", "--greedy", "--stop", " five", "--stop", "\n"))
    same({"prompt": "one two", "greedy": True, "stop": " four"}, " three")
    drawn = {"prompt": "o", "temperature": 3, "seed": 7, "top_k": 5, "top_p": 0.9, "pieces": 30}
    same(drawn, generate("o", "--temperature", "3", "--seed", "7", "--top-k", "5", "--top-p",
                         "0.9", "--pieces", "30"))
    same({"prompt": [], "greedy": True}, [])


def check_errors(port):
    for value, code, error in [
            ({}, 400, 'the request has no "prompt"'),
            ({"prompt": 7}, 400, '"prompt" must be a string or a list of strings'),
            ({"prompt": "a", "pieces": 0}, 400, '"pieces" must be a whole number from 1 to 4096'),
            ({"prompt": "a", "pieces": 4097}, 400,
             '"pieces" must be a whole number from 1 to 4096'),
            ({"prompt": "a", "seed": -1}, 400, '"seed" must be a whole number from 0 to 4294967295'),
            ({"prompt": "a", "top_k": 1.5}, 400, '"top_k" must be a whole number'),
            ({"prompt": "a", "top_p": 1.5}, 400, '"top_p" must be a number from 0 to 1'),
            ({"prompt": "a", "temperature": "hot"}, 400, '"temperature" must be a number'),
            ({"prompt": "a", "greedy": 1}, 400, '"greedy" must be true or false'),
            ({"prompt": "a", "stream": 1}, 400, '"stream" must be true or false'),
            ({"prompt": ["a"], "stream": True}, 400, '"stream" takes one prompt, no list'),
            ({"prompt": "a " * 5000, "stream": True, "pieces": 1}, 413, 'a text has 5000 words'),
            ({"prompt": "a", "stop": [""]}, 400, '"stop" must be a string or a list of strings'),
            ({"prompt": "a", "stop": ["x"] * 17}, 400, '"stop" has more than 16 strings')]:
        got = post(port, "/generate", value)
        assert got[0] == code and got[1]["error"].startswith(error), (value, got)
    got = post(port, "/translate", {"q": "a"})
    assert got == (404, {"error": "/translate: the model is a lm, which has /generate"}), got


# ---- events ----------------------------------------------------------------------------


class Stream:
    """The events of a response while it is written."""

    def __init__(self, port, **value):
        self.to = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self.to.request("POST", "/generate", json.dumps({**value, "stream": True}).encode())
        self.response = self.to.getresponse()
        assert self.response.status == 200, self.response.read()
        assert self.response.getheader("Content-Type") == "text/event-stream"
        assert self.response.getheader("Cache-Control") == "no-cache"

    def next(self):
        """The next event, or None at the end."""
        line = self.response.readline()
        if not line:
            return None
        assert line.startswith(b"data: ") and self.response.readline() == b"\n", line
        return json.loads(line[6:])

    def rest(self):
        return list(iter(self.next, None))

    def leave(self):
        self.response.close()
        self.to.close()


def check_events(port):
    def same(value, why, want):
        *parts, last = Stream(port, **value).rest()
        assert last == {"text": "", "finish_reason": why}, (value, last)
        assert all(list(part) == ["text"] and part["text"] for part in parts), parts
        assert "".join(part["text"] for part in parts) == want, (value, parts)
        return len(parts)

    whole = generate("one two", "--greedy", "--pieces", "20")
    count = same({"prompt": "one two", "greedy": True, "pieces": 20}, "length", whole)
    assert count == 20, count  # an event for each character
    same({"prompt": "one two", "greedy": True, "stop": " five"}, "stop", " three four")
    same({"prompt": "one two", "greedy": True, "stop": " three"}, "stop", "")
    two = [Stream(port, prompt=p, greedy=True, pieces=20) for p in ("one two", "four")]
    said = ["".join(part["text"] for part in s.rest()) for s in two]
    assert said == [whole, generate("four", "--greedy", "--pieces", "20")], said


def check_page(port):
    """The curl of docs/serve.md answers with events as the page says."""
    name = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/serve.md")
    with open(name, encoding="utf-8") as file:
        text = file.read()
    at = text.index("$ curl -N ")
    command, *shown = text[at + 2:text.index("```", at)].rstrip("\n").split("\n")
    command = command.replace("http://127.0.0.1:5000", f"http://127.0.0.1:{port}")
    got = subprocess.run(["sh", "-c", command], check=True, capture_output=True,
                         text=True).stdout.rstrip("\n").split("\n")
    assert len(got) == len(shown) == 7, got
    for ours, pages in zip(got, shown):
        keys = [list(json.loads(x[6:])) if x.startswith("data: ") else x for x in (ours, pages)]
        assert keys[0] == keys[1], (ours, pages)
    assert got[-1] == shown[-1], got


def metric(port, name):
    to = http.client.HTTPConnection("127.0.0.1", port)
    to.request("GET", "/metrics")
    found = re.search(rf"^{re.escape(name)} (\d+)$", to.getresponse().read().decode(), re.M)
    to.close()
    return int(found.group(1)) if found else 0


def check_leaving(port):
    """Who leaves while its text is written frees the worker for the next client."""
    left = 'clattn_requests_total{status="499"}'
    stream = Stream(port, prompt="one", pieces=MANY)
    assert stream.next()["text"]
    stream.leave()
    got = post(port, "/generate", {"prompt": "one two", "greedy": True, "pieces": 6})
    assert got == (200, {"text": " three"}), got
    until = time.monotonic() + 60
    while metric(port, left) < 1:
        assert time.monotonic() < until, "the service did not notice"
        time.sleep(0.02)
    first = Stream(port, prompt="one", pieces=MANY)  # a second one waits behind it
    waiting = http.client.HTTPConnection("127.0.0.1", port)
    waiting.request("POST", "/generate", json.dumps(
        {"prompt": "one", "pieces": MANY, "stream": True}).encode())
    assert first.next()["text"]
    waiting.close()
    first.leave()
    got = post(port, "/generate", {"prompt": "one two", "greedy": True, "pieces": 6})
    assert got == (200, {"text": " three"}), got


def served(model, check, *options):
    """Checks a service, which ends with 0, and sends all of an accepted stream before."""
    process = subprocess.Popen([clattn, "serve", "--model", model, "--port", "0", *options],
                               stdout=subprocess.PIPE, text=True)
    try:
        address = re.fullmatch(r"http://127\.0\.0\.1:(\d+)\n", process.stdout.readline())
        port = int(address.group(1))
        check(port)
        stream = Stream(port, prompt="one", greedy=True, pieces=300)
        first = stream.next()["text"]
        process.send_signal(signal.SIGTERM)
        *parts, last = stream.rest()
        assert last["finish_reason"] in ("length", "end"), last
        said = first + "".join(part["text"] for part in parts)
        assert said == generate("one", "--greedy", "--pieces", "300", model=model), said
        assert process.wait(timeout=120) == 0
    finally:
        process.kill()


def check_all(port):
    check_texts(port)
    check_errors(port)
    check_events(port)
    check_page(port)


def check_end(port):
    *parts, last = Stream(port, prompt="one", greedy=True).rest()
    assert last == {"text": "", "finish_reason": "end"}, last
    assert "".join(part["text"] for part in parts) == " two", parts


served(run, check_all)
served(run, check_leaving, "--max-words", str(MANY))
served(documents, check_end)
