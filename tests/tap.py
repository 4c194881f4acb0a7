"""TAP for tests in Python: ok() counts a sentence, done() prints the plan and exits."""
import os
import signal
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


def apart(function, *words, seconds):
    """The lines that a function prints, in a process of its own, which may crash; None: no end in time."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        signal.alarm(seconds)
        os.dup2(writing, 1)
        try:
            function(*words)
            sys.stdout.flush()
        except (OSError, RuntimeError, TypeError, ValueError, KeyError):
            pass  # what h5py itself refuses
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, errors="replace") as pipe:
        lines = pipe.read().splitlines()
    _, status = os.waitpid(child, 0)
    return None if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM else lines


def done():
    print(f"1..{_count}")
    sys.exit(_failed != 0)
