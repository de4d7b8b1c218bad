"""Folds PTX before it is packed. What NVRTC calls registers and labels is numbered through, so code that is the same for two element types has
other numbers everywhere, which is most of what a packer keeps. Names carry no meaning: here a register is told by how many others were used
since, a label by how many definitions away it is, and both get numbers anew in the order in which they come. A byte below 128 is itself;

    128 + class, n   a register of this class: n = 0 is one that was not used yet, n = 1 the one used last, 2 the one used before that …
    144              the next label, where it is defined
    145, n; 146, n   the label that is the n-th of those defined after here (from 0); the n-th back (from 1)
    159              registers are forgotten: a kernel or a function begins

where n is a byte, or 255 and a u16, little-endian. src/runtime/cuda/fold.rs does the same as `unfold`."""
import re

CLASSES = ["r", "rd", "p", "rs", "f", "fd", "h", "hh"]
LABEL, AHEAD, BACK, FORGET = 144, 145, 146, 159
FUNCTION = re.compile(r"(?m)^(?=\.visible \.entry|\.func)")
DEFINITION = re.compile(r"(?m)^\$L__BB(\d+_\d+):")
NAME = re.compile(r"%(rd|rs|fd|hh|r|p|f|h)(\d+)\b|(?m:^)\$L__BB(\d+_\d+):|\$L__BB(\d+_\d+)\b")


def number(n):
    return bytes([n]) if n < 255 else b"\xff" + n.to_bytes(2, "little")


def fold(ptx):
    """The folded bytes of PTX as NVRTC writes it."""
    place = {m[1]: i for i, m in enumerate(DEFINITION.finditer(ptx))}
    out, defined = b"", 0
    for part in FUNCTION.split(ptx):
        used, seen, at = {name: [] for name in CLASSES}, set(), 0
        pieces = [bytes([FORGET])]
        for m in NAME.finditer(part):
            pieces.append(part[at : m.start()].encode("ascii"))
            at = m.end()
            if m[1]:
                # The last one used stands at the end.
                names, n = used[m[1]], 0
                if m.group(1, 2) in seen:
                    n = next(back for back in range(1, len(names) + 1) if names[-back] == m[2])
                    names.pop(-n)
                names.append(m[2])
                seen.add(m.group(1, 2))
                pieces.append(bytes([128 + CLASSES.index(m[1])]) + number(n))
            elif m[3]:
                pieces.append(bytes([LABEL]))
                defined += 1
            else:
                ahead = place[m[4]] - defined
                pieces.append(bytes([AHEAD]) + number(ahead) if ahead >= 0 else bytes([BACK]) + number(-ahead))
        out += b"".join(pieces) + part[at:].encode("ascii")
    return out


def unfold(folded):
    """The PTX, with its own numbers for registers and labels."""
    out, at, defined, used = [], 0, 0, {}

    def take():
        nonlocal at
        n, at = folded[at], at + 1
        if n == 255:
            n, at = int.from_bytes(folded[at : at + 2], "little"), at + 2
        return n

    while at < len(folded):
        byte, at = folded[at], at + 1
        if byte < 128:
            out.append(chr(byte))
        elif byte == FORGET:
            used = {name: [] for name in CLASSES}
        elif byte == LABEL:
            out.append(f"$L{defined}:")
            defined += 1
        elif byte == AHEAD:
            out.append(f"$L{defined + take()}")
        elif byte == BACK:
            out.append(f"$L{defined - take()}")
        else:
            name, n = CLASSES[byte - 128], take()
            names = used[name]
            names.append(names.pop(-n) if n else len(names) + 1)
            out.append(f"%{name}{names[-1]}")
    return "".join(out)
