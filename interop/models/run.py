"""The same chain with an official library and with our model of it, side by side on the same arrival slots and the same
added delays: do the stages agree? Writes the table of docs/clients.md.

    run.py --hopgap build/hopgap [--rate R]… [--nothing-added] [--no-write] [LANG…]

A stage agrees when its p50 is within 10 % or 2 ms and its p95 within 20 % or 10 ms of the model's. A quantile whose 95 %
intervals would allow that, though it lies outside itself, is *not resolved*. What is outside and has a reason in
models.toml is *differs*; the same without a reason fails the check, as does a chain that does not finish. A run whose
load was late says nothing of the clients and is not judged.
"""

import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tomllib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import machine  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
OUT = machine.BUILD / "interop" / "models"
PAGE = machine.ROOT / "docs" / "clients.md"
BEGIN, END = "<!-- models-table: written by ./dev model-check -->", "<!-- models-end -->"
HOPS, WORK = 2, "50ms"
# Ten threads a subscriber handle 200/s of 50 ms: a queue that only grows, in the library and in the model.
WORK_OF = {("python", 200): "20ms"}
KINDS = ("std", "eos")
STAGES = ("client_publish", "publish_rpc", "delivery_gap", "dispatch_gap", "work", "ack")
PUBLISHED = ("client_publish", "publish_rpc")
# Messages a second: how many of them, over so many streams. A client that stops and waits carries streams / 60 ms.
LOADS = {1: (60, 4), 20: (800, 4), 200: (2000, 24)}
APART_FROM = 200  # messages a second: from here on one kind at a time has the machine
LONGER = {"java": 2}  # a JVM's first messages take seconds; p95 is not to be theirs
LIMITS = {"p50": (0.10, 2.0), "p95": (0.20, 10.0)}  # of the model's value, or ms: the greater counts
RUN_LIMIT_S = 300
# Four JVMs that compile at full length would take two cores to themselves for the whole run.
JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
LATE_SHARE_MAX = 0.04  # p95 is judged


def compare(model, library, quantile):
    """within, not resolved or outside."""
    share, least_ms = LIMITS[quantile]
    allowed = max(share * abs(model[quantile]), least_ms)
    if abs(library[quantile] - model[quantile]) <= allowed:
        return "within"
    low, high = f"{quantile}_low", f"{quantile}_high"
    if None in (model[low], model[high], library[low], library[high]):
        return "not resolved"
    apart = max(library[low] - model[high], model[low] - library[high])
    return "outside" if apart > allowed else "not resolved"


def run(hopgap, language, rate, kinds, added):
    """The document of one run: for each kind an arm with our model, and one with the library (std and std-library)."""
    messages, streams = LOADS[rate]
    messages *= LONGER.get(language, 1)
    scratch = OUT / f"{language}-{rate}-{'-'.join(kinds)}{'' if added else '-nothing-added'}"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    profile = ["--profile", HERE / "profile.json"] if added else []
    broker = machine.Broker(hopgap, scratch / "broker.log", *profile)
    worker = " ".join(machine.command(language, "worker"))
    command = [hopgap, "run", "--processes", "--target", broker.address, "--quiet", "--json", "--no-out"]
    command += ["--hops", HOPS, "--work", WORK_OF.get((language, rate), WORK), "--rate", rate, "--messages", messages, "--streams", streams]
    command += ["--client", language]
    for kind in KINDS:
        command += ["--arm", f"{kind}-library:{kind},worker={worker}"]
    command += ["--only", ",".join(f"{kind},{kind}-library" for kind in kinds)]
    try:
        with open(scratch / "run.log", "wb") as errors:
            made = subprocess.run(
                [str(part) for part in command],
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**machine.clean_environment(), "JAVA_TOOL_OPTIONS": JAVA_OPTIONS},
                timeout=RUN_LIMIT_S,
                check=False,
            )
    finally:
        broker.kill()
    (scratch / "run.json").write_bytes(made.stdout)
    try:
        return json.loads(made.stdout)
    except ValueError:
        raise SystemExit(f"models: {language} at {rate}/s: no result: {(scratch / 'run.log').read_text()[-1000:]}")


def too_busy(document):
    """Why the run says nothing of the clients: the load itself was late. All arms share the slots, so a few do no harm."""
    for reason in document["verdict"]["reasons"]:
        late = re.search(r"(\d+) of (\d+) slots were sent over", reason)
        if late and int(late[1]) > LATE_SHARE_MAX * int(late[2]):
            return reason
    return None


def pair(document, kind):
    """The arms of a kind: our model's and the library's."""
    arms = {arm["name"].rsplit(".", 1)[-1]: arm for arm in document["arms"]}
    return arms[kind], arms[f"{kind}-library"]


