#!/usr/bin/env python3
"""serve.py - a translation service under load, beside `clattn translate` of the same lines

  serve.py --model DIR --lines FILE [--clattn PATH] [--clients N] [--seconds S] [--rounds N]

Starts `clattn serve` and lets N clients send a line each, again and again, on connections that
stay open. After each of the rounds the clients rest, and `clattn translate` gets the lines in a
pipe for a while: both so see the same other load. Prints lines a second of both, and of each
pair of rounds the ratio; percentiles of the latency; and the service's memory over time. Any
response but a 200 with the words of `clattn translate` ends it with status 1. SIGTERM comes
under load and has to end in status 0; tests/cli/serve_client.py checks that what was accepted is
answered then.
"""
import argparse
import http.client
import itertools
import json
import re
import signal
import statistics
import subprocess
import sys
import threading
import time


class Service:
    def __init__(self, args):
        self.process = subprocess.Popen(
            [args.clattn, "serve", "--model", args.model, "--port", "0",
             "--timeout", "600", *args.options],
            stdout=subprocess.PIPE, text=True)
        found = re.search(r":(\d+)$", self.process.stdout.readline())
        if not found:
            sys.exit("serve.py: the service does not start")
        self.port = int(found.group(1))

    def memory_mb(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1)) / 1024

    def metric(self, name):
        to = http.client.HTTPConnection("127.0.0.1", self.port)
        to.request("GET", "/metrics")
        text = to.getresponse().read().decode()
        to.close()
        return float(re.search(rf"^clattn_{name} (\S+)$", text, re.M).group(1))


class Clients:
    """Threads that ask for translations while `running` is set."""

    def __init__(self, service, lines, wanted, count):
        self.port, self.lines, self.wanted = service.port, lines, wanted
        self.next = itertools.count()
        self.running, self.ending = threading.Event(), False
        self.lock = threading.Lock()
        self.seconds, self.wrong, self.cut, self.busy = [], [], 0, 0
        self.threads = [threading.Thread(target=self.client) for _ in range(count)]
        for thread in self.threads:
            thread.start()

    def ask(self, to, i):
        began = time.perf_counter()
        with self.lock:
            self.busy += 1
        to.request("POST", "/translate", json.dumps({"q": self.lines[i]}).encode())
        response = to.getresponse()
        body = json.loads(response.read())
        seconds = time.perf_counter() - began
        good = response.status == 200 and body.get("translatedText") == self.wanted[i]
        with self.lock:
            self.busy -= 1
            if good:
                self.seconds.append(seconds)
            elif not (self.ending and response.status == 503):
                self.wrong.append((response.status, body))

    def client(self):
        to = http.client.HTTPConnection("127.0.0.1", self.port)
        while self.running.wait() and not self.wrong:
            try:
                self.ask(to, next(self.next) % len(self.lines))
            except (OSError, http.client.HTTPException) as failure:
                with self.lock:
                    if self.ending:
                        self.cut += 1
                    else:
                        self.wrong.append(repr(failure))
                return
        to.close()

    def run(self, seconds):
        """Lines a second; then waits until no request is open."""
        with self.lock:
            before = len(self.seconds)
        self.running.set()
        began = time.perf_counter()
        time.sleep(seconds)
        with self.lock:
            lines = len(self.seconds) - before
        took = time.perf_counter() - began
        self.running.clear()
        while self.busy and not self.wrong:
            time.sleep(0.01)
        return lines / took

    def fail_if_wrong(self):
        if self.wrong:
            self.running.set()
            sys.exit(f"serve.py: wrong: {self.wrong[:3]}")


def translate(args, lines):
    ran = subprocess.run([args.clattn, "translate", "--model", args.model, *args.search],
                         input="".join(f"{x}\n" for x in lines), capture_output=True, text=True,
                         check=True)
    return ran.stdout.split("\n")[:-1]


class Pipe:
    """`clattn translate`, which gets as many lines at a time as there are clients."""

    def __init__(self, args, lines):
        self.lines, self.size = lines, args.clients
        self.process = subprocess.Popen(
            [args.clattn, "translate", "--model", args.model, "--read-ahead", str(args.clients),
             *args.search], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.at = 0
        self.run(0)

    def run(self, seconds):
        began, count = time.perf_counter(), 0
        while not count or time.perf_counter() - began < seconds:
            some = [self.lines[(self.at + i) % len(self.lines)] for i in range(self.size)]
            self.at += self.size
            self.process.stdin.write("".join(f"{x}\n" for x in some).encode())
            self.process.stdin.flush()
            for _ in some:
                self.process.stdout.readline()
            count += self.size
        return count / (time.perf_counter() - began)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def percentile(values, share):
    return values[min(int(share * len(values)), len(values) - 1)]


def end(service, clients):
    """SIGTERM under load; gives the exit status."""
    clients.ending = True
    clients.running.set()
    time.sleep(1)
    service.process.send_signal(signal.SIGTERM)
    for thread in clients.threads:
        thread.join()
    status = service.process.wait()
    clients.fail_if_wrong()
    return status


def measure(args, service, clients, pipe):
    clients.run(2)
    pairs, memory = [], []
    each = args.seconds / args.rounds
    for _ in range(args.rounds):
        pairs.append((clients.run(each), pipe.run(each * args.share)))
        memory.append(service.memory_mb())
        clients.fail_if_wrong()
    return pairs, memory


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--lines", required=True)
    parser.add_argument("--clattn", default="build/clattn")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=600, help="of load, over all rounds")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--share", type=float, default=0.25, help="of a round's time, for the pipe")
    parser.add_argument("--beam", default="1")
    parser.add_argument("--options", nargs="*", default=[], help="of the service")
    args = parser.parse_args()
    args.search = ["--beam", args.beam]
    args.options += args.search
    with open(args.lines, encoding="utf-8") as file:
        lines = [x.rstrip("\n") for x in file]
    service = Service(args)
    clients = Clients(service, lines, translate(args, lines), args.clients)
    pipe = Pipe(args, lines)
    pairs, memory = measure(args, service, clients, pipe)
    mean = service.metric("texts_total") / service.metric("batches_total")
    status = end(service, clients)
    pipe.close()
    served = sorted(clients.seconds)
    ratios = sorted(a / b for a, b in pairs)
    print(f"{args.clients} clients, {args.seconds:.0f} s in {args.rounds} rounds: {len(served)} lines, "
          f"{mean:.1f} in a batch")
    print(f"serve {statistics.median(a for a, _ in pairs):.0f} lines/s, translate "
          f"{statistics.median(b for _, b in pairs):.0f} lines/s, ratio "
          f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})")
    print("latency ms: " + ", ".join(f"{100 * p:g} % {1e3 * percentile(served, p):.0f}"
                                     for p in (0.5, 0.9, 0.99, 1)))
    print("memory MB after each round: " + " ".join(f"{x:.0f}" for x in memory))
    print(f"SIGTERM under load: exit {status}, {clients.cut} connections closed")
    sys.exit(1 if status or clients.wrong else 0)


if __name__ == "__main__":
    main()
