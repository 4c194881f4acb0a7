"""Reads with h5py and notes what it asked for, for tests/record.sh: make, read NOTES [WORD],
compare TRACE NOTES, workers, pause, many, threads, sleep FILE, die, static FILE."""
import os
import signal
import struct
import sys
import threading
import time

import h5py
import numpy as np

N = 200


def make():
    with h5py.File('a.h5', 'w') as f:
        f.create_dataset('images', data=np.arange(N * 64, dtype='u2').reshape(N, 8, 8),
                         chunks=(8, 8, 8), compression='gzip')
        f.create_dataset('labels', data=np.arange(N))
        f.create_dataset('other', data=np.arange(N), chunks=(50,))
        f.create_dataset('one', data=5)


class Notes:
    """Boxes per process, in the form of a trace's start and count columns."""

    def __init__(self, path):
        self.path = path

    def __call__(self, dataset, *boxes):
        with open(f'{self.path}.{os.getpid()}', 'a') as f:
            for start, count in boxes:
                f.write('\t'.join(map(str, (dataset.name, *start, *count))) + '\n')


def read(path, word=None):
    notes = Notes(path)
    for old in os.listdir('.'):
        if old.startswith(path + '.'):
            os.remove(old)
    f = h5py.File('a.h5', 'r')
    d, labels = f['images'], f['labels']
    assert d[5].sum() == np.arange(5 * 64, 6 * 64).sum()
    notes(d, ((5, 0, 0), (1, 8, 8)))
    d[3:9]
    notes(d, ((3, 0, 0), (6, 8, 8)))
    d[[3, 7, 8, 19]]
    # rows 7 and 8 touch
    notes(d, ((3, 0, 0), (1, 8, 8)), ((7, 0, 0), (2, 8, 8)), ((19, 0, 0), (1, 8, 8)))
    d[0:30:10, 2:4, 1]
    notes(d, *(((row, 2, 1), (1, 2, 1)) for row in (0, 10, 20)))
    d[...]
    notes(d, ((0, 0, 0), (N, 8, 8)))
    assert labels[10:20].sum() == 145
    notes(labels, ((10,), (10,)))
    f['one'][()]  # has no axes: nothing to record
    d.id.read_direct_chunk((192, 0, 0))
    notes(d, ((192, 0, 0), (8, 8, 8)))
    space = d.id.get_space()
    space.select_elements([(1, 2, 3), (1, 2, 4), (5, 0, 0)])
    d.id.read(h5py.h5s.create_simple((3,)), space, np.zeros(3, 'u2'))
    notes(d, ((1, 2, 3), (1, 1, 2)), ((5, 0, 0), (1, 1, 1)))
    for k in range(2):
        if os.fork() == 0:
            for i in range(k, 20, 2):
                d[i]
                notes(d, ((i, 0, 0), (1, 8, 8)))
            os._exit(0)
        os.wait()
    try:
        d.id.read(h5py.h5s.create_simple((3,)), h5py.h5s.create_simple((4,)), np.zeros(3))
        raise SystemExit('a read that cannot be was done')
    except (OSError, ValueError, TypeError):
        pass
    print(word, len(d))
    sys.stdout.flush()
    os._exit(3)  # as a worker ends: without destructors


def compare(trace, path):
    names, found = {}, {}
    for line in open(trace):
        words = line.rstrip('\n').split('\t')
        if line.startswith('# dataset'):
            names[words[1]] = words[2]
        elif not line.startswith('#'):
            found.setdefault(words[-2], []).append([names[words[-3]], *words[:-4]])
    good = True
    asked = {name.split('.')[-1]: [line.rstrip('\n').split('\t') for line in open(name)]
             for name in os.listdir('.') if name.startswith(path + '.')}
    for pid in sorted({*asked, *found}):
        for i, (a, b) in enumerate(zip(asked.get(pid, []) + [None] * 99,
                                       found.get(pid, []) + [None] * 99)):
            if a != b:
                print(f'process {pid}, box {i}: asked {a}, recorded {b}')
                good = False
                break
    raise SystemExit(not (good and len(asked) == 3))


