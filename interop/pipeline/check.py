"""The experiment as it was deployed, on this machine: load -> hopgap api -> 2 x 3
workers, spans by OTLP to the real OpenTelemetry Collector, which writes them to
a file and sends them on to `hopgap collect`. What `hopgap analyze` says of the
file must equal what it says of the folder.

    check.py --hopgap build/hopgap --collector build/otel-collector --out DIR
             [--worker CMD] [--k6 K6] [--rate 1] [--messages 31]

Prints a line per check; exit 0: all hold.
"""

import argparse
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request

ARMS = ("std", "eos")
HOPS = 3
PROJECT = "pipeline"
ENDS_WITHIN_S = 40  # after SIGTERM


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def await_that(what, holds, limit_s=30):
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        if holds():
            return
        time.sleep(0.1)
    raise SystemExit(f"pipeline: {what}: not within {limit_s} s")


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def answers(url):
    try:
        with urllib.request.urlopen(url, timeout=2) as response:
            return response.status == 200
    except OSError:
        return False


class Programs:
    """The processes of one run, each with a log of its own; ended in the reverse order."""

    def __init__(self, out):
        self.out = out
        self.running = []

    def start(self, name, command, **variables):
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("HOPGAP_", "OTEL_", "PUBSUB_"))}
        environment.update({k: str(v) for k, v in variables.items()})
        log = open(os.path.join(self.out, name + ".log"), "wb")
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)
        self.running.append((name, process))
        return process

    def end(self, *names):
        """SIGTERM to the named, all at once; returns "NAME: exit CODE" of those that did not end with 0."""
        chosen = [(n, p) for n, p in self.running if n in names]
        self.running = [(n, p) for n, p in self.running if n not in names]
        for _, process in chosen:
            process.send_signal(signal.SIGTERM)
        wrong = []
        for name, process in chosen:
            try:
                code = process.wait(ENDS_WITHIN_S)
            except subprocess.TimeoutExpired:
                process.kill()
                code = f"none within {ENDS_WITHIN_S} s"
            if code != 0:
                wrong.append(f"{name}: exit {code}")
        return wrong

    def kill_all(self):
        for _, process in reversed(self.running):
            process.kill()
            process.wait()


def collector_configuration(out, otlp_port, next_port):
    path = os.path.join(out, "collector.yaml")
    configuration = {
        "receivers": {"otlp": {"protocols": {"grpc": {"endpoint": f"127.0.0.1:{otlp_port}"}}}},
        "exporters": {
            "file": {"path": os.path.join(out, "collector.jsonl")},
            "otlp": {"endpoint": f"127.0.0.1:{next_port}", "tls": {"insecure": True}},
        },
        "service": {
            "telemetry": {"metrics": {"level": "none"}},
            "pipelines": {"traces": {"receivers": ["otlp"], "exporters": ["file", "otlp"]}},
        },
    }
    with open(path, "w") as file:
        json.dump(configuration, file)  # JSON is YAML
    return path


def spans_in(path):
    """(trace id, span id) of every span in a file of OTLP JSON lines."""
    found = set()
    with open(path) as lines:
        for line in lines:
            for resource in json.loads(line).get("resourceSpans", []):
                for scope in resource.get("scopeSpans", []):
                    found.update((s["traceId"], s["spanId"]) for s in scope.get("spans", []))
    return found


