"""Asks the official clients to show the behaviours of behaviours.toml against `hopgap serve`, compares, and writes
docs/conformance.md when all four have been asked for all of it.

    run.py --hopgap build/hopgap [--long] [--only WORD] [LANG…]

Prints a line per behaviour and client that is not as expected, and a summary. Exit 1 for a result that nothing explains.
"""

import argparse
import concurrent.futures
import http.server
import json
import os
import pathlib
import subprocess
import sys
import threading
import tomllib
import urllib.parse
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import conformance  # noqa: E402
import machine  # noqa: E402
import relay  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
OUT = machine.BUILD / "interop" / "behaviours"
TOGETHER = 2  # languages at a time
LIMIT_S = 420
LONG_LIMIT_S = 900
LOSE_WITHIN_S = 60


class Stage:
    """A broker of its own for one language, and what its program may ask of it."""

    def __init__(self, hopgap, scratch):
        self._hopgap, self._scratch = hopgap, scratch
        self._flags = ["--data", scratch / "data", "--admin"]
        self.broker = machine.Broker(hopgap, scratch / "broker.log", *self._flags)
        self.relay = relay.Relay(self.broker.port)
        stage = self

        class Control(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                url = urllib.parse.urlsplit(self.path)
                answer = stage.answer(url.path, dict(urllib.parse.parse_qsl(url.query))).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Control)
        self.control = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def answer(self, path, query):
        if path in ("/restart", "/crash"):
            return self._restart(path == "/crash")
        if path == "/fail-acks":
            self._ask_admin(query["subscription"] + ":failNext", {"call": "ack", "failure": "transient", "times": 2})
            return "armed"
        if path == "/recycle":
            self._ask_admin(query["subscription"] + ":recycleStreams", {})
            return "recycled"
        if path == "/lose-reply":
            self.relay.lose_answers()
            self._losing = threading.Thread(target=self._lose_reply, args=(query["subscription"],), daemon=True)
            self._losing.start()
            return "armed"
        if path == "/was-lost":
            self._losing.join(LOSE_WITHIN_S)
            return self._loss
        return f"nobody answers {path}"

    def _lose_reply(self, subscription):
        """Cuts the connections when the broker has taken the ack and its answer has come as far as here."""
        self._loss = "the broker did not take an ack"
        if relay.await_that(lambda: not self._leases(subscription), LOSE_WITHIN_S / 2):
            before = self.relay.lost()
            relay.await_that(lambda: self.relay.lost() > before, 0.5)
            self._loss = "lost" if self.relay.lost() > 0 else "the broker answered nothing"
        self.relay.cut()

    def _leases(self, subscription):
        return self._ask_admin(subscription + "/leases")["leases"]

    def _ask_admin(self, call, body=None):
        request = urllib.request.Request(
            f"http://{self.broker.address}/admin/v1/{call}",
            None if body is None else json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def _restart(self, crash):
        self.broker.kill() if crash else self.broker.end()
        self.broker = machine.Broker(self._hopgap, self._scratch / "broker.log", *self._flags, port=self.broker.port)
        return "restarted"

    def close(self):
        self._server.shutdown()
        self.relay.close()
        self.broker.kill()


def ask(language, ids, stage, scratch, limit_s, address=None):
    """Runs a language's program and returns its lines, by behaviour."""
    environment = {
        **machine.clean_environment(),
        "PUBSUB_EMULATOR_HOST": address or stage.broker.address,
        "HOPGAP_CONTROL": stage.control,
    }
    command = machine.command(language, "behaviours") + ids
    with open(scratch / "stderr.log", "ab") as errors:
        child = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True)
        try:
            text, _ = child.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            child.kill()
            text, _ = child.communicate()
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    seen = {line["behaviour"]: line for line in lines}
    for behaviour in ids:
        if behaviour not in seen:
            seen[behaviour] = {"client": language, "behaviour": behaviour, "result": "no answer", "evidence": ""}
    return seen


