"""document.py - forty pages, with markup or plain: all of it stays, and each text is translated
usage: tests/cli/document.py html|markdown|text CLATTN MODEL

Python's own parser finds the texts of HTML; those of Markdown are known as it is
written. `clattn translate` of these texts as lines says what the document has to hold; of the sentences of a plain text, what
its paragraphs have to."""
import html
import html.parser
import random
import subprocess
import sys

form, clattn, model = sys.argv[1:]
draw = random.Random(7)
words = "the a red blue old dog cat house bird runs sleeps sees and".split()
short = ["Dr. Smith", "Mrs. Jones", "e.g. one", "No. 5", "J. R. Hall", "at 10.30 a.m. today"]


def translate(text, *options):
    return subprocess.run([clattn, "translate", "--model", model, *options], text=True,
                          input=text, stdout=subprocess.PIPE, check=True).stdout


def sentence():
    some = draw.choices(words, k=draw.randint(4, 14))
    if draw.random() < 0.3:
        some.insert(2, draw.choice(short))
    text = " ".join(some).capitalize() + draw.choice(".?!")
    return f'"{text}"' if draw.random() < 0.1 else text


def paragraph(most=6):
    return " ".join(sentence() for _ in range(draw.randint(1, most)))


class Reader(html.parser.HTMLParser):
    """Everything but texts as it is in the source, and the texts."""

    def __init__(self, page):
        super().__init__()
        self.marks, self.texts, self.apart = [], [], 0
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.marks.append(self.get_starttag_text())
        self.apart += tag in ("pre", "code", "script", "style")

    def handle_endtag(self, tag):
        self.marks.append(tag)
        self.apart -= tag in ("pre", "code", "script", "style")

    def handle_comment(self, data):
        self.marks.append(data)

    def handle_data(self, data):
        if self.apart or not any(c.isalpha() for c in data):
            self.marks.append(data)
        else:
            self.texts.append(" ".join(data.split()))


def html_block():
    kind = draw.randrange(7)
    text = html.escape(paragraph(), quote=False)
    if kind == 0:
        items = "\n".join(f"  <li>{sentence()}</li>" for _ in range(draw.randint(2, 6)))
        return f"<ul>\n{items}\n</ul>"
    if kind == 1:
        return f"<pre><code>if (a &lt; {draw.random()}) return the dog;\n</code></pre>"
    if kind == 2:
        return f'<blockquote cite="x"><p>{text}</p></blockquote><!-- the dog -->'
    if kind == 3:
        return f"<table><tr><td>{sentence()}</td><td>42</td></tr></table>"
    if kind == 4:
        return f"<p>{text} <b>{sentence()}</b> &amp; <a href='y?a=1&amp;b'>{sentence()}</a><br/> 7"
    if kind == 5:
        return f"<h2 id=h{draw.randrange(99)}>{sentence()}</h2>\n<hr>"
    return f"<p class=\"t\">{text.replace('. ', '.' + chr(10) + '  ')}</p>"


def check_html(blocks):
    page = "<!doctype html>\n<html><head><title>The dog</title><style>p { x: y }</style>" \
           "</head><body>\n" + "\n".join(html_block() for _ in range(blocks)) + "\n</body></html>\n"
    told = translate(page, "--format", "html")
    before, after = Reader(page), Reader(told)
    assert before.marks == after.marks, "markup differs"
    wanted = translate("\n".join(before.texts) + "\n").split("\n")[:-1]
    wanted = [" ".join(x.split()) for x in wanted]
    filled = [x for x in wanted if any(c.isalpha() for c in x)]
    assert len(filled) > 0.9 * len(wanted), wanted
    assert filled == [x for x in after.texts if x], "texts differ"
    return sum(len(x.split()) for x in before.texts), len(before.marks)


