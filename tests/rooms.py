"""The arrow of docs/internals/design.md §1, as its list has it: what of `src` leads against it, to another codec, or in a circle."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIST = (ROOT / "docs/internals/design.md").read_text().split("```")[1].replace("/<name>", "")
RANKS = {room.strip(): k for k, rooms in enumerate(LIST.split("→")) for room in rooms.split(",")}
USE = r"\buse\s+([^;<]+);"
NOISE = r"//[^\n]*|r#\".*?\"#|'(?:\\.|[^\\'])'|\"(?:\\.|[^\"\\])*\""


def sources():
    """The files by their modules, without texts, comments and tests."""
    for path in (ROOT / "src").rglob("*.rs"):
        module = [*path.relative_to(ROOT / "src").with_suffix("").parts]
        if module[0] != "lib" and "tests" not in module:
            text = path.read_text().split("\n#[cfg(test)]\nmod tests")[0]
            yield tuple(module[: len(module) - (module[-1] == "mod")]), re.sub(NOISE, "''", text, flags=re.DOTALL)


def tree(text):
    """The paths of a tree of `use`."""
    while inner := re.search(r"([\w:]*)\{([^{}]*)\}", text):
        paths = [inner[1] + part.strip() for part in inner[2].split(",") if part.strip()]
        text = text[: inner.start()] + ",".join(paths) + text[inner.end() :]
    return [path.split(" as ")[0].strip() for path in text.split(",")]


def leads_to(module, path):
    """The module behind a path, which need not be a file; None if it is another crate's or a name of the file itself."""
    first, *rest = path.split("::")
    place = list(module)
    while first == "super":
        place = place[:-1]
        first, *rest = rest or [""]
    if first == "crate":
        return tuple(rest)
    if first == "self" or path.startswith("super"):
        return tuple(place + ([] if first == "self" else [first]) + rest)
    return (*module, first, *rest) if (*module, first) in FILES else None


def uses(module, text):
    text = re.sub(r"(?m)^ +use super::", "use self::", text)  # of a module within the file
    paths = [path for use in re.findall(USE, text) for path in tree(re.sub(r"\s+", " ", use))]
    for path in paths + re.findall(r"(?<![\w:])[a-z_]\w*(?:::\w+)+", re.sub(USE, "", text)):
        to = leads_to(module, path)
        if to is not None:
            yield next((to[:n] for n in range(len(to), 0, -1) if to[:n] in FILES), to)


def room(module):
    return "/".join(module[:2]) if "/".join(module[:2]) in RANKS else module[0]


def against(module, to):
    own, other = room(module), room(to)
    if "codec" == to[0] and to[1:] and other == "codec" and (module[0] == "api" or module[:2] != to[:2] and module[:1] == to[:1] and module[1:]):
        return True
    return own != other and RANKS.get(other, -1) <= RANKS[own]


FILES = dict(sources())
USED = {module: {to for to in uses(module, text) if to and to != module} for module, text in FILES.items()}
wrong = [(module, to) for module, all_ in USED.items() for to in all_ if against(module, to)]
reached = {module: {to for to in all_ if to in FILES} for module, all_ in USED.items()}
while any([more - all_ and not all_.update(more) for all_ in reached.values() for more in [set().union(*(reached[to] for to in all_))]]):
    pass
wrong += [(module, to) for module in reached for to in USED[module] if to in FILES and module in reached[to] | {to}]
if len(FILES) < 100 or sum(map(len, USED.values())) < 500:
    sys.exit(f"rooms: too little was seen: {len(FILES)} files")
sys.exit("\n".join(f"rooms: {'/'.join(module)} must not use {'::'.join(to)}" for module, to in wrong) or None)