def show(language, behaviours, hopgap, name=None):
    scratch = OUT / (name or language)
    subprocess.run(["rm", "-rf", scratch], check=True)
    scratch.mkdir(parents=True)
    limit_s = LONG_LIMIT_S if any(b.get("long") for b in behaviours) else LIMIT_S
    stage = Stage(hopgap, scratch)
    try:
        together = [b["id"] for b in behaviours if not b.get("alone")]
        seen = ask(language, together, stage, scratch, limit_s) if together else {}
        for behaviour in behaviours:
            if behaviour.get("alone"):
                address = stage.relay.address if behaviour.get("relay") else None
                seen.update(ask(language, [behaviour["id"]], stage, scratch, limit_s, address))
    finally:
        stage.close()
    (scratch / "results.jsonl").write_text("".join(json.dumps(line) + "\n" for line in seen.values()))
    return seen


def show_all(languages, behaviours, hopgap):
    """Every language's results. What takes long waits most of the time, so it goes on beside the rest."""
    quick = [b for b in behaviours if not b.get("long")]
    long = [b for b in behaviours if b.get("long")]
    with concurrent.futures.ThreadPoolExecutor(len(machine.LANGUAGES)) as waiting:
        waits = {x: waiting.submit(show, x, long, hopgap, f"{x}-long") for x in languages if long}
        with concurrent.futures.ThreadPoolExecutor(TOGETHER) as pool:
            results = dict(zip(languages, pool.map(lambda x: show(x, quick, hopgap) if quick else {}, languages)))
        for language, wait in waits.items():
            results[language].update(wait.result())
    return results


def ask_again(behaviours, results, hopgap):
    """A busy machine can make a client late, so what nothing explains is asked once more, alone; both answers are told."""
    for language, lines in results.items():
        for behaviour in behaviours:
            first = lines[behaviour["id"]]
            if conformance.cell(behaviour, language, first) or behaviour.get("long"):
                continue
            lines.update(show(language, [behaviour], hopgap, f"{language}-{behaviour['id']}"))
            second = lines[behaviour["id"]]
            print(
                f"behaviours: {language}, {behaviour['id']}: '{first['result']}' ({first['evidence'][:200]}); "
                f"asked once more, alone: '{second['result']}'"
            )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hopgap", required=True)
    parser.add_argument("--long", action="store_true", help="also what takes ten minutes")
    parser.add_argument("--only", default="", metavar="WORD", help="only behaviours with this in their names")
    parser.add_argument("languages", nargs="*", metavar="LANG", default=machine.LANGUAGES)
    asked = parser.parse_args()
    every = tomllib.loads((HERE / "behaviours.toml").read_text())["behaviour"]
    chosen = [b for b in every if asked.only in b["id"] and (asked.long or not b.get("long"))]
    if not chosen:
        raise SystemExit(f"behaviours: none has '{asked.only}' in its name")
    OUT.mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(len(machine.LANGUAGES)) as pool:
        missing = dict(zip(asked.languages, pool.map(machine.why_missing, asked.languages)))
    for reason in filter(None, missing.values()):
        print(reason)
    languages = [language for language in asked.languages if not missing[language]]
    results = show_all(languages, chosen, asked.hopgap)
    ask_again(chosen, results, asked.hopgap)
    unexplained, counts = conformance.judge(chosen, results)
    for line in unexplained:
        print(f"behaviours: {line}")
    whole = set(languages) == set(machine.LANGUAGES) and not asked.only
    if os.environ.get("CI"):
        print("behaviours: docs/conformance.md is left as it is: a page that is committed is not written by a push")
    elif whole and not unexplained:
        conformance.write(every, results, machine.ROOT / "docs" / "conformance.md")
    else:
        print("behaviours: docs/conformance.md is left as it is: not every client was asked for everything, or see above")
    said = ", ".join(f"{count} {cell}" for cell, count in sorted(counts.items()))
    names = ", ".join(languages) or "nobody"
    skipped = ", ".join(language for language in asked.languages if missing[language])
    names += f"; skipped: {skipped}" if skipped else ""
    print(f"behaviours: {len(languages)} clients ({names}), {len(chosen)} behaviours: {said or 'nothing asked'}")
    # A closing line that test runners are read for.
    print(f"{sum(counts.values()) - counts['unexplained']} passed, {counts['unexplained']} failed")
    if not languages:
        print("behaviours: skipped, no client is installed")
    sys.exit(1 if unexplained else 0)


if __name__ == "__main__":
    main()