def analysis(hopgap, path):
    done = subprocess.run([hopgap, "analyze", path, "--json"], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise SystemExit(f"pipeline: hopgap analyze {path}: exit {done.returncode}")
    return json.loads(done.stdout)


def differences(a, b, where=""):
    """Paths at which two JSON values differ."""
    if isinstance(a, dict) and isinstance(b, dict):
        return [d for k in sorted(a.keys() | b.keys()) for d in differences(a.get(k), b.get(k), f"{where}.{k}")]
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return [d for i, (x, y) in enumerate(zip(a, b)) for d in differences(x, y, f"{where}[{i}]")]
    return [] if a == b else [f"{where}: {a!r} and {b!r}"]


class Pipeline:
    def __init__(self, options):
        self.options = options
        self.programs = Programs(options.out)
        self.failed = 0

    def say(self, what, wrong):
        print(f"pipeline: {what}: " + ("ok" if not wrong else "FAILED: " + "; ".join(wrong[:8])), flush=True)
        self.failed += bool(wrong)

    def run(self):
        self.start_sinks()
        self.start_broker()
        workers = self.start_workers()
        apis = self.start_apis()
        self.load()
        self.await_last_hop()
        self.say("api and workers drain and exit 0 on SIGTERM", self.programs.end(*apis, *workers))
        self.say("the collector and hopgap collect end with 0",
                 self.programs.end("collector") + self.programs.end("collect"))
        self.programs.end("serve")
        self.compare()
        return self.failed

    def start_sinks(self):
        self.otlp_port, collect_port, http_port = free_port(), free_port(), free_port()
        self.folder = os.path.join(self.options.out, "collected")
        self.programs.start("collect", [self.options.hopgap, "collect", "--otlp-port", str(collect_port),
                                        "--http-port", str(http_port), "--out", self.folder])
        await_that("hopgap collect listens", lambda: listens(collect_port))
        self.file = os.path.join(self.options.out, "collector.jsonl")
        self.programs.start("collector", [self.options.collector, "--config",
                                          collector_configuration(self.options.out, self.otlp_port, collect_port)])
        await_that("the collector listens", lambda: listens(self.otlp_port))

    def start_broker(self):
        port = free_port()
        self.target = f"127.0.0.1:{port}"
        self.programs.start("serve", [self.options.hopgap, "serve", "--port", str(port), "--profile", "cloud-replay"])
        await_that("hopgap serve listens", lambda: listens(port))
        arms = [word for arm in ARMS for word in ("--arm", arm)]
        subprocess.run([self.options.hopgap, "setup", "--target", self.target, "--project", PROJECT, *arms,
                        "--hops", str(HOPS)], check=True, stdout=subprocess.DEVNULL)

    def otlp(self, service):
        return {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{self.otlp_port}",
                "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_SERVICE_NAME": service}

    def start_workers(self):
        command = shlex.split(self.options.worker) if self.options.worker else [self.options.hopgap, "worker"]
        names = []
        for arm in ARMS:
            for hop in range(1, HOPS + 1):
                names.append(f"{arm}-hop{hop}")
                onward = f"projects/{PROJECT}/topics/{arm}-hop{hop + 1}" if hop < HOPS else ""
                self.programs.start(names[-1], command, PUBSUB_EMULATOR_HOST=self.target,
                                    HOPGAP_SUBSCRIPTION=f"projects/{PROJECT}/subscriptions/{arm}-hop{hop}-sub",
                                    HOPGAP_NEXT_TOPIC=onward, HOPGAP_WORK="200ms", HOPGAP_STREAMS=4, HOPGAP_ARM=arm,
                                    HOPGAP_HOP=hop, HOPGAP_TARGET=self.target, **self.otlp(names[-1]))
        return names

    def start_apis(self):
        self.urls = {}
        for arm in ARMS:
            port = free_port()
            self.programs.start(f"api-{arm}", [self.options.hopgap, "api", "--target", self.target, "--topic",
                                               f"projects/{PROJECT}/topics/{arm}-hop1", "--listen",
                                               f"127.0.0.1:{port}", "--arm", arm], **self.otlp(f"api-{arm}"))
            self.urls[arm] = f"http://127.0.0.1:{port}/send"
            await_that(f"api-{arm} is ready", lambda: answers(f"http://127.0.0.1:{port}/readyz"))
        return [f"api-{arm}" for arm in ARMS]

    def load(self):
        rate, messages = self.options.rate, self.options.messages
        if self.options.k6:
            command = [self.options.k6, "run", "--quiet", self.options.script]
            variables = {"CHAINS": ",".join(f"{arm}={self.urls[arm]}" for arm in ARMS), "RATE": f"{rate:g}",
                         "DURATION": f"{(messages - 1) / rate:g}s"}
        else:
            urls = [word for arm in ARMS for word in ("--url", f"{arm}={self.urls[arm]}")]
            command = [self.options.hopgap, "load", *urls, "--rate", f"{rate:g}", "--messages", str(messages)]
            variables = {}
        process = self.programs.start("load", command, **variables)
        code = process.wait(60 + messages / rate)
        self.programs.running = [(n, p) for n, p in self.programs.running if n != "load"]
        self.say(f"{'k6' if self.options.k6 else 'hopgap load'} sends what it should", [f"exit {code}"] if code else [])

    def await_last_hop(self):
        """Until no new span has come for 10 s: more than batching, a cold lease and the last ack take."""
        size, since = -1, time.monotonic()
        while time.monotonic() - since < 10:
            now = os.path.getsize(self.file) if os.path.exists(self.file) else 0
            if now != size:
                size, since = now, time.monotonic()
            time.sleep(0.2)

    def compare(self):
        ours = os.path.join(self.folder, "spans.otlp.jsonl")
        theirs, own = spans_in(self.file), spans_in(ours)
        wrong = [] if theirs == own and theirs else [f"{len(theirs)} in its file, {len(own)} in ours, {len(theirs & own)} in both"]
        self.say(f"the collector and hopgap collect have the same spans ({len(own)})", wrong)
        a, b = analysis(self.options.hopgap, self.file), analysis(self.options.hopgap, self.folder)
        names = [arm["name"] for arm in b["arms"]]
        finished = [arm["stages_n"] for arm in b["arms"]]
        self.say(f"hopgap analyze finds {self.options.messages} whole messages per arm ({', '.join(names)})",
                 [] if len(names) == len(ARMS) and set(finished) == {self.options.messages} else [f"{names}: {finished}"])
        parts = ("arms", "difference")
        self.say("hopgap analyze says the same of both",
                 [d for part in parts for d in differences(a.get(part), b.get(part), part)])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hopgap", required=True)
    parser.add_argument("--collector", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--worker", default="")
    parser.add_argument("--k6", default="")
    parser.add_argument("--script", default="")
    parser.add_argument("--rate", type=float, default=1)
    parser.add_argument("--messages", type=int, default=31)
    options = parser.parse_args()
    options.out = os.path.abspath(options.out)
    shutil.rmtree(options.out, ignore_errors=True)
    os.makedirs(options.out)
    pipeline = Pipeline(options)
    try:
        failed = pipeline.run()
    finally:
        pipeline.programs.kill_all()
    print(f"pipeline: logs and spans are in {os.path.relpath(options.out)}")
    sys.exit(1 if failed else 0)


main()
