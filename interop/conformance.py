"""What the clients' results mean, and the page that says so."""

import collections

import machine

NAMES = {"go": "Go", "java": "Java", "node": "Node.js", "python": "Python"}
NOT_ASKED = "only with --long"


def cell(behaviour, language, line):
    """The word for one result, or None where nothing explains it."""
    differs = behaviour.get("differs", {}).get(language)
    if differs:
        return "differs" if line["result"] == differs["result"] else None
    if line["result"] != behaviour["expect"]:
        return None
    return "as recorded" if behaviour.get("recorded") else "as documented"


def judge(behaviours, results):
    """The unexplained results in words, and how many there are of each cell."""
    unexplained, counts = [], collections.Counter()
    for language, lines in results.items():
        for behaviour in behaviours:
            line = lines[behaviour["id"]]
            word = cell(behaviour, language, line)
            counts[word or "unexplained"] += 1
            if word is None:
                want = behaviour.get("differs", {}).get(language, {}).get("result", behaviour["expect"])
                unexplained.append(
                    f"{language}, {behaviour['id']}: '{line['result']}', expected '{want}' ({line['evidence'][:300]})"
                )
    return unexplained, counts


def write(behaviours, results, path):
    languages = sorted(results)
    versions = {language: machine.version(language) for language in languages}
    text = [
        "# Conformance",
        "",
        "What the official Pub/Sub clients saw of `hopgap serve`. `./dev interop` asks them and writes this page;",
        "`interop/behaviours/behaviours.toml` is the list. *As documented*: what the service's documentation promises.",
        "*As recorded*: what no document says and the real service or the library was seen to do. Every *differs* is",
        "explained below.",
        "",
        "| behaviour | " + " | ".join(f"{NAMES[language]} {versions[language]}" for language in languages) + " |",
        "|---" * (len(languages) + 1) + "|",
    ]
    notes = []
    for behaviour in behaviours:
        cells = []
        for language in languages:
            line = results[language].get(behaviour["id"])
            word = cell(behaviour, language, line) if line else kept(path, behaviour["id"], language, languages)
            if word and word.startswith("differs"):
                difference = behaviour["differs"][language]
                notes.append(f"{NAMES[language]}, `{behaviour['id']}`: {difference['result']}, because {difference['because']}.")
                word = f"differs ({len(notes)})"
            cells.append(word)
        text.append(f"| `{behaviour['id']}` | " + " | ".join(cells) + " |")
    text += ["", "## Differences", ""] + [f"{number}. {note}" for number, note in enumerate(notes, 1)]
    text += ["", "## Figures", "", "As the clients saw them on the machine that wrote this page, several behaviours at a time.", ""]
    text += ["| behaviour | " + " | ".join(NAMES[language] for language in languages) + " |"]
    text += ["|---" * (len(languages) + 1) + "|"]
    for behaviour in behaviours:
        if behaviour.get("figures"):
            said = [figures(path, behaviour["id"], results[language], language, languages) for language in languages]
            text.append(f"| `{behaviour['id']}`, seen | " + " | ".join(said) + " |")
    text += ["", "## What is done", "", "| behaviour | what is done | expected | by |", "|---|---|---|---|"]
    for behaviour in behaviours:
        text.append(f"| `{behaviour['id']}` | {behaviour['says']} | {behaviour['expect']} | {behaviour['source']} |")
    path.write_text("\n".join(text) + "\n")


def figures(path, behaviour, lines, language, languages):
    if behaviour in lines:
        return lines[behaviour]["evidence"].replace("|", "/")
    return kept(path, behaviour, language, languages, ", seen")


def kept(path, behaviour, language, languages, mark=""):
    """What the page said of a behaviour that was not asked for this time."""
    if path.exists():
        for line in path.read_text().splitlines():
            cells = [part.strip() for part in line.strip("|").split("|")]
            if cells[0] == f"`{behaviour}`{mark}" and len(cells) == len(languages) + 1:
                return cells[languages.index(language) + 1]
    return NOT_ASKED
