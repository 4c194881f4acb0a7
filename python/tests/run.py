"""Runs the tests of this folder without pytest, as TAP: functions test_*, given tmp_path if they
ask for it. A test that cannot run raises unittest.SkipTest with the reason.

    python run.py [NAME...]     only tests whose file or name holds one of the words
"""
import importlib
import inspect
import pathlib
import signal
import sys
import tempfile
import traceback
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))


def found(words):
    for path in sorted(HERE.glob("test_*.py")):
        try:
            module = importlib.import_module(path.stem)
        except unittest.SkipTest as why:
            yield path.stem, why
            continue
        for name, test in list(vars(module).items()):
            if name.startswith("test_") and callable(test):
                if not words or any(word in f"{path.stem} {name}" for word in words):
                    yield name, test


def outcome(test):
    """None, or what stands behind the name of the test that was skipped or failed."""
    if isinstance(test, unittest.SkipTest):
        return f" # SKIP {test}"
    try:
        with tempfile.TemporaryDirectory(prefix="h5pack-test.") as folder:
            if "tmp_path" in inspect.signature(test).parameters:
                test(tmp_path=pathlib.Path(folder))
            else:
                test()
    except unittest.SkipTest as why:
        return f" # SKIP {why}"
    except Exception:
        return traceback.format_exc()
    return None


def main(words):
    failed = number = 0
    for name, test in found(words):
        number += 1
        said = outcome(test)
        bad = said is not None and not said.startswith(" # SKIP")
        failed += bad
        sentence = name.removeprefix("test_").replace("_", " ")
        print(f"{'not ' if bad else ''}ok {number} - {sentence}", end="")
        print("" if bad or said is None else said, flush=True)
        if bad:
            print("".join(f"#   {line}\n" for line in said.splitlines()), end="", flush=True)
    print(f"1..{number}")
    return failed != 0


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # not as of a shell's background
    sys.exit(main(sys.argv[1:]))
