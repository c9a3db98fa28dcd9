"""Starting and ending what the programs here need: a broker, sinks for spans, clients."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
FETCH_S = 180  # a client that is fetched for the first time takes a minute; a registry that never answers takes for ever
ENDS_WITHIN_S = 40  # after SIGTERM

# The client of each language: how it is made ready, its programs, and where its version is written.
LANGUAGES = ("go", "python", "node", "java")


def command(language, program):
    """The command line of one of a language's programs: worker, sender or behaviours."""
    if language == "go":
        return [str(BUILD / f"go-{program}")]
    name = program.capitalize() if language == "java" else program
    return [str(ROOT / "interop" / language / "run"), name]


def version(language):
    """The pinned version of a language's official client."""
    interop = ROOT / "interop"
    if language == "go":
        lines = (interop / "go/go.mod").read_text().split("\n")
        return next(line.split()[-1] for line in lines if "cloud.google.com/go/pubsub/v2 " in line).lstrip("v")
    if language == "python":
        lines = (interop / "python/requirements.txt").read_text().split("\n")
        return next(line.split("==")[1] for line in lines if line.startswith("google-cloud-pubsub=="))
    if language == "node":
        return json.loads((interop / "node/package.json").read_text())["dependencies"]["@google-cloud/pubsub"]
    text = (interop / "java/pom.xml").read_text()
    return text.split("<artifactId>google-cloud-pubsub</artifactId>")[1].split("<version>")[1].split("<")[0]


def why_missing(language):
    """Makes a language's client ready. Returns None, or the sentence that says what this machine lacks."""
    if language == "go":
        made = (BUILD / "go-behaviours").exists() or (BUILD / "go-worker").exists()
        return None if made else "go: skipped: Go 1.21 or newer is not installed, or its modules could not be fetched"
    # `timeout` ends what the script started, too.
    build = ["timeout", "--kill-after=5", str(FETCH_S), str(ROOT / "interop" / language / "build")]
    made = subprocess.run(build, capture_output=True, text=True)
    if made.returncode in (124, 137):
        return f"{language}: skipped: its client was not fetched and built within {FETCH_S} s"
    if made.returncode == 3:
        return made.stdout.strip()
    if made.returncode != 0:
        raise SystemExit(made.stdout + made.stderr)
    return None


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def await_that(what, holds, limit_s=60):
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        if holds():
            return
        time.sleep(0.05)
    raise SystemExit(f"{what}: not within {limit_s} s")


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def clean_environment():
    """Ours without what would reach into the programs."""
    return {k: v for k, v in os.environ.items() if not k.startswith(("HOPGAP_", "OTEL_", "PUBSUB_"))}


class Process:
    """A program that runs until it is ended; what it says goes to a file."""

    def __init__(self, name, arguments, log, environment=None):
        self.name, self._log = name, pathlib.Path(log)
        with open(log, "ab") as output:
            self.child = subprocess.Popen(
                [str(a) for a in arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**clean_environment(), **(environment or {})},
                start_new_session=True,
            )

    def said(self):
        return self._log.read_text(errors="replace")

    def end(self, sign=signal.SIGTERM):
        """Ends it, and raises unless it ended well."""
        if self.child.poll() is None:
            self.child.send_signal(sign)
        try:
            code = self.child.wait(ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise SystemExit(f"{self.name}: still ran {ENDS_WITHIN_S} s after the signal; see {self._log}")
        if code != 0 and sign == signal.SIGTERM:
            raise SystemExit(f"{self.name}: ended with {code}: {self.said()[-2000:]}")

    def kill(self):
        """Ends it and what it started, whatever it does."""
        if self.child.poll() is None:
            os.killpg(self.child.pid, signal.SIGKILL)
            self.child.wait()


class Broker(Process):
    """`hopgap serve` on a port of its own."""

    def __init__(self, hopgap, log, *flags, environment=None, port=None):
        self.port = port or free_port()
        super().__init__("hopgap serve", [hopgap, "serve", "--port", self.port, *flags], log, environment)
        self.address = f"127.0.0.1:{self.port}"

        def up():
            if self.child.poll() is not None:
                raise SystemExit(f"hopgap serve ended: {self.said()[-2000:]}")
            return listens(self.port)

        await_that("hopgap serve listens", up)


def say(text):
    print(text, file=sys.stderr, flush=True)
