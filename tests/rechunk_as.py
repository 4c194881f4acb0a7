"""h5rechunk --as uint8 against NumPy: what comes out, that it can be turned back bit for bit, and
what is refused at which element."""
import json
import os
import random
import re
import subprocess
import sys

import h5py
import numpy as np
from tap import done, note, ok

work = sys.argv[1]
rng = random.Random(int(os.environ.get('H5PACK_SEED', 1)))
FLOATS = [order + kind for kind in ('f2', 'f4', 'f8') for order in '<>']
INTEGERS = [order + kind for kind in ('i1', 'i2', 'u2', 'i4', 'u4', 'i8', 'u8') for order in '<>']
STORED = [{}, {}, {'compression': 'gzip'}, {'compression': 'gzip', 'shuffle': True}, {'fletcher32': True}]
source, target = os.path.join(work, 'in.h5'), os.path.join(work, 'out.h5')


def run(*options):
    if os.path.exists(target):
        os.remove(target)
    ran = subprocess.run(['h5rechunk', source, '-o', target, '--json', '-q', '--as', 'uint8', *options],
                         capture_output=True)
    return ran.returncode, ran.stdout, ran.stderr.decode().strip()


def turned_back(data):
    """As the manual page has it."""
    numbers, scale = data[()], data.attrs['h5rechunk_scale']
    kind = np.dtype(data.attrs['h5rechunk_type'].decode().replace('>', '')).type
    scale = scale.decode()
    if scale == 'k':
        return numbers.astype(kind)
    if scale == 'k/255':
        return numbers.astype(kind) / kind(255)
    return numbers.astype(kind) * kind(1 / 255)


def scaled(numbers, kind, scale):
    plain = np.dtype(kind).newbyteorder('=').type
    if scale == 'k':
        return numbers.astype(kind)
    if scale == 'k/255':
        return (numbers.astype(plain) / plain(255)).astype(kind)
    return (numbers.astype(plain) * plain(1 / 255)).astype(kind)


def make(values, **options):
    with h5py.File(source, 'w') as file:
        data = file.create_dataset('images', data=values, **options)
        data.attrs['unit'] = 'a'
        file['labels'] = np.arange(values.shape[0])
    return values.shape


def draw_storage(shape):
    options = dict(rng.choice(STORED))
    if options or rng.random() < 0.5:
        options['chunks'] = tuple(rng.randint(1, n) for n in shape)
        if rng.random() < 0.4:
            options['maxshape'] = tuple(rng.choice([None, n]) for n in shape)
    return options


def draw_options(shape):
    chunk = 'x'.join(str(rng.randint(1, n)) for n in shape)
    return ['--chunk', chunk, '-j', str(rng.randint(1, 4))] + rng.choice([[], ['--compress', 'shuffle+gzip:1'], ['--verify']])


def test_every_type():
    for kind in FLOATS + INTEGERS:
        good = True
        for scale in ('k', 'k/255', 'k*(1/255)') if kind in FLOATS else ('k',):
            rank = rng.randint(1, 4)
            shape = tuple(rng.randint(1, (1500, 60, 15, 8)[rank - 1]) for _ in range(rank))
            top = 128 if kind[1:] == 'i1' else 256
            truth = np.array([rng.randrange(top) for _ in range(int(np.prod(shape)))], 'u1').reshape(shape)
            truth.flat[:min(top, truth.size)] = np.arange(min(top, truth.size))
            values = scaled(truth, kind, scale)
            make(values, **draw_storage(shape))
            options = draw_options(shape)
            status, out, said = run(*options)
            if status:
                note(f'{kind} {scale} {shape} {options}: {said}')
                good = False
                continue
            with h5py.File(target) as file:
                data = file['images']
                name = data.attrs['h5rechunk_scale'].decode()
                same = data.dtype == 'u1' and (data[()] == truth).all() and data.attrs['unit'] == 'a' and \
                    turned_back(data).tobytes() == values.astype(np.dtype(kind).newbyteorder('=')).tobytes() and \
                    name == json.loads(out)['result']['datasets'][0]['scale']
                if len(np.unique(truth)) > 100:
                    same = same and name == scale
                same = same and (file['labels'][()] == np.arange(shape[0])).all()
            if not same:
                note(f'{kind} {scale} {shape} {options}: another one')
            good = good and same
        ok(good, f'{kind}: bytes come out, and can be turned back bit for bit')


