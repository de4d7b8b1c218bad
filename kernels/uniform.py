"""Marks branches that all lanes of a warp take together. What a vote or a reduction of a whole warp gives is the same on all lanes, and what is
computed from such values too; NVRTC does not tell ptxas so, which then looks before every exchange between lanes whether all are there: two
instructions each, a tenth of a kernel."""
import re

REGISTER = re.compile(r"%[a-z]+\d+")
# Results that are the same on every lane, whatever goes in; the mask is always that of the whole warp.
SAME = re.compile(r"(vote\.sync\.|redux\.sync\.|barrier\.cta\.red|bar\.red|ld\.param)")
# Operations that give the same for the same operands.
PURE = re.compile(r"(add|sub|mul|mad|min|max|and|or|xor|not|neg|abs|shl|shr|shf|setp|selp|mov|cvt|popc|clz|bfind|brev|prmt|lop3|bfe|bfi|cvta|set|fma|div|rcp)\.")
# The only special registers that may be read for it.
UNIFORM_SPECIAL = ("%ctaid.", "%nctaid.", "%ntid.")


def operands(line):
    """Operation, registers it sets and what it reads; None for what sets no register."""
    text = line.strip()
    m = re.match(r"(@!?%p\d+\s+)?([a-z][\w.]*)\s+(.*)", text)
    if not m or re.match(r"(st|red|bra|bar\.sync|membar|fence|prefetch|ret|call|atom\.\S*_)", m[2]):
        return None
    head, _, rest = m[3].partition(",") if not m[3].startswith("{") else m[3].partition("}")
    return m[2], REGISTER.findall(head), rest, bool(m[1])


def uniform_registers(lines):
    """Registers of a kernel that are set once, to the same value on all lanes."""
    made = {}
    for line in lines:
        found = operands(line)
        for register in found[1] if found else ():
            made.setdefault(register, []).append(found)
    same, grown = set(), True
    while grown:
        grown = False
        for register, ways in made.items():
            if register in same or len(ways) > 1:
                continue
            op, _, rest, guarded = ways[0]
            special = re.findall(r"%\w+\.\w+|%laneid|%lanemask\w*|%clock\w*", rest)
            pure = PURE.match(op) and all(s.startswith(UNIFORM_SPECIAL) for s in special) and set(REGISTER.findall(rest)) <= same
            idx = op.startswith("shfl.sync.idx") and not REGISTER.findall(rest.split(",")[1]) 
            promised = "// uniform" in rest
            if not guarded and (promised or SAME.match(op) or pure or idx):
                same.add(register)
                grown = True
    return same


def mark(ptx):
    """The PTX with `.uni` at the branches that depend on such registers alone."""
    parts = re.split(r"(?m)^(?=\.visible \.entry)", ptx)
    for i, part in enumerate(parts):
        lines = part.splitlines(keepends=True)
        same = uniform_registers(lines)
        parts[i] = "".join(
            re.sub(r"\bbra\b(?!\.)", "bra.uni", line, count=1)
            if (m := re.match(r"\s*@!?(%p\d+)\s+bra\b", line)) and m[1] in same
            else line
            for line in lines
        )
    return "".join(parts)