def stage_of(arm, stage):
    """Sums over the hops; but the first topic is fed by our own publisher in the library's arm, too."""
    of = arm["hops_ms"][1] if stage in PUBLISHED else arm["stages_ms"]
    return of[stage]


def judge(language, rate, kinds, document, reasons):
    """A row of the table per kind, and what nothing explains."""
    rows, wrong, noted = [], [], set()
    for kind in kinds:
        model, library = pair(document, kind)
        cells = []
        for arm in (model, library):
            if arm["completed"] < arm["sent"]:
                wrong.append(f"{language}, {kind}, {rate}/s: {arm['name']} finished {arm['completed']} of {arm['sent']}")
        for stage in STAGES:
            ours, theirs = stage_of(model, stage), stage_of(library, stage)
            if None in (ours, theirs) or None in (ours["p50"], theirs["p50"]):
                cells.append("none")
                wrong.append(f"{language}, {kind}, {rate}/s, {stage}: not measured")
                continue
            verdicts = [compare(ours, theirs, quantile) for quantile in LIMITS]
            figures = f"{ours['p50']:.0f} / {ours['p95']:.0f}, {theirs['p50']:.0f} / {theirs['p95']:.0f}"
            mark = ""
            if "outside" in verdicts:
                reason = next((r for r in reasons if fits(r, language, kind, stage, rate)), None)
                if reason is None:
                    wrong.append(f"{language}, {kind}, {rate}/s, {stage}: model, library {figures} ms (p50 / p95)")
                    mark = " **outside**"
                else:
                    noted.add(reason["key"])
                    mark = f" differs ({reason['key']})"
            elif "not resolved" in verdicts:
                mark = " not resolved"
            cells.append(figures + mark)
        rows.append(f"| {language} | {kind} | {rate} | " + " | ".join(cells) + " |")
    return rows, wrong, noted


def fits(reason, language, kind, stage, rate):
    return (
        language in reason["languages"]
        and kind in reason.get("kinds", KINDS)
        and stage in reason["stages"]
        and rate in reason.get("rates", LOADS)
    )


def table(rows, noted, reasons):
    head = ["library", "kind", "rate", *(stage.replace("_", " ") for stage in STAGES)]
    text = ["", "| " + " | ".join(head) + " |", "|---" * len(head) + "|", *rows]
    notes = [f"- **{r['key']}**: {r['because']}" for r in reasons if r["key"] in noted]
    return "\n".join(text + ([""] + notes if notes else []) + [""])


def write(text):
    page = PAGE.read_text()
    before, rest = page.split(BEGIN)
    PAGE.write_text(before + BEGIN + "\n" + text + "\n" + END + rest.split(END)[1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hopgap", required=True)
    parser.add_argument("--rate", type=int, choices=sorted(LOADS), action="append", help="only at this rate (repeatable)")
    parser.add_argument("--nothing-added", action="store_true", help="no delays: the runtimes show; reported, not judged")
    parser.add_argument("--no-write", action="store_true", help="leave docs/clients.md as it is")
    parser.add_argument("languages", nargs="*", metavar="LANG", default=sorted(machine.LANGUAGES))
    asked = parser.parse_args()
    reasons = tomllib.loads((HERE / "models.toml").read_text())["reason"]
    rows, wrong, noted, skipped, unjudged = [], [], set(), [], 0
    for language in asked.languages:
        missing = machine.why_missing(language)
        if missing:
            print(missing)
            skipped.append(language)
            continue
        for rate in asked.rate or sorted(LOADS):
            for kinds in [KINDS] if rate < APART_FROM else [(kind,) for kind in KINDS]:
                document = run(asked.hopgap, language, rate, kinds, not asked.nothing_added)
                more, unexplained, names = judge(language, rate, kinds, document, reasons)
                print("\n".join(more), flush=True)
                busy = too_busy(document)
                if busy:
                    print(f"models: not judged, this machine was too busy: {language}, {rate}/s, {busy}")
                    left_out = "not judged: this machine was too busy |" + " |" * (len(STAGES) - 1)
                    rows += [f"| {language} | {kind} | {rate} | {left_out}" for kind in kinds]
                    unjudged += len(kinds)
                    continue
                rows, noted = rows + more, noted | names
                wrong += [] if asked.nothing_added else unexplained
    for line in wrong:
        print(f"models: outside: {line}")
    if asked.rate or len(asked.languages) < len(machine.LANGUAGES):
        skipped.append("the rest")
    if rows and not asked.no_write and not asked.nothing_added and not skipped:
        write(table(rows, noted, reasons))
    elif rows and not asked.no_write:
        print("models: docs/clients.md is left as it is: not every chain was compared")
    print(f"models: {len(rows)} chains compared, {len(wrong)} stages without an explanation, {unjudged} not judged")
    sys.exit(1 if wrong or unjudged == len(rows) else 0)


if __name__ == "__main__":
    main()
