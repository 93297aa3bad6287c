"""serve_client.py - clients of `clattn serve`; each part starts a service of its own
usage: tests/cli/serve_client.py PART CLATTN WORK

WORK has the models translator, tagger and reader. Nothing depends on how long something
takes: where requests have to meet in a batch, the service waits for a minute at most."""
import collections
import html
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.parse

part, clattn, work = sys.argv[1:]
lines = ["the red dog runs.", "a blue cat runs.", "", "the red cat sleeps.",
         "a blue dog sleeps.", "the blue cat runs.", "a red dog", "dog"]


class Service:
    """A running service: `with Service("tagger", "--wait", "5") as s`."""

    def __init__(self, model, *options):
        several = [x for name in model.split() for x in ("--model", f"{work}/{name}")]
        self.arguments = [clattn, "serve", *several, "--port", "0", *options]

    def __enter__(self):
        self.process = subprocess.Popen(self.arguments, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True,
                                        env={**os.environ, "CLATTN_LOG": "info"})
        said = self.process.stdout.readline()
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)\n", said)
        assert found, (said, self.process.communicate())
        self.port = int(found.group(1))
        return self

    def stop(self, number=signal.SIGTERM):
        """Ends the service, which has to exit with 0; gives what it logged."""
        self.process.send_signal(number)
        log = self.process.communicate(timeout=120)[1]
        assert self.process.returncode == 0, (self.process.returncode, log)
        return log

    def __exit__(self, kind, value, trace):
        if self.process.poll() is None:
            if kind:
                self.process.kill()
                print(self.process.communicate()[1])
            else:
                self.stop()
        else:
            assert kind or self.process.returncode == 0, self.process.returncode

    def raw(self, method, path, body=None, headers=None):
        """Status, headers and body of a response."""
        to = http.client.HTTPConnection("127.0.0.1", self.port)
        to.request(method, path, body, headers or {})
        response = to.getresponse()
        result = response.status, response.headers, response.read()
        to.close()
        return result

    def post(self, path, value):
        status, headers, body = self.raw("POST", path, json.dumps(value).encode())
        assert headers["Content-Type"] == "application/json", headers
        return status, json.loads(body)

    def metric(self, name):
        text = self.raw("GET", "/metrics")[2].decode()
        found = re.search(rf"^clattn_{re.escape(name)} (\S+)$", text, re.M)
        assert found, (name, text)
        return float(found.group(1))


def equal(found, wanted):
    assert found == wanted, f"{found!r} is not {wanted!r}"


def refused(answer, status, part_of_message):
    """An error is a status and {"error": message}."""
    body = answer[-1]
    if isinstance(body, bytes):
        body = json.loads(body)
    assert answer[0] == status and list(body) == ["error"], answer
    assert part_of_message in body["error"], answer


def command(verb, model, text, *options):
    ran = subprocess.run([clattn, verb, "--model", f"{work}/{model}", *options],
                         input=text, capture_output=True, text=True, check=True)
    return ran.stdout


def translated(some):
    return command("translate", "translator", "".join(x + "\n" for x in some)).split("\n")[:-1]