def markdown_block():
    """A block, and its texts in order."""
    kind, text, one = draw.randrange(7), paragraph(3), sentence()
    if kind == 0:
        return f"## {one}", [one]
    if kind == 1:
        items = [sentence() for _ in range(draw.randint(2, 5))]
        return "\n".join(f"- {x}" for x in items), items
    if kind == 2:
        return f"```c\nif (a < {draw.random()}) the_dog();\n```", []
    if kind == 3:
        lines = text.split(" ", 2)
        return "> " + "\n> ".join(lines), [text]
    if kind == 4:
        return f"{text} **{one}** `the dog` [{one}](http://x.y/a_b)", [text, one, one]
    if kind == 5:
        return f"| {one} | 42 |\n|-----|----|\n| {one} | `cat` |", [one, one]
    return text, [text]


def check_markdown(blocks):
    made = [markdown_block() for _ in range(blocks)]
    # A list behind a list would be one list with blank lines.
    page = "\n\n---\n\n".join(x for x, _ in made) + "\n"
    told = translate(page, "--format", "markdown")
    texts = [x for _, some in made for x in some]
    wanted = translate("\n".join(texts) + "\n").split("\n")[:-1]
    for mark in "## ", "- ", "> ", "```", "**", "`the dog`", "](http://x.y/a_b)", "|-----|":
        assert page.count(mark) and ("\n" + page).count("\n" + mark) >= \
            ("\n" + told).count("\n" + mark) - told.count("> "), mark
    at = 0
    for text in wanted:
        plain = " ".join(text.split())
        found = strip(told).find(strip(plain), at)
        assert found >= 0, (plain, told[at:at + 200])
        at = found + len(strip(plain))
    rest = [x.split("\n---\n") for x in (page, told)]
    assert len(rest[0]) == len(rest[1]), "blocks differ"
    for (block, some), got in zip(made, rest[1]):
        if not some:
            assert block == got.strip("\n"), got
    return sum(len(x.split()) for x in texts), blocks


def clear():
    """A sentence whose last word is no initial, after which none can begin."""
    while True:
        text = sentence()
        if not text.rstrip('".?!').endswith(" a"):
            return text


def text_line():
    """A line of a plain text: its blanks in front, its sentences, its blanks behind."""
    kind = draw.randrange(10)
    if kind == 0:
        return "", [], draw.choice(["", "", "  "])
    if kind == 1:
        return "  ", ["- " + clear()], ""
    if kind == 2:
        return "", ["> " + clear(), *(clear() for _ in range(draw.randint(0, 3)))], ""
    if kind == 3:
        return "    ", [f"if (a < {draw.random():.3f}) the_dog(cat[{draw.randrange(9)}]);"], ""
    if kind == 4:
        return "", [f"{draw.randrange(1, 20)}) {clear()}"], "  "
    return "", [clear() for _ in range(draw.randint(1, 9))], draw.choice(["", "", "", " "])


def check_text(count):
    made = [text_line() for _ in range(count)]
    page = "".join(f"{a}{' '.join(some)}{b}\n" for a, some, b in made)
    told = translate(page).split("\n")
    flat = [x for _, some, _ in made for x in some]
    said = iter(translate("".join(f"{x}\n" for x in flat), "--no-split").split("\n"))
    assert len(told) == count + 1 and not told[-1], (len(told), count)
    wanted = [(a, [next(said) for _ in some], b) for a, some, b in made]
    for (a, some, b), line, source in zip(wanted, told, page.split("\n")):
        # The blanks of a line without a word are lost, as docs/translation.md says.
        assert line == (f"{a}{' '.join(some)}{b}" if some else ""), (source, line, some)
    assert next(said) == "" and sum(bool(x.strip()) for _, some, _ in wanted for x in some) \
        > 0.99 * len(flat)
    return len(page.split()), len(flat)


def strip(text):
    """Text without escapes, for a search."""
    return text.replace("\\", "")


count, marks = (check_html(420) if form == "html" else check_markdown(560) if form == "markdown"
                else check_text(560))
assert count > 10000, count
print(count, "words,", marks, "marks")
