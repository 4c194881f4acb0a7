"""What is damaged on purpose in a file is what verifying it tells, and nothing else.

verify.py FOLDER [SHARED]

The peer is h5py, which reads each chunk by itself. Flips that no filter can notice (data without
filters, or only shuffled; some of lzf and zstd) are noticed by neither.
"""
import json
import os
import random
import resource
import struct
import subprocess
import sys

import h5py
import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap  # noqa: E402

folder = sys.argv[1]
path = os.path.join(folder, 'verify.h5')
SHAPE, CHUNK = (42, 6, 10), (4, 3, 10)
values = np.random.default_rng(1).integers(0, 40, SHAPE).astype('<u2')
HAS_ZSTD = h5py.h5z.filter_avail(32015)

PIPELINES = [('nothing', {}), ('shuffle', {'shuffle': True}), ('fletcher32', {'fletcher32': True}),
             ('gzip', {'compression': 'gzip'}), ('shuffle+gzip', {'compression': 'gzip', 'shuffle': True}),
             ('gzip+fletcher32', {'compression': 'gzip', 'fletcher32': True}),
             ('lzf', {'compression': 'lzf'}), ('lzf+fletcher32', {'compression': 'lzf', 'fletcher32': True}),
             ('shuffle+fletcher32', {'shuffle': True, 'fletcher32': True})]
if HAS_ZSTD:
    PIPELINES += [('zstd', {'compression': 32015}),
                  ('shuffle+zstd+fletcher32', {'compression': 32015, 'shuffle': True, 'fletcher32': True})]
ALWAYS = ('gzip', 'fletcher32')  # have a checksum


def verify(name=None, threads=2, *more):
    """Exit status, and what was said."""
    run = subprocess.run(['verify_dump', name or path, str(threads), *more], capture_output=True, timeout=300)
    return run.returncode, json.loads(run.stdout) if run.stdout else run.stderr.decode()


def make(options, name='x', **file):
    with h5py.File(path, 'w', **file) as f:
        f.create_dataset(name, data=values, chunks=CHUNK, **options)