def together(functions):
    """Calls all at the same time; gives their results, or raises what one of them raised."""
    results, raised = [None] * len(functions), []

    def call(i):
        try:
            results[i] = functions[i]()
        except Exception as error:  # a thread's own ends with it
            raised.append(error)

    threads = [threading.Thread(target=call, args=(i,)) for i in range(len(functions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]
    return results


# ---- each kind of model


def translator():
    wanted = translated(lines)
    with Service("translator") as s:
        for line, words in zip(lines, wanted):
            equal(s.post("/translate", {"q": line}), (200, {"translatedText": words}))
        equal(s.post("/translate", {"q": lines, "source": "en", "target": "de",
                                    "format": "text"}), (200, {"translatedText": wanted}))
        got = s.post("/translate", {"q": "\r\n".join(lines), "source": "auto"})
        equal((got[0], got[1]["translatedText"]), (200, "\n".join(wanted)))
        equal(s.post("/translate", {"q": []}), (200, {"translatedText": []}))
        languages = json.loads(s.raw("GET", "/languages")[2])
        equal([x["code"] for x in languages], ["en", "de"])
        equal(languages[0]["targets"], ["de"])
        equal(s.raw("POST", "/languages", b"")[2], s.raw("GET", "/languages")[2])
        equal(json.loads(s.raw("GET", "/health")[2]), {"status": "ok", "model": "translator"})
        equal(s.raw("HEAD", "/health")[0], 200)
        equal(s.metric('requests_total{status="200"}'), 8 + len(lines))
        equal(s.metric("texts_total"), 3 * len(lines))
        equal(s.metric("queue_texts"), 0)
        equal(s.metric('request_seconds_bucket{le="+Inf"}'), 8 + len(lines) + 3)
        log = s.stop(signal.SIGINT)
        assert not any(x and x in log for x in lines), "texts are in the log"
    with Service("translator", "--beam", "4", "--batch", "3") as s:
        beam = command("translate", "translator", "\n".join(lines) + "\n", "--beam", "4")
        equal(s.post("/translate", {"q": lines})[1]["translatedText"], beam.split("\n")[:-1])


def tagger():
    sentences = ["il ne vient pas", "nous avons parlé de la musique", "# oui"]
    rows = command("tag", "tagger", "\n".join(sentences[:2]) + "\n").split("\n\n")[:2]
    wanted = [[{"word": c[1], "tag": c[3]} for c in
               (r.split("\t") for r in sentence.split("\n") if r and r[0] != "#")]
              for sentence in rows]
    with Service("tagger") as s:
        equal(s.post("/tag", {"text": sentences[0]}), (200, {"tags": wanted[0]}))
        status, body = s.post("/tag", {"text": ["", *sentences, " \n\t "]})
        equal(status, 200)
        equal(body["tags"][:3], [[], *wanted])
        equal([x["word"] for x in body["tags"][3]], ["#", "oui"])
        equal(body["tags"][4], [])
        equal(s.post("/tag", {"text": "  il\t ne\n vient pas "}), (200, {"tags": wanted[0]}))
        refused(s.post("/translate", {"q": "a"}), 404, "the model is a tagger, which has /tag")
        refused(s.raw("GET", "/languages"), 404, "the model is a tagger")
    with Service("tagger", "--max-words", "4") as s:
        equal(s.post("/tag", {"text": sentences[0]})[0], 200)
        refused(s.post("/tag", {"text": ["a", "a b c d e"]}), 413, "5 words")


def reader():
    passage = "Än sold red figs on day 0."
    questions = ["What did Än sell?", "Who sold red figs?", ""]
    given = json.dumps({"passage": passage, "questions": questions})
    wanted = [json.loads(x)["answers"] for x in
              command("answer", "reader", given + "\n", "--json", "--nbest", "3").splitlines()]
    with Service("reader") as s:
        for question, answers in zip(questions, wanted):
            one = {"passage": passage, "question": question}
            equal(s.post("/answer", one), (200, {"answers": answers[:1]}))
            equal(s.post("/answer", {**one, "nbest": 3}), (200, {"answers": answers}))
        equal(s.post("/answer", {"passage": passage, "question": questions, "nbest": 3}),
              (200, {"answers": wanted}))
        refused(s.post("/answer", {"question": "Who?"}), 400, 'no "passage"')
        refused(s.post("/answer", {"passage": 1, "question": "Who?"}), 400, "must be a string")
        refused(s.post("/answer", {"passage": passage}), 400, 'no "question"')
        for best in (0, 1001, "3", 1.5, None):
            refused(s.post("/answer", {"passage": "a", "question": "b", "nbest": best}), 400,
                    '"nbest" must be a whole number')
    with Service("reader", "--max-words", "6") as s:
        refused(s.post("/answer", {"passage": passage, "question": "Who?"}), 413, "words")


# ---- several models under a limit of memory, and new ones


def weights(*names):
    return sum(os.path.getsize(f"{work}/{x}/best.ckpt.safetensors") for x in names)


def ways():
    """A request for each of three models, and its response."""
    there = command("translate", "translator", "".join(x + "\n" for x in lines)).split("\n")[:-1]
    said = [(lines, "en", "de", there)]
    for name, target in (("other", "en"), ("third", "xx")):
        text = command("translate", name, "".join(x + "\n" for x in there))
        said.append((there, "de", target, text.split("\n")[:-1]))
    return [({"q": q, "source": a, "target": b}, (200, {"translatedText": text}))
            for q, a, b, text in said]


def memory():
    """Two of three models fit: the one that was asked for the longest ago goes."""
    first, second, third = ways()
    limit = weights("translator") + max(weights("other"), weights("third"))
    assert limit < weights("translator", "other", "third")
    with Service("translator other third") as s:
        whole = s.raw("GET", "/languages")[2]
        equal(s.metric("model_loads_total"), 3)
        equal(s.metric("model_bytes"), weights("translator", "other", "third"))
    with Service("translator other third", "--memory", str(limit)) as s:
        equal(s.raw("GET", "/languages")[2], whole)
        for (ask, wanted), loads, held in (
                (first, 1, ("translator",)), (second, 2, ("translator", "other")),
                (first, 2, ("translator", "other")), (third, 3, ("translator", "third")),
                (first, 3, ("translator", "third")), (second, 4, ("translator", "other"))):
            equal(s.post("/translate", ask), wanted)
            equal(s.metric("model_loads_total"), loads)
            equal(s.metric("model_bytes"), weights(*held))
        pivot_ask = {"q": lines, "source": "en", "target": "xx"}
        equal(s.post("/translate", pivot_ask), third[1])
    one = max(weights(x) for x in ("translator", "other", "third"))
    for options in ((), ("--workers", "2")) if os.cpu_count() > 1 else ((),):
        most = one * (3 if options else 1)
        with Service("translator other third", "--memory", str(most), *options) as s:
            equal(s.post("/translate", pivot_ask), third[1])
            found = together([lambda x=x: [s.post("/translate", x[0]) for _ in range(5)]
                              for x in (first, second, third) * 4] +
                             [lambda: max(s.metric("model_bytes") for _ in range(50))])
            assert 0 < found.pop() <= most, found
            equal(found, [[x[1]] * 5 for x in (first, second, third)] * 4)


def memory_faults():
    """A model that cannot be loaded fails its requests alone, until it can."""
    first, second, _ = ways()
    for value, why in (("0", "must be bytes"), ("2X", "must be bytes"), ("G", "must be bytes"),
                       ("nan", "must be bytes"), ("1K", "translator has weights of")):
        ran = subprocess.run([clattn, "serve", "--model", f"{work}/translator", "--port", "0",
                              "--memory", value], capture_output=True, text=True, check=False)
        equal(ran.returncode, 2)
        assert why in ran.stderr, ran.stderr
    shutil.copytree(f"{work}/other", f"{work}/damaged")
    weights_of = f"{work}/damaged/best.ckpt.safetensors"
    with Service("translator damaged", "--memory", "1G") as s:
        with open(weights_of, "r+b") as file:
            file.truncate(1000)
        equal(s.post("/translate", first[0]), first[1])
        refused(s.post("/translate", second[0]), 500, "best.ckpt.safetensors")
        found = together([lambda x=x: s.post("/translate", x[0]) for x in (first, second) * 4])
        equal(found[::2], [first[1]] * 4)
        equal([x[0] for x in found[1::2]], [500] * 4)
        equal(s.metric("model_loads_total"), 1)
        shutil.copy(f"{work}/other/best.ckpt.safetensors", weights_of)
        equal(s.post("/translate", second[0]), second[1])
        equal(s.metric("model_bytes"), weights("translator", "other"))
        equal(s.raw("GET", "/health")[0], 200)


def hang_up(s, name, wanted):
    s.process.send_signal(signal.SIGHUP)
    while s.metric(name) < wanted:
        time.sleep(0.01)


def reload():
    """SIGHUP: later requests get the new model, earlier ones the old one; a folder that is no
    model changes nothing."""
    first, second, _ = ways()
    folder = f"{work}/changing"
    for options in (), ("--memory", "1G"):
        shutil.copytree(f"{work}/translator", folder)
        with Service("changing", "--wait", "60000", "--batch", str(2 * len(lines)), *options) as s:
            found = []
            early = threading.Thread(target=lambda: found.append(s.post("/translate", first[0])))
            early.start()
            wait_for(s, len(lines))
            shutil.rmtree(folder)
            shutil.copytree(f"{work}/other", folder)
            hang_up(s, "reloads_total", 1)
            equal([x["code"] for x in json.loads(s.raw("GET", "/languages")[2])], ["de", "en"])
            equal(s.post("/translate", second[0]), second[1])
            early.join()
            equal(found, [first[1]])
            os.remove(f"{folder}/config.json")
            hang_up(s, "failed_reloads_total", 1)
            shutil.rmtree(folder)
            shutil.copytree(f"{work}/tagger", folder)
            hang_up(s, "failed_reloads_total", 2)
            equal(s.metric("reloads_total"), 1)
            equal([x["code"] for x in json.loads(s.raw("GET", "/languages")[2])], ["de", "en"])
            log = s.stop()
            assert "changing/config.json" in log, log
            assert "holds a tagger, the service has a translator" in log, log
        shutil.rmtree(folder)
    with Service("translator other third", "--memory",
                 str(max(weights(x) for x in ("translator", "other", "third")))) as s:
        found = together([lambda x=x: [s.post("/translate", x[0]) for _ in range(8)]
                          for x in (first, second) * 4] +
                         [lambda: [hang_up(s, "reloads_total", 1 + i) for i in range(5)]])
        equal(found[:-1], [[x[1]] * 8 for x in (first, second)] * 4)
    with Service("tagger") as s:
        before = s.post("/tag", {"text": "il ne vient pas"})
        hang_up(s, "reloads_total", 1)
        equal(s.post("/tag", {"text": "il ne vient pas"}), before)


# ---- bad requests


def errors():
    with Service("translator", "--max-body", "3000", "--max-words", "50", "--queue", "9") as s:
        def post(body, headers=None, path="/translate"):
            return s.raw("POST", path, body, headers)

        refused(post(b""), 400, "not JSON")
        refused(post(b'{"q": "a"'), 400, "not JSON: body:1:")
        refused(post(b'{"q": "a", "q": "b"}'), 400, "not JSON")
        refused(post(b'{"q": "a\\u0000b"}'), 400, "not JSON")
        refused(post(b'{"q": "a\xff"}'), 400, "body:1: not UTF-8 (byte 9)")
        refused(post(b"[" * 2900), 400, "not JSON")
        refused(post(b'["q"]'), 400, "no JSON object")
        refused(post(b"{}"), 400, 'the request has no "q"')
        for wrong in (1, None, {}, [1], ["a", None]):
            refused(s.post("/translate", {"q": wrong}), 400, '"q" must be a string or a list')
        refused(s.post("/translate", {"q": "a", "source": "fr"}), 400, '"source" is fr')
        refused(s.post("/translate", {"q": "a", "target": "auto"}), 400, '"target" is auto')
        refused(s.post("/translate", {"q": "a", "target": 1}), 400, "must be a string")
        refused(s.post("/translate", {"q": "a", "format": "xml"}), 400, '"format" must be')
        refused(s.post("/translate", {"q": "a " * 200}), 413, "more than 50")
        equal(s.post("/translate", {"q": "a " * 20})[0], 200)
        refused(s.post("/translate", {"q": ["a"] * 10}), 413, "10 texts, more than the 9")
        refused(post(b'{"q": "' + b"a" * 3000 + b'"}'), 413, "more than 3000 bytes")
        refused(post(b'{"q": "' + b"a" * 23000 + b'"}'), 413, "more than 3000 bytes")
        refused(post(iter([b'{"q": ', b'"a"}'])), 411, "Content-Length")
        refused(post(b"{}", path="/nothing"), 404, "no such path")
        refused(s.raw("GET", "/page"), 404, "no such path")
        refused(post(b"{}", path="/tag"), 404, "the model is a translator, which has /translate")
        for method, path, allow in (("GET", "/translate", "POST"), ("PUT", "/translate", "POST"),
                                    ("POST", "/health", "GET, HEAD"),
                                    ("DELETE", "/metrics", "GET, HEAD"), ("ET", "/health", "GET, HEAD"),
                                    ("PUT", "/languages", "GET, HEAD, POST")):
            answer = s.raw(method, path)
            refused(answer, 405, path)
            equal(answer[1]["Allow"], allow)
        equal(s.post("/translate", {"q": "dog"})[0], 200)


def forms():
    """What clients of LibreTranslate send that take no JSON."""
    wanted = translated(lines)
    with Service("translator") as s:
        def post(values):
            status, _, body = s.raw("POST", "/translate", urllib.parse.urlencode(values), {
                "Content-Type": "application/x-www-form-urlencoded; charset=utf-8"})
            return status, json.loads(body)

        equal(post({"q": lines[0], "source": "en", "target": "de", "api_key": ""}),
              (200, {"translatedText": wanted[0]}))
        equal(post([("q", x) for x in lines]), (200, {"translatedText": wanted}))
        refused(post({"q": "a", "source": "it"}), 400, '"source" is it')
        refused(post({"source": "en"}), 400, 'the request has no "q"')
        refused(post({"q": b"\xff"}), 400, "not UTF-8")
        refused(post({"q": "a\0b"}), 400, "NUL byte")


def json_forms():
    """JSON is JSON, whatever its type is said to be: curl -d says that it is a form."""
    wanted = translated(lines)
    with Service("translator") as s:
        for kind in ("application/x-www-form-urlencoded", "text/plain", "application/json", None):
            headers = {"Content-Type": kind} if kind else {}
            for body in ({"q": lines[0]}, {"q": lines, "source": "en", "target": "de"}):
                for front in (b"", b" \r\n", b"\xef\xbb\xbf"):
                    status, _, got = s.raw("POST", "/translate",
                                           front + json.dumps(body).encode(), headers)
                    one = isinstance(body["q"], str)
                    equal((status, json.loads(got)),
                          (200, {"translatedText": wanted[0] if one else wanted}))
            answer = s.raw("POST", "/translate", b'{"q": "a"', headers)
            refused((answer[0], json.loads(answer[2])), 400, "not JSON")


def languages():
    """A model with >>x<< pieces takes each of them as its target, one without its own alone."""
    with Service("no_languages") as s:
        equal(s.post("/translate", {"q": "x", "source": "en", "target": "de"})[0], 200)
        refused(s.post("/translate", {"q": "x", "target": "fr"}), 400, '"target" is fr')
    with Service("languages") as s:
        prefixed = s.post("/translate", {"q": ">>deu<< Attention weights."})
        equal(prefixed[0], 200)
        for text in "Attention weights.", ">>deu<< Attention weights.":
            equal(s.post("/translate", {"q": text, "target": "deu"}), prefixed)
        refused(s.post("/translate", {"q": "x", "target": "fra"}), 400,
                '"target" is fra, this model has deu')
        equal(s.post("/translate", {"q": "Attention weights sum to one."})[0], 200)
        codes = json.loads(s.raw("GET", "/languages")[2])
        equal(codes[0]["targets"], [x["code"] for x in codes[1:]])
        assert "deu" in codes[0]["targets"], codes
        refused(s.post("/translate", {"q": "x", "source": "fr"}), 400, '"source" is fr')
        equal(float(s.metric("cut_total")) > 0, True)
        log = s.stop()
        assert "translations were cut at 23 pieces" in log, log


def several():
    """Two translators in one service; the languages of a request choose."""
    with open(f"{work}/other/config.json", encoding="utf-8") as file:
        config = json.load(file)
    equal((config["source"], config["target"]), ("de", "en"))
    there = command("translate", "translator", "".join(x + "\n" for x in lines)).split("\n")[:-1]
    back = command("translate", "other", "".join(x + "\n" for x in there)).split("\n")[:-1]
    with Service("translator other") as s:
        found = together([lambda: s.post("/translate", {"q": lines, "source": "en", "target": "de"}),
                          lambda: s.post("/translate", {"q": there, "source": "de", "target": "en"}),
                          lambda: s.post("/translate", {"q": there, "target": "en"}),
                          lambda: s.post("/translate", {"q": lines})])
        equal(found, [(200, {"translatedText": x}) for x in (there, back, back, there)])
        equal(json.loads(s.raw("GET", "/languages")[2]), [
            {"code": "en", "name": "en", "targets": ["de"]},
            {"code": "de", "name": "de", "targets": ["en"]}])
        refused(s.post("/translate", {"q": "a", "source": "de", "target": "fr"}), 400,
                "none of 2 models translates from de to fr")
        refused(s.post("/translate", {"q": "a", "source": "fr", "target": "en"}), 400,
                "none of 2 models translates from fr to en")


def pivot():
    """Where no model has a pair, two of them have it, with a language between them."""
    there = command("translate", "translator", "".join(x + "\n" for x in lines)).split("\n")[:-1]
    last = command("translate", "third", "".join(x + "\n" for x in there)).split("\n")[:-1]
    with Service("translator third") as s:
        ask = {"q": lines, "source": "en", "target": "xx"}
        found = together([lambda: s.post("/translate", ask),
                          lambda: s.post("/translate", {**ask, "target": "de"}),
                          lambda: s.post("/translate", {"q": there, "source": "de",
                                                        "target": "xx"})])
        equal(found, [(200, {"translatedText": x}) for x in (last, there, last)])
        got = s.post("/translate", {**ask, "alternatives": 2})[1]
        equal([len(x) <= 2 for x in got["alternatives"]], [True] * len(lines))
        equal(json.loads(s.raw("GET", "/languages")[2]), [
            {"code": "en", "name": "en", "targets": ["de", "xx"]},
            {"code": "de", "name": "de", "targets": ["xx"]},
            {"code": "xx", "name": "xx", "targets": []}])
        refused(s.post("/translate", {**ask, "source": "xx"}), 400,
                "none of 2 models translates from xx to xx")


def detect():
    """The language of a text, and the translator that it chooses."""
    text = {"en": "This is a text in the language of the country, and it has some words.",
            "de": "Das ist ein Text in der Sprache des Landes, und er hat einige Worte."}
    with Service("translator other") as s:
        for code, words in text.items():
            other = {"en": "de", "de": "en"}[code]
            status, found = s.post("/detect", {"q": words})
            if status == 400 and "built without libexttextcat" in found["error"]:
                print("skipped: built without libexttextcat")
                return
            equal((status, found[0]["language"]), (200, code))
            assert 0 < found[0]["confidence"] <= 100, found
            body = urllib.parse.urlencode({"q": words})
            equal(json.loads(s.raw("POST", "/detect", body, {
                "Content-Type": "application/x-www-form-urlencoded"})[2]), found)
            known = s.post("/translate", {"q": words, "source": code, "target": other})[1]
            for asked in {"target": other}, {}:
                equal(s.post("/translate", {"q": words, "source": "auto", **asked}),
                      (200, {**known, "detectedLanguage": found[0]}))
        equal(s.post("/detect", {"q": ""})[0], 200)
        refused(s.post("/detect", {"q": ["a"]}), 400, '"q" must be a string')
        refused(s.post("/detect", {}), 400, '"q" must be a string')
        refused(s.raw("GET", "/detect"), 405, "/detect takes POST")
    with Service("tagger") as s:
        refused(s.post("/detect", {"q": "a"}), 404, "the model is a tagger")


def alternatives():
    """The n best translations of a text, and of each of its lines."""
    best = command("translate", "translator", lines[0] + "\n", "--beam", "3", "--nbest", "3")
    best = best.split("\n")[:-1]
    alone = translated(lines)
    with Service("translator", "--wait", "200", "--batch", "8") as s:
        got = s.post("/translate", {"q": lines[0], "alternatives": 2})
        equal(got, (200, {"translatedText": best[0],
                          "alternatives": [x for x in best[1:] if x]}))
        got = s.post("/translate", {"q": [lines[0], lines[2]], "alternatives": "2"})[1]
        equal(got["alternatives"], [[x for x in best[1:] if x], []])
        two = s.post("/translate", {"q": lines[0] + "\n" + lines[0], "alternatives": 1})[1]
        equal(two["alternatives"], [best[1] + "\n" + best[1]])
        mixed = together([lambda: s.post("/translate", {"q": lines[0], "alternatives": 2}),
                          lambda: s.post("/translate", {"q": lines})])
        equal(mixed[0][1]["translatedText"], best[0])
        equal(mixed[1], (200, {"translatedText": alone}))
        for wrong in -1, 16, 1.5, "x", [1], True:
            refused(s.post("/translate", {"q": "a", "alternatives": wrong}), 400,
                    '"alternatives" must be a whole number from 0 to 15')


def paragraphs():
    """A text of several sentences is each of them; --no-split leaves it whole."""
    text = " ".join([lines[0]] * 40)
    whole = command("translate", "translator", text + "\n", "--no-split").rstrip("\n")
    parts = command("translate", "translator", text + "\n").rstrip("\n")
    for options, wanted in ((), parts), (("--no-split",), whole):
        with Service("translator", *options) as s:
            equal(s.post("/translate", {"q": text}), (200, {"translatedText": wanted}))


def markup():
    """The texts of HTML are translated as lines are; the markup stays."""
    page = ("<h1 class=x>%s</h1>\n<p>%s<br>\n %s &amp; <b>%s</b><pre>\n dog </pre><code>cat</code>"
            "<!-- the --> 42")
    some = lines[0], lines[1], lines[3], lines[4]
    with Service("translator", "--beam", "2") as s:
        wanted = [x[0] for x in (s.post("/translate", {"q": [y]})[1]["translatedText"]
                  for y in (*some[:2], some[2] + " &", some[3]))]
        told = page.replace(" &amp;", "") % tuple(html.escape(x, False) for x in wanted)
        ask = {"q": page % some, "format": "html"}
        equal(s.post("/translate", ask), (200, {"translatedText": told}))
        equal(s.post("/translate", {**ask, "q": [page % some, "", "<br>"]}),
              (200, {"translatedText": [told, "", "<br>"]}))
        body = urllib.parse.urlencode({**ask, "alternatives": 1})
        got = json.loads(s.raw("POST", "/translate", body, {
            "Content-Type": "application/x-www-form-urlencoded"})[2])
        equal(got["translatedText"], told)
        equal([re.sub(">[^<>]*", ">", x) for x in got["alternatives"]],
              [re.sub(">[^<>]*", ">", told)] * len(got["alternatives"]))
        refused(s.post("/translate", {"q": "<b>" * 40000, "format": "html"}), 400,
                "40000 tags, more than 30000")
        refused(s.post("/translate", {"q": "a", "format": "rtf"}), 400,
                '"format" must be "text" or "html"')


def pages_of_others():
    """What a browser asks before a page of another server may use the service."""
    with Service("translator") as s:
        status, headers, body = s.raw("OPTIONS", "/translate", headers={
            "Origin": "https://example.org", "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "content-type"})
        equal((status, body), (204, b""))
        equal(headers["Access-Control-Allow-Origin"], "*")
        assert "POST" in headers["Access-Control-Allow-Methods"], headers
        equal(headers["Access-Control-Allow-Headers"], "Content-Type")
        equal(s.raw("GET", "/health")[1]["Access-Control-Allow-Origin"], "*")
        refused(s.raw("OPTIONS", "/nothing"), 404, "no such path")
        status, headers, body = s.raw("GET", "/")
        equal((status, headers["Content-Type"]), (200, "text/html; charset=utf-8"))
        assert b'<form id="ask">' in body and body.endswith(b"</html>\n"), body[-200:]
        settings = json.loads(s.raw("GET", "/frontend/settings")[2])
        equal(settings["language"]["target"], {"code": "de", "name": "de"})
        equal(settings["keyRequired"], False)
    with Service("translator", "--origin", "none") as s:
        refused(s.raw("OPTIONS", "/translate"), 405, "/translate takes POST")
        equal(s.raw("GET", "/health")[1]["Access-Control-Allow-Origin"], None)
    with Service("tagger") as s:
        for path in "/frontend/settings", "/":
            refused(s.raw("GET", path), 404, "no translator")


def shape(value):
    """The keys and types of a JSON value."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items()}
    return [shape(inner) for inner in value] if isinstance(value, list) else type(value)


def page():
    """Each curl of docs/serve.md and of the help answers as the page says, in its words' place
    other ones. generate_client.py has those of language models."""
    name = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/serve.md")
    with open(name, encoding="utf-8") as file:
        text = file.read().splitlines()
    shown = [(command[2:], answer) for command, answer in zip(text, text[1:])
             if command.startswith("$ curl ") and "/generate" not in command]
    assert len(shown) > 2, shown
    usage = subprocess.run([clattn, "serve", "--help"], stdout=subprocess.PIPE, text=True,
                           check=True).stdout
    shown += [(line.strip(), shown[0][1]) for line in usage.splitlines() if " curl " in line]
    assert len(shown) > 3, usage
    with Service("translator", "--beam", "4") as s:
        for command, answer in shown:
            command = command.replace("http://127.0.0.1:5000", f"http://127.0.0.1:{s.port}")
            assert str(s.port) in command, command
            got = subprocess.run(["sh", "-c", command], stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL, check=True).stdout
            equal(shape(json.loads(got)), shape(json.loads(answer)))


# ---- many clients


def batches():
    """Texts of eight clients are one batch; more texts than a batch has are several."""
    wanted = translated(lines)
    with Service("translator", "--wait", "60000", "--batch", "8") as s:
        found = together([lambda x=x: s.post("/translate", {"q": x}) for x in lines])
        equal(found, [(200, {"translatedText": x}) for x in wanted])
        equal((s.metric("batches_total"), s.metric("texts_total")), (1, 8))
        found = together([lambda: s.post("/translate", {"q": lines + lines[:4]}),
                          lambda: s.post("/translate", {"q": lines[4:]})])
        equal(found, [(200, {"translatedText": wanted + wanted[:4]}),
                      (200, {"translatedText": wanted[4:]})])
        equal((s.metric("batches_total"), s.metric("texts_total")), (3, 24))
        equal((s.metric('batch_texts_bucket{le="4"}'), s.metric('batch_texts_bucket{le="8"}'),
               s.metric("batch_texts_count"), s.metric("batch_texts_sum")), (0, 3, 3, 24))
        # One that is refused does not harm those that are with it.
        long = {"q": "dog " * 2500}
        found = together([lambda: s.post("/translate", {"q": lines[:7]}),
                          lambda: s.post("/translate", long)])
        equal(found[0], (200, {"translatedText": wanted[:7]}))
        refused(found[1], 413, "more than 2000")


def workers():
    """Two copies of a model answer as one does, also a request whose texts both work on."""
    wanted = translated(lines)
    with Service("translator", "--workers", "2", "--wait", "0", "--batch", "2") as s:
        for _ in range(4):
            found = together([lambda: s.post("/translate", {"q": lines})
                              for _ in range(4)] +
                             [lambda x=x: s.post("/translate", {"q": x}) for x in lines])
            equal(found, [(200, {"translatedText": wanted})] * 4 +
                  [(200, {"translatedText": x}) for x in wanted])
        equal(s.metric("texts_total"), 4 * 5 * len(lines))
        long = {"q": lines + ["dog " * 2500] + lines + ["dog " * 2500]}
        refused(s.post("/translate", long), 413, "more than 2000")


def answers():
    """Questions of three clients about three passages are one batch."""
    asked = [("Än sold red figs on day 0.", ["Who sold red figs?"], 2),
             ("Bob ate two cakes. Ann ate none.", ["Who ate cakes?", "", "What did Ann eat?"], 5),
             ("", ["Who?"], 1)]
    wanted = []
    for passage, questions, best in asked:
        given = json.dumps({"passage": passage, "questions": questions})
        said = command("answer", "reader", given + "\n", "--json", "--nbest", str(best))
        wanted.append((200, {"answers": [json.loads(x)["answers"] for x in said.splitlines()]}))

    def requests(s, some):
        return [lambda p=p, q=q, n=n: s.post("/answer", {"passage": p, "question": q, "nbest": n})
                for p, q, n in some]

    with Service("reader", "--wait", "60000", "--batch", "5") as s:
        equal(together(requests(s, asked)), wanted)
        equal((s.metric("batches_total"), s.metric("texts_total")), (1, 5))
    # A passage that is too long does not harm those that are with it.
    with Service("reader", "--wait", "60000", "--batch", "5", "--max-words", "9") as s:
        found = together(requests(s, [*asked[:2], ("a " * 10, ["Who?"], 1)]))
        equal(found[:2], wanted[:2])
        refused(found[2], 413, "more than 9")


def wait_for(s, texts):
    while s.metric("queue_texts") != texts:
        pass


def full():
    """Two texts wait for a batch of eight; there is room for no third one."""
    with Service("translator", "--wait", "60000", "--batch", "8", "--queue", "2") as s:
        found = []
        first = threading.Thread(target=lambda: found.append(
            s.post("/translate", {"q": lines[:2]})))
        first.start()
        wait_for(s, 2)
        answer = s.raw("POST", "/translate", b'{"q": "dog"}')
        refused(answer, 503, "2 texts wait already")
        assert int(answer[1]["Retry-After"]) > 0
        equal(s.raw("GET", "/health")[0], 200)
        equal(s.metric('requests_total{status="503"}'), 1)
        log = s.stop()
        first.join()
        equal(found, [(200, {"translatedText": translated(lines[:2])})])
        assert "1 requests with status 503" in log, log


def start_and_leave(s, value):
    """Asks for a translation and closes the connection before there is one."""
    body = json.dumps(value).encode()
    with socket.create_connection(("127.0.0.1", s.port)) as to:
        to.sendall(b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s"
                   % (len(body), body))
        wait_for(s, len(value["q"]))


def leaves():
    """Texts of a client that has left make room for others, and are not translated."""
    with Service("translator", "--wait", "60000", "--batch", "8", "--queue", "8") as s:
        start_and_leave(s, {"q": [lines[0]] * 7})
        equal(s.post("/translate", {"q": lines[1]}), (200, {"translatedText":
                                                            translated(lines[1:2])[0]}))
        equal(s.metric("batches_total"), 1)
        equal(s.metric("queue_texts"), 0)
        while "status=\"499\"} 1" not in s.raw("GET", "/metrics")[2].decode():
            time.sleep(0.01)
        equal(s.metric("cut_total"), 0)


def resident(process):
    """Kilobytes of memory."""
    with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
        return int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1))


def load():
    """64 clients for CLATTN_LOAD seconds, 3 by default: each response is right, every eighth
    client leaves too early again and again, and memory does not grow."""
    seconds = float(os.environ.get("CLATTN_LOAD", "3"))
    wanted = dict(zip(lines, translated(lines)))
    counts, sizes, until = collections.Counter(), [], time.monotonic() + seconds
    lock = threading.Lock()

    def client(number):
        to = http.client.HTTPConnection("127.0.0.1", s.port)
        for i in range(10 ** 9):
            if time.monotonic() > until:
                break
            line = lines[(number + i) % len(lines)]
            to.request("POST", "/translate", json.dumps({"q": [line]}))
            if number % 8 == 7 and i % 4 == 3:
                to.close()
                found = "left"
            else:
                response = to.getresponse()
                found = response.status
                equal(json.loads(response.read()), {"translatedText": [wanted[line]]})
            with lock:
                counts[found] += 1
        to.close()

    def watch():
        while time.monotonic() < until:
            sizes.append(resident(s.process))
            time.sleep(max(seconds / 200, 0.05))

    with Service("translator", "--connections", "80", "--queue", "128") as s:
        together([lambda i=i: client(i) for i in range(64)] + [watch])
        while s.metric("queue_texts"):
            time.sleep(0.01)
        equal(s.raw("GET", "/health")[0], 200)
        gone = s.raw("GET", "/metrics")[2].decode()
        assert "status=\"500\"" not in gone and "status=\"503\"" not in gone, gone
    first, last = max(sizes[len(sizes) // 4:len(sizes) // 2] or [0]), max(sizes[-len(sizes) // 4:])
    print(f"{counts[200]} translations, {counts['left']} clients that left, {counts[200] / seconds:.0f}"
          f" a second; memory {first} kB in the second quarter, {last} kB in the last one")
    equal(set(counts) <= {200, "left"}, True)
    assert counts[200] and counts["left"], counts
    assert seconds < 60 or last < first + 4096 + first // 50, sizes


def busy():
    with Service("tagger") as s:
        ran = subprocess.run([clattn, "serve", "--model", f"{work}/tagger", "--port",
                              str(s.port)], capture_output=True, text=True, check=False)
        equal(ran.returncode, 6)
        assert f"port {s.port} of 127.0.0.1" in ran.stderr, ran.stderr


def drain():
    """SIGTERM under load: each request has a whole response, or nothing of one; and the
    clients have all that the service says it sent."""
    wanted = dict(zip(lines, translated(lines)))
    with Service("translator", "--batch", "4", "--wait", "1") as s:
        counts, lock, enough = {}, threading.Lock(), threading.Event()

        def client(number):
            for i in range(10 ** 6):
                line = lines[(number + i) % len(lines)]
                try:
                    status, body = s.post("/translate", {"q": line})
                except (ConnectionError, http.client.RemoteDisconnected):
                    return
                with lock:
                    counts[status] = counts.get(status, 0) + 1
                    if counts.get(200, 0) >= 40:
                        enough.set()
                if status == 200:
                    equal(body, {"translatedText": wanted[line]})
                else:
                    refused((status, body), 503, "shutting down")

        failures = []
        threading.excepthook = lambda caught: failures.append(caught.exc_value)
        threads = [threading.Thread(target=client, args=(i,)) for i in range(16)]
        for thread in threads:
            thread.start()
        enough.wait()
        log = s.stop()
        for thread in threads:
            thread.join()
        equal(failures, [])
        said = {int(code): int(n) for n, code in re.findall(r"(\d+) requests with status (\d+)",
                                                            log)}
        equal(said, counts)


# ---- hostile requests


def hostile_bytes(draw):
    good = b'{"q": "the red dog runs."}'
    path = draw.choice(["/translate", "/translate", "/health", "/", "/%00", "/" + "a" * 9000])
    length = draw.choice([len(good), len(good), 0, 10 ** 30, -1, "x", 2 ** 63, 2 ** 31, 99999])
    body = draw.choice([good, draw.randbytes(draw.randrange(200)), b"[" * 2000, b"{" * 30,
                        good[:draw.randrange(len(good))], b"5\r\nhello\r\nffffffffffffffff\r\n"])
    more = draw.choice(["", "", "Transfer-Encoding: chunked\r\n", "Expect: 100-continue\r\n",
                        "X: " + "y" * draw.randrange(70000) + "\r\n", "\0: \r\n", ":\r\n",
                        "Content-Length: 3\r\n",
                        "Content-Type: application/x-www-form-urlencoded\r\n"])
    method = draw.choice(["POST", "POST", "GET", "PUT", "", "A" * 300, "POST\0"])
    version = draw.choice(["HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/9.9", ""])
    text = f"{method} {path} {version}\r\nHost: x\r\nContent-Length: {length}\r\n{more}\r\n"
    whole = text.encode() + body
    kind = draw.randrange(4)
    if kind == 0:
        return whole[:draw.randrange(len(whole))]
    if kind == 1:
        return draw.randbytes(draw.randrange(1, 3000))
    if kind == 2:
        at = draw.randrange(len(whole))
        return whole[:at] + draw.randbytes(4) + whole[at + 4:]
    return whole


def send_hostile(port, request):
    """The status of the response as text; "none" where there is no response."""
    answer = b""
    with socket.create_connection(("127.0.0.1", port)) as to:
        try:
            to.sendall(request)
            if len(request) % 2:  # the others stay open until the timeout
                to.shutdown(socket.SHUT_WR)
            answer = to.makefile("rb").read()
        except OSError:
            pass  # the service has closed the connection
    return answer[9:12].decode("latin-1") if answer.startswith(b"HTTP/1.") else "none"


def hostile():
    """300 requests or CLATTN_HOSTILE, 30 at a time. One that is cut off stays open until the
    timeout."""
    seed = int(os.environ.get("CLATTN_SEED", "20240"))
    times = -(-int(os.environ.get("CLATTN_HOSTILE", "300")) // 30)
    print("seed", seed)
    draw = random.Random(seed)
    statuses = collections.Counter()
    wanted = translated(lines[:1])[0]
    with Service("translator", "--timeout", "2") as s:
        for _ in range(times):
            requests = [hostile_bytes(draw) for _ in range(30)]
            statuses.update(together([lambda r=r: send_hostile(s.port, r) for r in requests]))
            equal(s.post("/translate", {"q": lines[0]}), (200, {"translatedText": wanted}))
        print(dict(statuses))
        assert not any(statuses[x] for x in ("500", "502", "503")), statuses
        assert sum(statuses[x] for x in ("400", "404", "405", "411", "413")) > 50, statuses
        assert statuses["200"] and not statuses[""], statuses
        equal(s.raw("GET", "/health")[0], 200)
        equal(s.metric("queue_texts"), 0)
    print(f"{30 * times} hostile requests, {statuses['none']} without a response")


globals()[part]()