def first_refused(values):
    """Where no integer, and none by 255, stands first, in the order of all elements; None: nowhere."""
    plain = np.dtype(values.dtype).newbyteorder('=').type
    found = []
    scales = ['k'] if values.dtype.kind in 'iu' else ['k', 'k/255', 'k*(1/255)']
    for scale in scales:
        table = {scaled(np.array([k], 'u1'), plain, scale).tobytes() for k in range(256)}
        flat = values.astype(plain).ravel()
        found.append(next((i for i in range(flat.size) if flat[i:i + 1].tobytes() not in table), None))
    if None in found:
        return None
    places = [found[0]] + ([max(found[1:])] if len(found) > 1 and max(found[1:]) != found[0] else [])
    return [np.unravel_index(at, values.shape) for at in places]


def test_refused():
    bad = {'f': [np.nan, np.inf, -np.inf, -0.0, -1, 256, 0.5, 254.5, 255.00002, 1e-45, 1e30], 'i': [-1, 256, 1000, -300],
           'u': [256, 257, 65535]}
    n = n_good = 0
    for kind in FLOATS + ['<i2', '>i4', '<u2', '>u8', '<i8']:
        for value in bad[kind[1]]:
            rank = rng.randint(1, 3)
            shape = tuple(rng.randint(1, (300, 20, 8)[rank - 1]) for _ in range(rank))
            scale = rng.choice(['k', 'k/255', 'k*(1/255)']) if kind in FLOATS else 'k'
            with np.errstate(all='ignore'):
                values = scaled(np.array([rng.randrange(2, 256) for _ in range(int(np.prod(shape)))], 'u1').reshape(shape),
                                kind, scale)
                for _ in range(rng.randint(1, 3)):
                    values.flat[rng.randrange(values.size)] = value
            make(values, **draw_storage(shape))
            where = first_refused(values)
            runs = [run('--chunk', '3', '-j', threads, *extra) for threads, extra in (('1', []), ('4', ['--dry-run']))]
            if where is None:
                good = runs[0][0] == 0
            else:
                named = [tuple(int(i) for i in text.split(',')) for text in re.findall(r' at \(([0-9,]+)\)', runs[0][2])]
                good = runs[0] == runs[1] and runs[0][0] == 2 and len(runs[0][2].splitlines()) == 1 and \
                    named == [tuple(int(i) for i in at) for at in where] and os.listdir(work) == ['in.h5']
            n += 1
            n_good += good
            if not good:
                note(f'{kind} {value} {scale}: {where}, but {runs}')
    ok(n == n_good, f'{n_good} of {n} with one number that is no byte are refused, naming the first')
    make(np.array([[1, 2], [3, -0.0]], 'f4'))
    status, _, said = run('--chunk', '1')
    ok(status == 2 and ' -0 at (1,1) is no integer of 0 to 255, and 2 at (0,1) is none of them by 255' in said,
       'both numbers are named where they differ')
    make(np.array([0, np.nan, 0.5], 'f4'))
    status, _, said = run('--chunk', '1')
    ok(status == 2 and ' nan at (1) is neither' in said, 'one number where it is the same')
    make(np.array([5, -7], '>i8'))
    ok(' -7 at (1) is no integer' in run('--chunk', '1')[2], 'a negative integer is named')
    for dtype in ('S3', 'bool', [('a', 'f4')]):
        make(np.zeros(4, dtype))
        status, _, said = run('--chunk', '1')
        ok(status == 2 and len(said.splitlines()) == 1, f'{dtype} is refused')
    with h5py.File(source, 'w') as file:
        kind = h5py.h5t.IEEE_F32LE.copy()
        kind.set_ebias(100)
        h5py.h5d.create(file.id, b'images', kind, h5py.h5s.create_simple((3,)))
    ok('cannot become uint8' in run('--chunk', '1')[2], 'so are floats that are laid out otherwise')


