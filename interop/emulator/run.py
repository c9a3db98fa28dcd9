"""Asks the official clients to show the behaviours of behaviours.toml against Google's own Pub/Sub emulator, where a
machine has it, and writes docs/emulator.md: a second opinion, and what one gets there that one does not get here.

    run.py [--no-write] [LANG…]

It judges nothing: exit 0, unless the emulator did not start.
"""

import argparse
import concurrent.futures
import pathlib
import re
import shutil
import sys
import tomllib

INTEROP = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(INTEROP), str(INTEROP / "behaviours")]
import conformance  # noqa: E402
import machine  # noqa: E402
import run as behaviours  # noqa: E402

OUT = machine.BUILD / "interop" / "emulator"
PAGE = machine.ROOT / "docs" / "emulator.md"
LIMIT_S = 150  # for a program that waits for what never comes
STARTS_WITHIN_S = 60


def find():
    """The emulator's start script and its version, or why there is none."""
    gcloud = shutil.which("gcloud")
    if gcloud is None:
        return None, "gcloud is not installed"
    home = pathlib.Path(gcloud).resolve().parents[1] / "platform" / "pubsub-emulator"
    script = home / "bin" / "cloud-pubsub-emulator"
    if not script.exists():
        return None, "gcloud has no component pubsub-emulator"
    if shutil.which("java") is None:
        return None, "it needs Java, which is not installed"
    jar = next((home / "lib").glob("cloud-pubsub-emulator-*.jar"), None)
    return script, re.search(r"emulator-([\d.]+)-", jar.name)[1] if jar else "of unknown version"


class Emulator(machine.Process):
    """What run.py's Stage is to `ask`: a server of its own, with nothing behind its control address."""

    control = "http://127.0.0.1:9"

    def __init__(self, script, scratch):
        self.port = machine.free_port()
        self.address = f"127.0.0.1:{self.port}"
        self.broker = self
        super().__init__("the emulator", [script, "--host=127.0.0.1", f"--port={self.port}"], scratch / "emulator.log")
        machine.await_that("the emulator listens", lambda: machine.listens(self.port), STARTS_WITHIN_S)


def show(language, asked, script):
    scratch = OUT / language
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    emulator = Emulator(script, scratch)
    try:
        seen = behaviours.ask(language, [b["id"] for b in asked if not b.get("alone")], emulator, scratch, LIMIT_S)
        for behaviour in asked:
            if behaviour.get("alone"):
                seen.update(behaviours.ask(language, [behaviour["id"]], emulator, scratch, LIMIT_S))
    finally:
        emulator.kill()
    return seen


def word(behaviour, language, line):
    """The cell: as hopgap and the documentation, or what came instead."""
    if conformance.cell(behaviour, language, line):
        return "the same"
    if re.fullmatch(r"error|no answer|\w*(Error|Exception)", line["result"]):
        return "not finished"
    said = line["result"].replace("|", "/")
    return said if len(said) <= 60 else said[:57] + "…"


def page(version, every, asked, results):
    languages = sorted(results)
    text = [
        "# The official emulator, asked the same",
        "",
        "Written by `./dev interop emulator` on a machine that has Google's Pub/Sub emulator; nothing of hopgap's build or tests",
        f"needs it. The list is that of [conformance.md](conformance.md), the emulator {version}. *The same*: what the client",
        "gets from hopgap, too. Anything else is what came instead; *not finished*: the program",
        "waited in vain for the rest.",
        "",
        "| behaviour | expected | " + " | ".join(conformance.NAMES[language] for language in languages) + " |",
        "|---" * (len(languages) + 2) + "|",
    ]
    for behaviour in asked:
        cells = [word(behaviour, language, results[language][behaviour["id"]]) for language in languages]
        text.append(f"| `{behaviour['id']}` | {behaviour['expect']} | " + " | ".join(cells) + " |")
    left_out = ", ".join(f"`{b['id']}`" for b in every if b not in asked)
    text += ["", f"Not asked, because they need a server that fails, restarts or idles when it is told to: {left_out}."]
    return "\n".join(text) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--no-write", action="store_true", help="leave docs/emulator.md as it is")
    parser.add_argument("languages", nargs="*", metavar="LANG", default=machine.LANGUAGES)
    asked = parser.parse_args()
    script, version = find()
    if script is None:
        print(f"emulator: skipped, {version}")
        return
    every = tomllib.loads((INTEROP / "behaviours" / "behaviours.toml").read_text())["behaviour"]
    chosen = [b for b in every if not b.get("control") and not b.get("long")]
    languages = []
    for language in asked.languages:
        missing = machine.why_missing(language)
        if missing:
            print(missing)
        else:
            languages.append(language)
    with concurrent.futures.ThreadPoolExecutor(behaviours.TOGETHER) as pool:
        results = dict(zip(languages, pool.map(lambda x: show(x, chosen, script), languages)))
    same = 0
    for language, lines in results.items():
        for behaviour in chosen:
            said = word(behaviour, language, lines[behaviour["id"]])
            same += said == "the same"
            if said != "the same":
                print(f"emulator: {language}, {behaviour['id']}: {said}")
    if set(languages) == set(machine.LANGUAGES) and not asked.no_write:
        PAGE.write_text(page(version, every, chosen, results))
    else:
        print("emulator: docs/emulator.md is left as it is: not every client was asked")
    print(f"emulator {version}: {len(languages)} clients, {len(chosen)} behaviours, {same} of {len(languages) * len(chosen)} the same")


if __name__ == "__main__":
    main()
