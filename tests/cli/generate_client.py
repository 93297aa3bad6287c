"""generate_client.py - a client of `clattn serve` with a language model
usage: tests/cli/generate_client.py CLATTN RUN

What the service writes is what `clattn generate` prints."""
import http.client
import json
import re
import signal
import subprocess
import sys

clattn, run = sys.argv[1:]


def generate(prompt, *options):
    """What the command writes behind a prompt."""
    out = subprocess.run([clattn, "generate", "--model", run, "--json", *options, prompt],
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
            ({"prompt": "a", "pieces": 4097}, 400, '"pieces" must be a whole number from 1 to 4096'),
            ({"prompt": "a", "seed": -1}, 400, '"seed" must be a whole number from 0 to 4294967295'),
            ({"prompt": "a", "top_k": 1.5}, 400, '"top_k" must be a whole number'),
            ({"prompt": "a", "top_p": 1.5}, 400, '"top_p" must be a number from 0 to 1'),
            ({"prompt": "a", "temperature": "hot"}, 400, '"temperature" must be a number'),
            ({"prompt": "a", "greedy": 1}, 400, '"greedy" must be true or false'),
            ({"prompt": "a", "stop": [""]}, 400, '"stop" must be a string or a list of strings'),
            ({"prompt": "a", "stop": ["x"] * 17}, 400, '"stop" has more than 16 strings')]:
        got = post(port, "/generate", value)
        assert got[0] == code and got[1]["error"].startswith(error), (value, got)
    got = post(port, "/translate", {"q": "a"})
    assert got == (404, {"error": "/translate: the model is a lm, which has /generate"}), got


process = subprocess.Popen([clattn, "serve", "--model", run, "--port", "0"],
                           stdout=subprocess.PIPE, text=True)
try:
    address = re.fullmatch(r"http://127\.0\.0\.1:(\d+)\n", process.stdout.readline())
    check_texts(int(address.group(1)))
    check_errors(int(address.group(1)))
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=120) == 0
finally:
    process.kill()
