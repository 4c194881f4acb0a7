"""TAP for tests in Python: ok() counts a sentence, done() prints the plan and exits."""
import sys

_count = _failed = 0


def ok(passed, sentence):
    global _count, _failed
    _count += 1
    _failed += not passed
    print(f"{'' if passed else 'not '}ok {_count} - {sentence}", flush=True)
    return bool(passed)


def equal(got, want, sentence):
    if not ok(got == want, sentence):
        note(f"got  {got!r}")
        note(f"want {want!r}")


def note(text):
    for line in str(text).splitlines():
        print(f"#   {line}", flush=True)


def skip(reason):
    global _count
    _count += 1
    print(f"ok {_count} # SKIP {reason}", flush=True)


def done():
    print(f"1..{_count}")
    sys.exit(_failed != 0)
