"""Records what the official clients' tracing emits: a chain of three hops per language and kind of subscription against
`hopgap serve`, to testdata/traces/LANG-KIND.otlp.jsonl as received, and the broker's own instants of the same messages
to LANG-KIND.broker.otlp.jsonl.

    record.py --hopgap build/hopgap [LANG…]
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import machine  # noqa: E402

KINDS = ("std", "eos")
HOPS = 3
PROJECT = "recording"
MESSAGES = 10
RATE = 1
WORK = "50ms"
PROFILE = "cloud-replay"
OUT = machine.ROOT / "testdata" / "traces"


def spans(path):
    for line in path.read_text().splitlines():
        for resource in json.loads(line)["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                yield from scope["spans"]


def count(path, suffix):
    return sum(span["name"].endswith(suffix) for span in spans(path)) if path.exists() else 0


def environment(broker, sink, service):
    return {
        "PUBSUB_EMULATOR_HOST": broker.address,
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{sink}",
        "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
        "OTEL_SERVICE_NAME": service,
        "OTEL_RESOURCE_ATTRIBUTES": resource(service),
    }


def resource(service):
    """Nothing of this machine belongs into a file that is kept."""
    return f"host.name=recorder,service.instance.id={service}"


def start_sink(scratch, file):
    port = machine.free_port()
    command = [machine.BUILD / "go-admin", "collect", "-listen", f"127.0.0.1:{port}", "-out", file]
    sink = machine.Process("sink", command, scratch / "sink.log")
    machine.await_that("the sink listens", lambda: machine.listens(port))
    return sink, port


def start_workers(language, kind, broker, port, scratch):
    """The workers of all hops, each of which has told that it runs."""
    workers = []
    for hop in range(1, HOPS + 1):
        topic = f"projects/{PROJECT}/topics/{kind}-hop{hop + 1}" if hop < HOPS else ""
        variables = {
            **environment(broker, port, f"{kind}-hop{hop}"),
            "HOPGAP_SUBSCRIPTION": f"projects/{PROJECT}/subscriptions/{kind}-hop{hop}-sub",
            "HOPGAP_NEXT_TOPIC": topic,
            "HOPGAP_WORK": WORK,
            "HOPGAP_STREAMS": "1",
            "HOPGAP_ARM": kind,
            "HOPGAP_HOP": str(hop),
        }
        worker = machine.Process(
            f"{language} worker {hop}", machine.command(language, "worker"), scratch / f"hop{hop}.log", variables
        )
        workers.append(worker)
    for worker in workers:
        machine.await_that(f"{worker.name} receives", lambda worker=worker: "receiving" in worker.said())
    return workers


def chain(language, kind, broker, port, raw, scratch):
    """Sends the messages through and waits until the last hop has handled them."""
    admin = {**machine.clean_environment(), "PUBSUB_EMULATOR_HOST": broker.address}
    subprocess.run([machine.BUILD / "go-admin", "setup", "-project", PROJECT, kind], env=admin, check=True)
    workers = start_workers(language, kind, broker, port, scratch)
    variables = environment(broker, port, f"{kind}-sender")
    if language == "go":
        command = [machine.BUILD / "go-admin", "publish", "-project", PROJECT, "-rate", str(RATE)]
        command += ["-messages", str(MESSAGES), kind]
    else:
        command = machine.command(language, "sender")
        variables["HOPGAP_NEXT_TOPIC"] = f"projects/{PROJECT}/topics/{kind}-hop1"
        variables["HOPGAP_MESSAGES"], variables["HOPGAP_RATE"] = str(MESSAGES), str(RATE)
    subprocess.run(command, env={**machine.clean_environment(), **variables}, check=True)
    last = f"{kind}-hop{HOPS}-sub subscribe"
    machine.await_that(f"{language} {kind}: {MESSAGES} messages at the end", lambda: count(raw, last) >= MESSAGES)
    for worker in workers:
        worker.end()


def record(hopgap, language, kind):
    scratch = machine.BUILD / "interop" / "record" / f"{language}-{kind}"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    raw, truth = scratch / "raw.jsonl", scratch / "broker.jsonl"
    sink, port = start_sink(scratch, raw)
    broker_sink, broker_port = start_sink(scratch, truth)
    spans_out = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{broker_port}",
        "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
        "OTEL_RESOURCE_ATTRIBUTES": resource("broker"),
    }
    broker = machine.Broker(hopgap, scratch / "broker.log", "--profile", PROFILE, environment=spans_out)
    try:
        chain(language, kind, broker, port, raw, scratch)
        broker.end()
        broker_sink.end()
        sink.end()
    finally:
        for process in (broker, broker_sink, sink):
            process.kill()
    for suffix in ("create", "subscribe", "process"):
        seen = sum(count(raw, f"{kind}-hop{hop}{sub} {suffix}") for hop in range(1, HOPS + 1) for sub in ("", "-sub"))
        if seen != MESSAGES * HOPS:
            raise SystemExit(f"{language} {kind}: {seen} spans '{suffix}', want {MESSAGES * HOPS}")
    for suffix in ("broker publish", "broker deliver", "broker ack"):
        if count(truth, suffix) != MESSAGES * HOPS:
            raise SystemExit(f"{language} {kind}: {count(truth, suffix)} spans '{suffix}', want {MESSAGES * HOPS}")
    name = OUT / f"{language}-{kind}"
    shutil.copyfile(raw, f"{name}.otlp.jsonl")
    shutil.copyfile(truth, f"{name}.broker.otlp.jsonl")
    machine.say(f"recorded testdata/traces/{language}-{kind}: {sum(1 for _ in spans(raw))} spans")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hopgap", required=True)
    parser.add_argument("languages", nargs="*", metavar="LANG", default=machine.LANGUAGES)
    asked = parser.parse_args()
    for language in asked.languages:
        if language not in machine.LANGUAGES:
            raise SystemExit(f"'{language}' is none of {', '.join(machine.LANGUAGES)}")
    os.umask(0o022)
    OUT.mkdir(parents=True, exist_ok=True)
    for language in asked.languages:
        missing = machine.why_missing(language)
        if missing:
            print(missing)
            continue
        for kind in KINDS:
            record(asked.hopgap, language, kind)


main()
