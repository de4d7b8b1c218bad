"""Trains the static tables of codec predict (src/codec/predict/code/tables.rs) on codes of real fields, and tests them.

    python benches/tables/train.py [--against TABLES.rs] CODES OUT

CODES is a folder that `cargo bench --bench codes -- CODES` filled, once for each folder of fields in SLEEK_DATA. Half
of the tiles train new tables, the other half tests them against the old ones: those of the tree, or of another file.
OUT gets the text of tables that all tiles trained. They are not those of the tree to the bit: the search ends where its
start leads it, and the encoder chooses codes by the tables that it has.

Each field at each bound counts alike. A token costs 10 - log2 of its frequency, without raw bits. Training assigns each
group to the table that codes it in the fewest bits, fits each table to its groups, and repeats both. Then it drops the
table that is missed least and splits another one; it keeps what that gave if it costs less.
"""

import argparse
import pathlib
import re

import numpy as np

TOKENS, DIRECT, GROUP, SLOTS = 180, 64, 128, 1024
TABLES = 15  # class 0 has no tokens; that of index 14 is class 15
WIDE = [13, 14]  # have all tokens: for sparse groups, for others
FIRST, ABSENT = 16, 255


class Groups:
    """The groups of all files: an array for each of their properties."""

    def __init__(self, folder):
        paths = sorted(path for path in pathlib.Path(folder).iterdir() if path.stat().st_size)
        files = [self._tiles(path.read_bytes()) for path in paths]
        tiles = [(k, number, *tile) for k, file in enumerate(files) for number, tile in enumerate(file)]
        file, number, sums, tokens = zip(*tiles)
        lengths = [len(some) for some in sums]
        self.file, self.trains = np.repeat(file, lengths), np.repeat(number, lengths) % 2 == 0
        self.place = np.concatenate([np.arange(length) for length in lengths])
        self.sum, tokens = np.concatenate(sums), np.concatenate(tokens)
        there = tokens != ABSENT
        self.counts = np.zeros((len(tokens), TOKENS), np.uint8)
        rows = np.broadcast_to(np.arange(len(tokens))[:, None], tokens.shape)
        np.add.at(self.counts, (rows[there], tokens[there]), 1)
        self.most = np.where(there, tokens, 0).max(1)
        nonzeros = (there & (tokens > 0)).sum(1)
        # A part of a group is sorted as if zeros filled it.
        self.row = np.floor(2 * np.log2(np.maximum(nonzeros, 1))).astype(int)
        octave = np.floor(np.log2(np.maximum(self.sum, 1).astype(float))).astype(np.int64)
        self.column = np.where(self.sum > 0, 1 + 4 * octave + ((self.sum << 2 >> octave) & 3), 0)
        self.coded = self.sum > 0

    @staticmethod
    def _tiles(data):
        at = 0
        while at < len(data):
            count = int(np.frombuffer(data, "<u4", 1, at)[0])
            rows = np.frombuffer(data, np.uint8, count * (4 + GROUP), at + 4).reshape(count, 4 + GROUP)
            yield rows[:, :4].copy().view("<u4")[:, 0].astype(np.int64), rows[:, 4:]
            at += 4 + rows.size

    def where(self, mask):
        some = object.__new__(Groups)
        vars(some).update({name: values[mask] for name, values in vars(self).items()})
        return some


def costs(tables):
    """Bits of each token in each table, very many where it does not have it."""
    bits = np.full((TOKENS, len(tables)), 1e4, np.float32)
    for k, table in enumerate(tables):
        bits[: len(table), k] = 10 - np.log2(table)
    return bits


def frequencies(share, least=1):
    """Whole numbers, each at least `least`, that add up to 1024 and are nearest to shares."""
    exact = share / share.sum() * SLOTS
    whole = np.maximum(least, np.floor(exact)).astype(int)
    while whole.sum() != SLOTS:
        if whole.sum() > SLOTS:
            whole[np.argmax(np.where(whole > least, whole - exact, -np.inf))] -= 1
        else:
            whole[np.argmax(exact - whole)] += 1
    return whole