def test_early_end():
    """Where a number is none by any scale, nothing behind it is read: not what is damaged either."""
    values = np.ones((400, 6), 'f4')
    values[3, 1] = np.nan
    make(values, chunks=(4, 3), compression='gzip')
    with h5py.File(source) as file:
        last = file['images'].id.get_chunk_info(file['images'].id.get_num_chunks() - 1)
    with open(source, 'r+b') as raw:
        raw.seek(last.byte_offset)
        raw.write(bytes(last.size))
    status, _, said = run('--chunk', '4', '-j', '1')
    if not ok(status == 2 and ' nan at (3,1) is neither' in said, 'what is behind a number that is no byte is not read'):
        note(said)


def test_same_chunks():
    """Chunks and filters that stay are not those of bytes."""
    for options in {}, {'compression': 'gzip'}:
        values = np.arange(60).reshape(20, 3).astype('f4')
        make(values, chunks=(4, 3), **options)
        status, _, said = run('--verify')
        same = status == 0
        if same:
            with h5py.File(target) as file:
                same = file['images'].dtype == 'u1' and (file['images'][()] == values).all() and file['images'].chunks == (4, 3)
        ok(same, f'with the same chunks and filters {options} they become bytes {said}')


def test_fill():
    with h5py.File(source, 'w') as file:
        data = file.create_dataset('images', (10, 4), 'f4', chunks=(3, 4), fillvalue=np.nan)
        data[:] = np.arange(40).reshape(10, 4)
    status, _, said = run('--chunk', '4')
    with h5py.File(target) as file:
        ok(status == 0 and file['images'].fillvalue == 0 and (file['images'][()].ravel() == np.arange(40)).all(),
           'a fill value that is no byte and that no element has becomes 0')
    with h5py.File(source, 'w') as file:
        data = file.create_dataset('images', (10, 4), 'f4', chunks=(3, 4), fillvalue=np.nan)
        data[:3] = data[6:] = 1
    status, _, said = run('--chunk', '4')
    ok(status == 2 and 'nan at (3,0) is neither' in said, 'and is refused where it has')
    with h5py.File(source, 'w') as file:
        data = file.create_dataset('images', (10, 4), '>f8', chunks=(3, 4), maxshape=(None, 4), fillvalue=7 / 255)
        data[:3] = 200 / 255
    status, _, said = run('--chunk', '4')
    with h5py.File(target, 'r+') as file:
        data = file['images']
        data.resize(20, 0)
        want = np.full((20, 4), 7)
        want[:3] = 200
        ok(status == 0 and data.fillvalue == 7 and (data[()] == want).all() and
           data.id.get_num_chunks() == 1, 'one that is a byte stays, and what is not stored is not')


def test_rest():
    make(np.zeros((30, 5), 'u1') + 9, chunks=(4, 5))
    status, out, said = run()
    with h5py.File(target) as file:
        ok(status == 0 and 'h5rechunk_type' not in file['images'].attrs and
           json.loads(out)['result']['datasets'][0]['plan']['verbatim'], 'what is bytes already stays so')
    make(np.arange(30 * 40 * 50).reshape(30, 40, 50).astype('f4') % 256, chunks=(7, 13, 50), compression='gzip', shuffle=True)
    least = re.search(r'needs ([0-9]+)K', run('--memory', '1K', '--chunk', '1')[2])
    few = ['--memory', f'{int(least.group(1)) + 20}K', '--chunk', '1'] if least else []
    status, out, said = run(*few)
    loads = json.loads(out)['result']['datasets'][0]['plan'] if status == 0 else {}
    with h5py.File(target) as file:
        data = file['images']
        ok(status == 0 and loads['loads'] >= loads['source_chunks'] and data.compression == 'gzip' and data.shuffle and
           (data[()].ravel() == np.arange(60000) % 256).all(), f'in little memory, filters staying: {said}')
    first = open(target, 'rb').read()
    status, _, _ = run(*few, '-j', '3')
    ok(open(target, 'rb').read() == first, 'the same bytes with other threads')
    with h5py.File(target, 'r+') as file:
        old = file['images'][()]
        del file['images']
        file['images'] = old.astype('f8') / 255
        file['images'].attrs['h5rechunk_scale'] = 3
    os.replace(target, source)
    status, _, _ = run('--chunk', '1')
    with h5py.File(target) as file:
        ok(status == 0 and file['images'].attrs['h5rechunk_scale'] == b'k/255', 'a second time, over old attributes')


test_every_type()
test_refused()
test_early_end()
test_same_chunks()
test_fill()
test_rest()
done()