def chunks(name='x'):
    """Of each chunk by its place in the grid: (offset, bytes)."""
    with h5py.File(path, 'r') as f:
        data = f[name].id
        infos = [data.get_chunk_info(i) for i in range(data.get_num_chunks())]
    return {tuple(o // c for o, c in zip(i.chunk_offset, CHUNK)): (i.byte_offset, i.size) for i in infos}


def poke(offset, data):
    with open(path, 'r+b') as f:
        f.seek(offset)
        f.write(data)


def flip(offset, bit):
    with open(path, 'rb') as f:
        f.seek(offset)
        old = f.read(1)[0]
    poke(offset, bytes([old ^ 1 << bit]))


def unreadable(places):
    """Chunks that h5py cannot read."""
    bad = set()
    for place in places:
        with h5py.File(path, 'r') as f:
            box = tuple(slice(p * c, p * c + c) for p, c in zip(place, CHUNK))
            try:
                f['x'][box]
            except OSError:
                bad.add(place)
    return bad


def told(said, dataset=0):
    return {tuple(b['chunk']): b for b in said['datasets'][dataset]['bad_chunks']}


def rows_of(places):
    """Ranges of samples that touch chunks."""
    rows = sorted({r for p in places for r in range(p[0] * CHUNK[0], min(p[0] * CHUNK[0] + CHUNK[0], SHAPE[0]))})
    ranges = []
    for r in rows:
        if ranges and sum(ranges[-1]) == r:
            ranges[-1][1] += 1
        else:
            ranges.append([r, 1])
    return ranges


# ------------------------------------------------------------------ bit flips

dice = random.Random(3)
for title, options in PIPELINES:
    make(options)
    places = chunks()
    status, said = verify()
    clean = status == 0 and said['is_good'] and said['datasets'][0]['n_stored'] == len(places)
    exact = same = rows = located = True
    n_found = n_planted = 0
    for trial in range(6):
        make(options)
        chosen = dice.sample(sorted(places), trial)
        for place in chosen:
            offset, size = places[place]
            flip(offset + dice.randrange(size), dice.randrange(8))
        status, said = verify()
        found = told(said)
        peer = unreadable(places)
        n_found, n_planted = n_found + len(found), n_planted + len(chosen)
        exact = exact and peer <= set(found) <= set(chosen)
        if any(a in title for a in ALWAYS):
            exact = exact and set(found) == set(chosen)
        same = same and set(found) >= peer and status == (1 if found else 0)
        rows = rows and said['datasets'][0]['bad_samples'] == rows_of(found)
        located = located and all((b['address_bytes'], b['stored_bytes']) == places[p] and b['why'] and
                                  b['fault'] == 'decoding' for p, b in found.items())
    tap.ok(clean and exact and same, f'{title}: {n_found} of {n_planted} flips are found, all that h5py finds and no others')
    tap.ok(rows and located, f'{title}: with their places and samples')
    if title in ('nothing', 'shuffle'):
        tap.equal(n_found, 0, f'{title}: no flip can be found')

make({'compression': 'gzip'})
places = chunks()
for place in dice.sample(sorted(places), 9):
    flip(places[place][0] + 7, 2)
answers = {json.dumps(verify(threads=n)[1], sort_keys=True) for n in range(1, 9)}
tap.equal(len(answers), 1, '1 to 8 threads give one answer')
tap.equal(len(told(verify()[1])), 9, 'nine of nine')

# ------------------------------------------------------------------ a version 1 B-tree that lies

KEY = 8 + (len(SHAPE) + 1) * 8  # bytes of stored size, mask, place; the address behind it


def entry(place):
    """Where the index holds a chunk's address; its key lies before it."""
    address = places[place][0]
    offsets = struct.pack('<4Q', *(p * c for p, c in zip(place, CHUNK)), 0) + struct.pack('<Q', address)
    with open(path, 'rb') as f:
        data = f.read()
    assert data.count(offsets) == 1
    return data.index(offsets) + (len(SHAPE) + 1) * 8


def damaged(sentence, change, want, options=None):
    """want: fault by place."""
    global places
    make({'compression': 'gzip'} if options is None else options, libver='earliest')
    places = chunks()
    change()
    status, said = verify()
    if said['datasets'][0]['is_by_hdf5']:  # HDF5 1.10 does not list chunks beyond the end
        tap.equal(set(told(said)), unreadable(places), f'{sentence}, as HDF5 finds it')
        tap.ok('index' in said['datasets'][0]['failure'], f'{sentence}: the index is said to be damaged')
    else:
        tap.equal([(p, b['fault']) for p, b in told(said).items()], sorted(want.items()), sentence)
    peer = unreadable(places)
    tap.ok(status == 1 and peer <= set(want), f'{sentence}: h5py has no others')


A, B = (2, 1, 0), (7, 0, 0)
damaged('two chunks at one place', lambda: poke(entry(B), struct.pack('<Q', places[A][0])),
        {A: 'overlap', B: 'overlap'}, {})
damaged('a chunk in another', lambda: poke(entry(B), struct.pack('<Q', places[A][0] + 8)),
        {A: 'overlap', B: 'overlap', (3, 0, 0): 'overlap'}, {})  # which is the next one in the file
damaged('a chunk that is not one, where another is', lambda: poke(entry(B), struct.pack('<Q', places[A][0] + 8)),
        {B: 'decoding'})
damaged('a chunk beyond the end', lambda: poke(entry(B), struct.pack('<Q', 1 << 40)), {B: 'beyond-end'})
damaged('one that reaches beyond it',
        lambda: poke(entry(B), struct.pack('<Q', os.path.getsize(path) - 5)), {B: 'beyond-end'})
damaged('a chunk that stores too little', lambda: poke(entry(B) - KEY, struct.pack('<I', places[B][1] // 2)),
        {B: 'decoding'})
damaged('unfiltered, too', lambda: poke(entry(B) - KEY, struct.pack('<I', places[B][1] // 2)), {B: 'size'}, {})
damaged('a mask that leaves out gzip', lambda: poke(entry(B) - KEY + 4, struct.pack('<I', 1)), {B: 'size'})
damaged('a mask of filters that there are not', lambda: poke(entry(B) - KEY + 4, struct.pack('<I', 1 << 9)),
        {B: 'mask'})
damaged('a chunk that is said to have gone through no filter, and has', lambda: poke(entry(B) - KEY + 4, b'\xff' * 4),
        {B: 'size'})
damaged('several things at once', lambda: (poke(entry(B), struct.pack('<Q', 1 << 40)), flip(places[A][0] + 9, 1)),
        {A: 'decoding', B: 'beyond-end'})

# ------------------------------------------------------------------ other layouts

with h5py.File(path, 'w') as f:
    f['contiguous'] = np.arange(300000)
    compact = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    compact.set_layout(h5py.h5d.COMPACT)
    h5py.h5d.create(f.id, b'compact', h5py.h5t.NATIVE_INT32, h5py.h5s.create_simple((20,)), compact)
    f.create_dataset('empty', (0, 3), chunks=(1, 3), maxshape=(None, 3))
    f.create_dataset('sparse', (50, 3), chunks=(5, 3))
    f.create_dataset('texts', data=['a', 'bc'] * 50, chunks=(7,))
    f.create_dataset('pairs', data=np.zeros(20, [('a', 'i4'), ('b', 'f8')]), chunks=(3,), compression='gzip')
    f.create_dataset('nbit', data=np.arange(99), chunks=(10,), scaleoffset=0)
    f.create_dataset('outside', (30,), 'u1', external=[(os.path.join(folder, 'there.raw'), 0, 30)])
    f['outside'][:] = 1
    f['value'] = 3.5
    f['folder/text'] = 'one'
status, said = verify()
tap.equal((status, len(said['datasets'])), (0, 10), 'all layouts and kinds of elements are read')
by_path = {d['path']: d for d in said['datasets']}
tap.equal({p: by_path[p]['n_stored'] for p in ('sparse', 'empty', 'nbit', 'texts', 'pairs')},
          {'sparse': 0, 'empty': 0, 'nbit': 10, 'texts': 15, 'pairs': 7}, 'chunks are counted that are stored')
tap.equal(by_path['contiguous']['stored_bytes'], 2400000, 'all of contiguous data is read')
os.unlink(os.path.join(folder, 'there.raw'))
status, said = verify(None, 2, 'outside')
tap.ok(status == 1 and said['datasets'][0]['n_bad_samples'] == 30, 'an external file that is gone')
with h5py.File(path, 'r') as f:
    infos = [f['pairs'].id.get_chunk_info(i) for i in (1, 4)]
for info in infos:
    flip(info.byte_offset + 5, 3)
status, said = verify(None, 2, 'pairs')
tap.equal(said['datasets'][0]['bad_samples'], [[3, 3], [12, 3]], 'bad chunks that HDF5 reads are told one by one')
status, said = verify(None, 2, 'none')
tap.ok(status == 2 and "': there is no dataset 'none'" in said, 'a dataset that there is not')
make({'compression': 'gzip'})
status, said = verify(None, 2, '', 'json', '1000')
tap.ok(status == 1 and 'that are allowed' in said['datasets'][0]['failure'], 'memory that is too little is said')

with h5py.File(path, 'w') as f:  # "no filters at all", as who writes chunks himself says it
    f.create_dataset('x', SHAPE, '<u2', chunks=CHUNK, compression='gzip')
    f['x'].id.write_direct_chunk((4, 3, 0), values[4:8, 3:6].tobytes(), filter_mask=0xffffffff)
status, said = verify()
tap.equal((status, said['datasets'][0]['n_masked']), (0, 1), 'a mask of all filters, and of those that there are not')

# what takes more memory than there is, is not bad: `--salvage` would leave it out
if os.environ.get('SANITIZERS', 'no') == 'no':  # which take more address space
    large = os.path.join(folder, 'large.h5')
    with h5py.File(large, 'w') as f:
        f.create_dataset('x', data=np.zeros((2, 32 << 20), 'u2'), chunks=(1, 32 << 20), compression=1, shuffle=True)
    said = []
    for limit in range(96 << 20, 480 << 20, 16 << 20):
        run = subprocess.run(['verify_dump', large, '1'], capture_output=True,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        said += [d for d in json.loads(run.stdout)['datasets']] if run.stdout else []
    tap.ok(any('filter buffer' in (d['failure'] or '') for d in said) and any(d['is_done'] for d in said) and
           not any(d['n_bad'] for d in said), f'without memory for it a chunk is not bad: {[d["failure"] for d in said]}')
    os.unlink(large)

make({'compression': 'gzip'})
places = chunks()
flip(places[A][0] + 9, 1)
whole = os.path.join(folder, 'whole.h5')
layout = h5py.VirtualLayout((100,) + SHAPE[1:], '<u2')
source = h5py.VirtualSource(path, 'x', SHAPE)
layout[10:40] = source[5:35]
layout[50:92] = source
with h5py.File(whole, 'w') as f:
    f.create_virtual_dataset('v', layout)
status, said = verify(whole)
tap.equal((status, said['datasets'][0]['bad_samples']), (1, [[13, 4], [58, 4]]), 'samples of a virtual dataset are its own')
tap.ok('verify.h5' in said['datasets'][0]['bad_chunks'][0]['why'], 'and the source is named')

text = subprocess.run(['verify_dump', whole, '1', '', 'text'], capture_output=True, text=True).stdout
tap.ok('bad samples: 13-16, 58-61' in text and max(map(len, text.splitlines()[1:])) < 200, 'text tells the same')

# ------------------------------------------------------------------ whole files

os.truncate(path, os.path.getsize(path) - 100)
status, said = verify()
bad = said['datasets'][0]['bad_chunks'] if said['datasets'] else []
tap.ok(status == 1 and said['cut'] and {b['fault'] for b in bad} >= {'beyond-end'},
       f'a file that was cut short: {bad[-1:]}')
os.truncate(path, 40)
status, said = verify()
tap.ok(status == 1 and not said['datasets'] and 'verify.h5' in (said['failure'] or ''),
       f'of which hardly anything is left: {(said["failure"] or "")[-60:]}')
status, said = verify(os.path.join(folder, 'no.h5'))
tap.ok(status == 2 and 'no.h5' in said, 'no file')
status, said = verify(folder)
tap.ok(status == 2 and 'it is a folder' in said, 'a folder')
shared = sys.argv[2] if len(sys.argv) > 2 else ''
if os.path.isdir(shared):
    names = sorted(n for n in os.listdir(shared) if os.path.isfile(os.path.join(shared, n)))
    names.remove('cve-2018-15671.h5')  # on which HDF5 takes all the time that it is given
    codes = {}
    for name in names:
        run = subprocess.run(['verify_dump', os.path.join(shared, name)], capture_output=True, timeout=300)
        codes[name] = run.returncode
    tap.equal({n: c for n, c in codes.items() if c not in (0, 1)}, {}, f'{len(names)} strange files end in a report')
else:
    tap.skip('no strange files here')
tap.done()
