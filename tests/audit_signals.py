"""What tests/audit.sh runs of h5audit that is stopped, and of its progress on a terminal."""
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time

import h5py
import numpy as np
from tap import done, note, ok, skip

os.chdir(sys.argv[1])
rng = np.random.default_rng(7)


def children(process):
    try:
        with open(f'/proc/{process.pid}/task/{process.pid}/children') as file:
            return file.read().split()
    except FileNotFoundError:
        return []


def is_alive(pid):
    try:
        with open(f'/proc/{pid}/stat') as file:
            return file.read().rpartition(')')[2].split()[0] not in 'ZX'
    except (FileNotFoundError, ProcessLookupError):
        return False


def used(process):
    """Seconds of processor time, which a busy machine does not stretch; of one that has ended, none."""
    try:
        with open(f'/proc/{process.pid}/stat') as file:
            words = file.read().rpartition(')')[2].split()
        return (int(words[11]) + int(words[12])) / os.sysconf('SC_CLK_TCK')
    except (FileNotFoundError, ProcessLookupError):
        return 0


def stopped(words, number, waits_for_child, again=False):
    """Started, signalled once it has a child or (else) has computed for a while, and waited for."""
    process = subprocess.Popen(['h5audit', *words, 'large.h5'], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    met = []
    for _ in range(20000):
        met = children(process)
        if process.poll() is not None or (met if waits_for_child else used(process) > 0.2 and not met):
            break
        time.sleep(0.001)
    before = used(process)
    process.send_signal(number)
    if again:  # as timeout(1) sends it, to the program and to its group
        time.sleep(0.001)
        process.send_signal(number)
    last = before
    while process.poll() is None:
        last = max(last, used(process))
        time.sleep(0.001)
    _, err = process.communicate()
    for _ in range(2000):  # the system may take a while to end one
        if not any(map(is_alive, met)):
            break
        time.sleep(0.001)
    return process.returncode, err.decode(), [pid for pid in met if is_alive(pid)], last - before


def test_signals():
    images = np.tile(rng.integers(0, 99, (2000, 64, 64, 3), 'u1'), (5, 1, 1, 1))
    with h5py.File('large.h5', 'w') as file:
        file.create_dataset('images', data=images, chunks=(32, 64, 64, 3), compression='gzip', compression_opts=1)
    for words, waits in ((), False), (('--verify',), True), (('--deep',), True), (('--salvage', 'new.h5'), True):
        for number, again in (signal.SIGINT, False), (signal.SIGTERM, False), (signal.SIGTERM, True):
            status, err, left, took = stopped(words, number, waits, again)
            if not ok(status == 128 + number and err == 'h5audit: interrupted\n' and not left and took < 0.5,
                      f'{number.name}{" and once more" if again else ""}, to the program alone, ends it and its child: '
                      f'{" ".join(words) or "as it comes"}'):
                note(f'status {status}, {took:.2f} s, left {left}: {err}')
    ok(not os.path.exists('new.h5'), 'nothing is left in its place')


def test_fix():
    """A rewrite that is stopped says how to go on, and that does; with --force in place of a file it starts again."""
    parts = ['better.h5.part', 'better.h5.part.journal']
    images = rng.integers(0, 255, (6000, 32, 32, 3), 'u1')
    with h5py.File('slow.h5', 'w') as file:
        file.create_dataset('images', data=images, chunks=(100, 32, 32, 3), compression='gzip')

    def fix(*words, stop):
        for name in parts if stop else ():
            if os.path.exists(name):
                os.unlink(name)
        process = subprocess.Popen(['h5audit', '-q', '--fix', 'better.h5', *words, 'slow.h5'], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        while stop and process.poll() is None and not (
                os.path.exists('better.h5.part') and os.path.getsize('better.h5.part') > 4 << 20):
            time.sleep(0.001)
        if stop:
            process.send_signal(signal.SIGINT)
        _, err = process.communicate()
        return process.returncode, err, [name for name in sorted(os.listdir()) if name.startswith('better.h5')]

    said = r'h5audit: interrupted \([1-9][0-9]* chunks are done; {}\)\n'
    for words, how in ((), 'the same command goes on'), (('-f',), 'without --force the same command goes on'):
        status, err, left = fix(*words, stop=True)
        if not ok(status == 130 and re.fullmatch(said.format(how), err) and left == parts, f'stopped: {how}'):
            note(f'status {status}, {left}: {err}')
    status, err, left = fix(stop=False)
    with h5py.File('better.h5') as file:
        ok(status in (0, 1) and not err and left == ['better.h5'] and (file['images'][:] == images).all(), 'so it does')
    status, err, left = fix('-f', stop=True)
    ok(status == 130 and 'the same command begins again' in err and 'better.h5' in left, f'and begins again: {err}')


def test_report():
    """A report of a run that was stopped says so, once, and no page seems to be of all of it."""
    for words in ['--json'], ['--sarif'], ['--html', 'page.html']:
        process = subprocess.Popen(['h5audit', '--deep', *words, 'large.h5', 'large.h5'], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        while process.poll() is None and used(process) < 0.05 and not children(process):
            time.sleep(0.001)
        time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate()
        says = 'large.h5: not looked at to its end\n' in out
        if words[0] == '--json':
            report = json.loads(out)['result']
            says = report['stopped'] and report['files'][-1]['failure'] == 'not looked at to its end'
        elif words[0] == '--sarif':
            one, = json.loads(out)['runs'][0]['invocations']
            says = not one['executionSuccessful'] and 'stopped' in one['toolExecutionNotifications'][0]['message']['text']
        if not ok(process.returncode == 128 + signal.SIGTERM and err == 'h5audit: interrupted\n' and says and
                  not os.path.exists('page.html'), f'{words[0]}: a report that was stopped says so'):
            note(f'{process.returncode} {err} {out[:400]}')


def test_terminal():
    """Progress is drawn on a terminal, and gone at the end."""
    try:
        parent, child = pty.openpty()
    except OSError as why:  # a chroot without /dev/pts
        skip(f'progress on a terminal: {why}')
        return
    shim = os.path.join(os.environ['top_builddir'], 'tests', 'clock_shim.so')  # or a quick machine is through before
    slow = {'LD_PRELOAD': shim, 'CLOCK_TIMES': '50', 'ASAN_OPTIONS': os.environ.get('ASAN_OPTIONS', '') + ':verify_asan_link_order=0'}
    process = subprocess.Popen(['h5audit', '--verify', 'large.h5'], stdout=subprocess.DEVNULL, stderr=child,
                               env={**os.environ, **slow})
    os.close(child)
    drawn = b''
    while True:
        try:
            more = os.read(parent, 4096)
        except OSError:
            break
        if not more:
            break
        drawn += more
    process.wait()
    os.close(parent)
    if not ok(process.returncode == 0 and b'verifying' in drawn and b'MiB' in drawn, '--verify draws progress on a terminal'):
        note(repr(drawn[-300:]))
    ok(drawn.rpartition(b'\x1b[K')[2].strip() == b'', 'and takes it away')


test_signals()
test_fix()
test_report()
test_terminal()
done()
