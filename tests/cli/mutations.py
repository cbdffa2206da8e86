"""Files of results with something wrong in them, by chance: values, keys and lists first, bytes last."""

import copy
import json
import re

HOSTILE = "\x1b[31mX\x07\x9b2J\r\b\u202e\n[red]"
VALUES = [
    None, True, False, 0, 1, -1, 2, 0.5, -0.0, 1e308, -1e308, 5e-324, 1e150, 10**99, 2**63, "", "x", "nan", "inf", "-inf", HOSTILE, "\0",
    "\udc80", [], {}, [[]], [{}], {"": 0}, [1.0], ["x"], [None], {HOSTILE: HOSTILE},
]  # fmt: skip
# what a file may say without contradicting itself: texts, dates, counts, where it came from, how it was found
FREE = [
    r"decay|ctpwa|created|method|corrected|model_file|n_starts", r"model(\..*)?", r"settings(\..*)?", r"record(\..*)?",
    r"fixed(\..*)?", r"parameters\.\d+\.(name|start|lower|upper)", r"parameters\.\d+\.minos(\..*)?",
    r"couplings\.\d+", r"couplings\.\d+\.(name|magnitude_error|phase_error)", r"couplings", r"verdict\.(edm|gradient_norm)",
    r"verdict\.(eigenvalues|reasons|flat|negative)(\..*)?", r"minima(\..*)?", r"precision",
    r"parameters\.4\.value",  # of a lineshape: nothing else in the file tells
    r"fractions(\.\d+)?", r"fractions\.\d+\.(data_set|over)", r"fractions\.\d+\.yields\..*\.1", r"fractions\.\d+\.groups\.\w+\.names\.\d+",
    r"samples", r"samples\.\d+", r"samples\.\d+\.(name|n_events|weights|mass|notes|files|weight_files)(\..*)?",
]  # fmt: skip


def paths(content, here=()):
    """All places in a file."""
    for key, value in content.items() if isinstance(content, dict) else enumerate(content):
        yield (*here, key)
        if isinstance(value, (dict, list)):
            yield from paths(value, (*here, key))


def get(content, path):
    for key in path:
        content = content[key]
    return content


def mutate(content, random):
    """A copy with one to three changes, and the places that were changed."""
    content, changed = copy.deepcopy(content), []
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        path = random.choice([path for path in paths(content) if path != ("sha256",)])
        place, key = get(content, path[:-1]), path[-1]
        changed.append(path)
        value = place[key]
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        way = random.choice(["value", "value", "number" if number else "value", "drop", "twice", "swap", "deep"])
        if way == "value":
            place[key] = copy.deepcopy(random.choice(VALUES))
        elif way == "number":
            place[key] = random.choice([-value, value + 1, value * 1.01, value * (1 + 1e-7), value * 1e30, int(value)])
        elif way == "drop":
            place.pop(key)
        elif way == "twice":
            place[f"{key}2" if isinstance(place, dict) else slice(key, key)] = value if isinstance(place, dict) else [value]
        elif way == "swap":
            other = random.choice(list(paths(place)))
            changed.append((*path[:-1], *other))
            get(place, other[:-1])[other[-1]], place[key] = value, get(place, other)
        else:
            for _ in range(random.choice([3, 50])):
                place[key] = [place[key]]
    return content, changed


def damage(text, random):
    """The bytes of a file after an accident."""
    data = bytearray(text.encode("utf-8", "backslashreplace"))
    at = random.randrange(len(data))
    way = random.choice(["flip", "cut", "insert", "words"])
    if way == "flip":
        data[at] ^= 1 << random.randrange(8)
    elif way == "cut":
        del data[at : at + random.choice([1, 10, len(data)])]
    elif way == "insert":
        data[at:at] = random.choice([b"\0", b"\xff", b'"', b"{", b"[" * 5000, b"\x1b[31m", b"NaN", b" ", b"9" * 5000])
    else:
        numbers = [match.span() for match in re.finditer(rb"-?\d+\.\d+", data)]
        begin, end = random.choice(numbers)
        data[begin:end] = random.choice([b"NaN", b"1e999", b"-Infinity", b"1" * 5000, b"0x10", b"1.5", b"null"])
    return bytes(data)


def unchanged(path, before, after):
    """Whether what stands there is the same up to rounding, or may be anything."""
    name = ".".join(map(str, path))
    if any(re.fullmatch(pattern, name, re.DOTALL) for pattern in FREE):
        return True
    try:
        old, new = get(before, path), get(after, path)
    except (KeyError, IndexError, TypeError):
        return False
    if type(old) in (int, float) and type(new) in (int, float):
        return abs(new - old) <= 1e-4 * abs(old) + 1e-9
    return json.dumps(old, sort_keys=True) == json.dumps(new, sort_keys=True)
