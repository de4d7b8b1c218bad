"""Marks branches that all lanes of a warp take together. Where ptxas does not see that they do, it looks before every exchange between lanes
whether all are there: two instructions each, a tenth of a kernel. NVRTC does not tell it; we know it of what comes from votes of the whole
warp or block, from one lane, or from `uniform()`, by which the sources promise it, and of what is computed from such values alone."""
import re

REGISTER = re.compile(r"%[a-z]+\d+")
# The same on every lane, whatever goes in: the masks in our sources are always those of a whole warp.
SAME = re.compile(r"vote\.sync\.|bar(rier)?\.(cta\.)?red\.")
# Likewise, in a kernel: what a function is called with may be other on each lane.
PARAMETER = re.compile(r"ld\.param\.")
# The same for the same operands.
PURE = re.compile(
    r"(add|sub|mul|mad|fma|div|rcp|min|max|and|or|xor|not|neg|abs|shl|shr|shf|setp|set|selp|mov|cvt|cvta|popc|clz|bfind|brev|prmt|lop3|bfe|bfi)\."
)
SPECIAL = ("%ctaid.", "%nctaid.", "%ntid.")
INSTRUCTION = re.compile(r"\s*(@!?%?p\d*\s+)?([a-z][\w.]*)\s+({[^}]*}|[^,]*),?(.*)")
BRANCH = re.compile(r"(\s*@!?(%p\d+)\s+bra)\b(?!\.)")
SETS_NOTHING = re.compile(r"(st|red|bra|bar\.sync|bar\.warp|membar|fence|prefetch|ret|call)\b")


def is_same(op, rest, same, is_kernel):
    """Whether an instruction gives all lanes the same, if the registers in `same` do."""
    if SAME.match(op) or (is_kernel and PARAMETER.match(op)) or rest.endswith("// uniform"):
        return True
    if op.startswith("shfl.sync.idx"):
        return not REGISTER.search(rest.split(",")[1])
    reads = re.findall(r"%[\w.]+", rest)
    return bool(PURE.match(op)) and all(r in same or r.startswith(SPECIAL) for r in reads)


def uniform_registers(lines, is_kernel):
    """Registers of a kernel or function that are set at one place, to the same value on all lanes."""
    made = {}
    for line in lines:
        m = INSTRUCTION.match(line)
        if m and not SETS_NOTHING.match(m[2]):
            for register in REGISTER.findall(m[3]):
                made.setdefault(register, []).append((m[1], m[2], m[4]))
    # Set without a condition, and at one place only: else lanes might have come by different ways.
    made = {register: ways[0][1:] for register, ways in made.items() if len(ways) == 1 and not ways[0][0]}
    same, before = set(), -1
    while len(same) > before:
        before = len(same)
        same |= {register for register, (op, rest) in made.items() if register not in same and is_same(op, rest, same, is_kernel)}
    return same


def mark(ptx):
    """The PTX with `.uni` at the branches that depend on such registers."""
    parts = re.split(r"(?m)^(?=\.visible \.entry|\.func)", ptx)
    for i, part in enumerate(parts):
        lines = part.split("\n")
        same = uniform_registers(lines, part.startswith(".visible .entry"))
        parts[i] = "\n".join(BRANCH.sub(lambda m: m[1] + ".uni" * (m[2] in same), line) for line in lines)
    return "".join(parts)