class Trainer:
    """Tables for groups that each have a weight."""

    def __init__(self, groups, weights):
        self.counts, self.weights, self.most = groups.counts.astype(np.float32), weights, groups.most

    def table(self, mask, length):
        share = self.weights[mask] @ self.counts[mask] + 1e-12
        pairs = share[1 : DIRECT - 1].reshape(-1, 2)  # a code and that of the opposite number count alike
        pairs[:] = pairs.mean(1, keepdims=True)
        return frequencies((share + share.sum() * 2e-5)[:length])

    def fit(self, chosen, lengths):
        return [self.table(chosen == k, length) for k, length in enumerate(lengths)]

    def settle(self, tables, lengths, times):
        for _ in range(times):
            tables = self.fit((self.counts @ costs(tables)).argmin(1), lengths)
        return tables

    def shorten(self, tables, lengths):
        """Lengths at which a table's groups cost least, where those with larger tokens go elsewhere."""
        bits = self.counts @ costs(tables)
        chosen, second, lengths = bits.argmin(1), np.partition(bits, 1, 1)[:, 1], list(lengths)
        for k in set(range(TABLES)) - set(WIDE):
            mask, found = chosen == k, {}
            if mask.sum() < 20:
                continue
            ends = np.quantile(self.most[mask], (0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 1)).astype(int) + 1
            for length in {min(max(end, 3), TOKENS - 1) for end in ends}:
                own = self.counts[mask] @ costs([self.table(mask, length)])[:, 0]
                found[length] = self.weights[mask] @ np.minimum(own, second[mask])
            lengths[k] = min(found, key=found.get)
        return lengths

    def train(self, tables, rounds):
        lengths = [len(table) for table in tables]
        tables = self.settle(tables, lengths, 8)
        for attempt in range(rounds):
            bits = self.counts @ costs(tables)
            chosen, least = bits.argmin(1), bits.min(1)
            missed = [np.inf if k in WIDE else self.weights @ np.delete(bits, k, 1).min(1) for k in range(TABLES)]
            most = np.argsort(-np.bincount(chosen, self.weights * least, TABLES))
            drop = np.argsort(missed)[attempt // 4 % 2]
            split = [k for k in most if k != drop][attempt % 4]
            half = (chosen == split) & (self.counts[:, 0] <= np.median(self.counts[chosen == split, 0]))
            bits[:, drop] = np.inf
            trial = np.where(half, drop, bits.argmin(1))
            longer = [*lengths[:drop], min(lengths[split], TOKENS - 1), *lengths[drop + 1 :]]
            other = self.settle(self.fit(trial, longer), longer, 6)
            longer = self.shorten(other, longer)
            other = self.settle(other, longer, 6)
            before, after = self.weights @ least, self.weights @ (self.counts @ costs(other)).min(1)
            print(f"  round {attempt}: {before:.4f} -> {after:.4f}", flush=True)
            if after < before:
                tables, lengths = other, longer
        # Numbered by their mean token.
        narrow = sorted(range(WIDE[0]), key=lambda k: tables[k] @ np.arange(len(tables[k])))
        return [tables[k] for k in [*narrow, *WIDE]]


def sorts(groups, weights, tables):
    """For each sort of groups the best table, the one that goes with it best, and the best wide one, from 1 on."""
    bits = np.minimum(groups.counts @ costs(tables), 1e5)
    key = groups.row * 128 + groups.column
    of_sorts = lambda bits: np.stack([np.bincount(key, b * weights, 15 * 128) for b in bits.T], 1)
    alone = of_sorts(bits)
    first = alone.argmin(1)
    second = of_sorts(np.minimum(bits, bits[np.arange(len(bits)), first[key]][:, None])).argmin(1)
    wide = np.array(WIDE)[alone[:, WIDE].argmin(1)]
    cells = (first + 1 | second + 1 << 4 | wide + 1 << 8).reshape(15, 128)
    # Sorts that do not occur go with the nearest sum, rows without any with the nearest row.
    seen = (alone.sum(1) > 0).reshape(15, 128)
    rows = np.flatnonzero(seen.any(1))
    for r in rows:
        columns = np.flatnonzero(seen[r])
        cells[r] = cells[r, columns[np.abs(columns - np.arange(128)[:, None]).argmin(1)]]
    return cells[rows[np.abs(rows - np.arange(15)[:, None]).argmin(1)]]


def classes(groups, tables, cells):
    """The class of each group, as the encoder chooses it, and its bits."""
    bits, lengths = groups.counts @ costs(tables), np.array([len(table) for table in tables])
    cell = cells[groups.row, groups.column]
    first, second, wide = ((cell >> shift & 15) - 1 for shift in (0, 4, 8))
    each = np.arange(len(bits))
    has = [groups.most < lengths[one] for one in (first, second)]
    better = has[0] & has[1] & (groups.most < DIRECT) & (bits[each, second] < bits[each, first])
    chosen = np.select([better, has[0], has[1]], [second, first, second], wide)
    return np.where(groups.coded, chosen + 1, 0), np.where(groups.coded, bits[each, chosen], 0)


def contexts(groups, chosen):
    """The class before that of each group; the first ones of lanes have none."""
    return np.where(groups.place % 4 == 0, FIRST, np.roll(chosen, 1))


def class_frequencies(groups, weights, chosen):
    count = np.zeros((17, 16))
    np.add.at(count, (contexts(groups, chosen), chosen), weights)
    share = count / count.sum() * 1e5
    return np.array([frequencies(row + 0.3 + 0.002 * row.sum(), 2) for row in share])


def spent(groups, tables, of_classes, cells):
    """Bits by file of tokens in the best tables, of tokens in the tables of the classes, and of these too."""
    best = np.where(groups.coded, (groups.counts @ costs(tables)).min(1), 0)
    chosen, bits = classes(groups, tables, cells)
    of_class = 10 - np.log2(of_classes[contexts(groups, chosen), chosen])
    return [np.bincount(groups.file, values) for values in (best, bits, bits + of_class)]


def compare(groups, old, new):
    """Prints means over files."""
    before, after = spent(groups, *old), spent(groups, *new)
    names = ("tokens in the best table of each group", "tokens in the table of its class", "these and the classes")
    for name, a, b in zip(names, before, after):
        ratio = b[a > 0] / a[a > 0]
        print(f"  bits of {name}, new / old: {np.exp(np.log(ratio).mean()):.4f}, at most {ratio.max():.3f}")
    old, new = (((bits[2] - bits[1]).sum() / len(groups.sum)) for bits in (before, after))
    print(f"  bits of a group's class: old {old:.3f}, new {new:.3f}")


def read(path):
    """The tables of a source in Rust."""
    text = pathlib.Path(path).read_text()

    def rows(name):
        body = re.search(rf"pub static {name}:[^=]*= \[(.*?)\n\];", text, re.S)[1]
        return [np.array([int(n) for n in re.findall(r"\d+", row)]) for row in re.findall(r"\[([^\[\]]*)\]", body)]

    return rows("FREQUENCIES")[1:], np.array(rows("CLASS_FREQUENCIES")), np.array(rows("CLASSES"))


def source(tables, of_classes, cells):
    array = lambda rows, borrow="": "".join(f"    {borrow}[{', '.join(map(str, row))}],\n" for row in rows)
    every = {"FREQUENCIES: [&[u16]; TABLES]": "    &[1023, 1],\n" + array(tables, "&"),
             "CLASS_FREQUENCIES: [[u16; TABLES]; TABLES + 1]": array(of_classes),
             "CLASSES: [[u16; 128]; 15]": array(cells)}  # fmt: skip
    return "\n".join(f"pub static {name} = [\n{rows}];\n" for name, rows in every.items())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--against", default=pathlib.Path(__file__).parents[2] / "src/codec/predict/code/tables.rs")
    parser.add_argument("codes")
    parser.add_argument("out")
    args = parser.parse_args()
    groups, old = Groups(args.codes), read(args.against)
    weights = (1 / np.maximum(spent(groups, *old)[1], 1))[groups.file]

    def trained(mask, start, rounds):
        part, w = groups.where(mask & groups.coded), weights[mask & groups.coded]
        tables = Trainer(part, w).train(start, rounds)
        cells, part = sorts(part, w, tables), groups.where(mask)
        return tables, class_frequencies(part, weights[mask], classes(part, tables, cells)[0]), cells

    new = trained(groups.trains, old[0], 16)
    for name, mask in (("trained on", groups.trains), ("not trained on", ~groups.trains)):
        print(f"The half that was {name}:")
        compare(groups.where(mask), old, new)
    pathlib.Path(args.out).write_text(source(*trained(groups.trains | True, new[0], 0)))


if __name__ == "__main__":
    main()