def workers():
    """Two epochs of two fresh workers, which read every second batch of four."""
    for _ in range(2):
        pipes = [os.pipe() for _ in range(2)]
        for k in range(2):
            if os.fork() == 0:
                d = h5py.File('a.h5', 'r')['images']
                for batch in range(k, N // 4, 2):  # in turn: told by a byte
                    if batch > 0:
                        os.read(pipes[k][0], 1)
                    for i in range(batch * 4, batch * 4 + 4):
                        d[i]
                    os.write(pipes[1 - k][1], b'x')
                os._exit(0)
        for _ in range(2):
            os.wait()


def pause():
    d = h5py.File('a.h5', 'r')['images']
    for i in range(120):
        d[i]
        time.sleep(0.01)


SETTINGS = {'rdcc_nbytes': 1234567, 'rdcc_nslots': 97, 'rdcc_w0': 0.25}


def cache():
    """Reads through a cache of its own, and says which that is."""
    f = h5py.File('a.h5', 'r', **SETTINGS)
    access = h5py.h5p.create(h5py.h5p.DATASET_ACCESS)
    access.set_chunk_cache(11, 4096, 1.0)
    f['images'][0]
    other = h5py.Dataset(h5py.h5d.open(f.id, b'other', access))
    other[0]
    for name, i in (('labels', 1), ('images', 2)):
        f[name][i]
    print('/images', *f['images'].id.get_access_plist().get_chunk_cache())
    print('/other', *other.id.get_access_plist().get_chunk_cache())
    print('/labels', *f.id.get_access_plist().get_cache()[1:])
    print('hdf5', h5py.version.hdf5_version)


def caches(trace):
    names = {}
    for line in open(trace):
        words = line.rstrip('\n').split('\t')
        if words[0] == '# dataset':
            names[words[1]] = words[2]
        elif words[0] == '# cache':
            print(names[words[2]], *words[4:6], float(words[6]))
            version = words[7]
    print('hdf5', version)


def folder():
    """Opens by a relative path, and reads from another folder."""
    f = h5py.File('a.h5', 'r')
    os.chdir('/')
    for i in range(3):
        f['images'][i]


def many():
    d = h5py.File('a.h5', 'r')['images']
    for i in range(60000):
        d[i % N, 0, 0]
    print('done')


def threads():
    """Prints the kilobytes that 600 threads leave behind, of 400 points each."""
    d = h5py.File('a.h5', 'r')['images']

    def one():
        space = d.id.get_space()
        space.select_elements([(i % N, 0, 2 * (i % 4)) for i in range(400)])
        d.id.read(h5py.h5s.create_simple((400,)), space, np.zeros(400, 'u2'))

    def run_some(n):
        for _ in range(n):
            thread = threading.Thread(target=one)
            thread.start()
            thread.join()
        with open('/proc/self/statm') as f:
            resident, shared = (int(word) for word in f.read().split()[1:3])
        return (resident - shared) * os.sysconf('SC_PAGE_SIZE') // 1024

    begun = run_some(20)
    print(run_some(600) - begun)


def sleep(path):
    def end(*_):
        os._exit(9)
    signal.signal(signal.SIGTERM, end)
    h5py.File('a.h5', 'r')['images'][0]
    with open(path, 'w') as f:
        f.write('ready')
    signal.sigtimedwait([], 30)


def die():
    d = h5py.File('a.h5', 'r')['images']
    for i in range(50):
        d[i]
    os.kill(os.getpid(), signal.SIGKILL)


def static(path):
    """The head of a program without a dynamic linker."""
    with open(path, 'wb') as f:
        f.write(b'\x7fELF' + bytes([struct.calcsize('P') // 4, 1 if sys.byteorder == 'little' else 2, 1])
                + bytes(9))
        if struct.calcsize('P') == 8:
            f.write(struct.pack('=HHIQQQIHHHHHH', 2, 62, 1, 0, 64, 0, 0, 64, 56, 1, 0, 0, 0))
            f.write(struct.pack('=IIQQQQQQ', 1, 5, 0, 0, 0, 64, 64, 4096))
        else:
            f.write(struct.pack('=HHIIIIIHHHHHH', 2, 3, 1, 0, 52, 0, 0, 52, 32, 1, 0, 0, 0))
            f.write(struct.pack('=IIIIIIII', 1, 0, 0, 0, 64, 64, 5, 4096))
    os.chmod(path, 0o755)


globals()[sys.argv[1]](*sys.argv[2:])
