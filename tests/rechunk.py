"""What h5rechunk makes of files, against h5py and h5diff: everything in the copy is what it was,
but for chunks and filters of what is rewritten; the bytes do not depend on threads. Files of random
datasets, one with all kinds of links, attributes and references, and the shared ones."""
import glob
import json
import os
import random
import shutil
import subprocess
import sys

import h5py
import numpy as np
from tap import apart, done, note, ok, skip

work, shared = sys.argv[1:3]
shim = os.path.join(os.environ.get('top_builddir', '.'), 'tests/.libs/fault_shim.so')
rng = random.Random(int(os.environ.get('H5PACK_SEED', 1)))
TYPES = [order + kind for kind in ('i1', 'u1', 'i2', 'u2', 'i4', 'u4', 'i8', 'u8', 'f2', 'f4', 'f8')
         for order in '<>'] + ['S5', 'bool']
SOURCES = [{}, {}, {'compression': 'gzip'}, {'compression': 'gzip', 'compression_opts': 9, 'shuffle': True},
           {'compression': 'lzf'}, {'fletcher32': True}, {'shuffle': True, 'fletcher32': True}]
TARGETS = [None, 'none', 'gzip:1', 'shuffle+gzip:4', 'gzip:1+fletcher32', 'fletcher32', 'shuffle']
if h5py.h5z.filter_avail(32015):
    TARGETS += ['zstd:1', 'shuffle+zstd:3+fletcher32']


def rechunk(source, target, *options):
    run = subprocess.run(['h5rechunk', source, '-o', target, '--json', '-q', *options], capture_output=True)
    return run.returncode, run.stdout, run.stderr.decode(errors='replace').strip()


# ------------------------------------------------------------------ what a file holds


class Described:
    """Everything in a file that does not say how data is stored, in plain values."""

    def __init__(self, path, rewritten=(), fixed=False):
        self.numbers, self.objects, self.rewritten, self.fixed = {}, [], rewritten, fixed
        with h5py.File(path) as self.file:
            self.block = self.file.userblock_size, open(path, 'rb').read(self.file.userblock_size)
            self.number(self.file['/'])
            for i, item in self.walk():
                self.objects[i] = self.describe(item)

    def walk(self):
        done_ = 0
        while done_ < len(self.objects):
            yield done_, self.objects[done_]
            done_ += 1

    def number(self, item):
        address = h5py.h5o.get_info(item.id).addr
        if address not in self.numbers:
            self.numbers[address] = len(self.objects)
            self.objects.append(item)
        return self.numbers[address]

    def plain(self, value):
        if isinstance(value, h5py.RegionReference):
            if not value:
                return 'null region'
            space = h5py.h5r.get_region(value, self.file.id)
            return ('region', self.number(self.file[value]), space.get_select_bounds(), space.get_select_npoints(),
                    space.shape)
        if isinstance(value, h5py.Reference):
            return ('object', self.number(self.file[value])) if value else 'null object'
        if isinstance(value, h5py.Empty):
            return 'empty'
        if isinstance(value, np.void) and value.dtype.names:
            return tuple(self.plain(value[name]) for name in value.dtype.names)
        if isinstance(value, np.ndarray) and value.dtype.hasobject:
            return (value.shape, [self.plain(v) for v in value.ravel()])
        if isinstance(value, (np.ndarray, np.generic)):
            return (value.shape, value.dtype.str, value.tobytes())
        return value

    def kind(self, typed):
        number = self.number(h5py.Datatype(typed)) if typed.committed() else None
        return number, typed.dtype.str, typed.get_size(), repr(h5py.check_dtype(vlen=typed.dtype)), str(typed.dtype)

    def attributes(self, item):
        names = []
        order = h5py.h5.INDEX_NAME
        if not isinstance(item, h5py.Datatype) and item.id.get_create_plist().get_attr_creation_order():
            order = h5py.h5.INDEX_CRT_ORDER
        for i in range(h5py.h5a.get_num_attrs(item.id)):
            attr = h5py.h5a.open(item.id, index=i, index_type=order)
            value = 'null'
            if attr.get_space().get_simple_extent_type() != h5py.h5s.NULL:
                value = self.plain(item.attrs[attr.name.decode()])
            names.append((attr.name, self.kind(attr.get_type()), attr.shape, value))
        return names

    def links(self, group):
        found = []
        order = group.id.get_create_plist().get_link_creation_order()
        for name in group:
            link = group.get(name, getlink=True)
            if isinstance(link, h5py.SoftLink):
                found.append((name, 'soft', link.path))
            elif isinstance(link, h5py.ExternalLink):
                found.append((name, 'external', link.filename, link.path))
            else:
                found.append((name, 'hard', self.number(group[name])))
        return order, found

    def describe(self, item):
        if isinstance(item, h5py.Group):
            return 'group', self.links(item), self.attributes(item)
        if isinstance(item, h5py.Datatype):
            return 'type', str(item.dtype), self.attributes(item)
        space = item.id.get_space()
        data = 'null'
        if space.get_simple_extent_type() != h5py.h5s.NULL:
            data = self.plain(item[()])
        lists = item.id.get_create_plist()
        storage, maxshape = None, item.maxshape
        if item.name.strip('/') in self.rewritten:
            maxshape = item.shape if self.fixed else maxshape
        else:
            storage = (item.chunks, [lists.get_filter(i)[:3] for i in range(lists.get_nfilters())],
                       lists.get_layout(), item.id.get_storage_size() if not item.dtype.hasobject else 0)
        return ('dataset', self.kind(item.id.get_type()), item.shape, maxshape, lists.fill_value_defined(),
                lists.get_fill_time(), data, storage, self.attributes(item))


def same(source, target, rewritten, what, fixed=False):
    """The copy holds what the source held; h5diff agrees. With fixed it cannot grow, whatever that could."""
    a, b = Described(source, rewritten, fixed), Described(target, rewritten)
    good = a.block == b.block and len(a.objects) == len(b.objects)
    if not good:
        note(f'{what}: {len(a.objects)} objects, {len(b.objects)} in the copy')
    for x, y in zip(a.objects, b.objects):
        if x != y:
            note(f'{what}: {str(x)[:400]}')
            note(f'{what}: {str(y)[:400]}')
            good = False
    difference = h5diff(source, target)
    if difference:
        note(f'{what}: h5diff: {difference[:400]}')
    return good and not difference


def h5diff(source, target):
    """What h5diff says of the copy and not of a copy byte by byte: it cannot read or compare everything."""
    twin = os.path.join(work, 'twin.h5')
    shutil.copy(source, twin)
    runs = [subprocess.run(['h5diff', source, other], capture_output=True, text=True) for other in (twin, target)]
    if runs[0].returncode == runs[1].returncode and runs[0].stdout == runs[1].stdout:
        return ''
    return f'status {runs[1].returncode}, was {runs[0].returncode}: {runs[1].stdout}{runs[1].stderr}'


def has_lzf(path):
    """Which HDF5 itself does not have."""
    with h5py.File(path) as file:
        return any(data.compression == 'lzf' for data in file.values() if isinstance(data, h5py.Dataset))


# ----------------------------------------------------------------------- random ones


def fill(data, shape):
    part = tuple(slice(rng.randint(0, n // 2), None) for n in shape) if rng.random() < 0.4 else ()
    if rng.random() < 0.1:
        return
    n = int(np.prod(data[part].shape)) if part else int(np.prod(shape))
    raw = (np.arange(n) // 3 % 200 + rng.randrange(50)) % 120
    raw = raw.reshape(data[part].shape if part else shape)
    data[part] = raw.astype('S5') if data.dtype.kind == 'S' else raw.astype(data.dtype)


def make_random(path):
    names = []
    with h5py.File(path, 'w', libver=rng.choice(['earliest', 'latest', ('earliest', 'v108'), ('v108', 'v110')]),
                   userblock_size=rng.choice([0, 0, 512])) as file:
        for i in range(rng.randint(1, 6)):
            rank, kind = rng.randint(1, 5), rng.choice(TYPES)
            shape = tuple(rng.randint(1, (400, 40, 12, 8, 5)[rank - 1]) for _ in range(rank))
            options = dict(rng.choice(SOURCES))
            if options or rng.random() < 0.6:
                options['chunks'] = tuple(rng.randint(1, n) for n in shape)
                if rng.random() < 0.4:
                    options['maxshape'] = tuple(rng.choice([None, n]) for n in shape)
            if kind not in ('S5', 'bool') and rng.random() < 0.3:
                options['fillvalue'] = 7
            dcpl = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            if not options and np.prod(shape) * np.dtype(kind).itemsize < 60000 and rng.random() < 0.4:
                dcpl.set_layout(h5py.h5d.COMPACT)
                space = h5py.h5s.create_simple(shape)
                data = h5py.Dataset(h5py.h5d.create(file.id, f'd{i}'.encode(), h5py.h5t.py_create(np.dtype(kind)),
                                                    space, dcpl))
            else:
                data = file.create_dataset(f'd{i}', shape=shape, dtype=kind, **options)
            fill(data, shape)
            data.attrs['unit'] = i
            names.append((f'd{i}', shape))
    with open(path, 'r+b') as raw:
        if raw.read(1) == b'\0':
            raw.seek(0)
            raw.write(b'a user block')
    return names


def random_options(path, names):
    name, shape = rng.choice(names)
    if rng.random() < 0.25:
        return name, ['--dataset', name, '--chunk', 'none']
    options, compress = ['--dataset', name], rng.choice(TARGETS)
    with h5py.File(path) as file:
        if file[name].compression == 'lzf':  # is only read
            compress = compress or 'none'
    if compress:
        options += ['--compress', compress]
    chunk = [rng.randint(1, n + (n > 5)) for n in shape]
    options += ['--chunk', 'x'.join(map(str, chunk)) if len(shape) > 1 and rng.random() < 0.7 else str(chunk[0])]
    return name, options


def least_memory(source, options):
    """What the program says that it needs."""
    status, _, said = rechunk(source, os.path.join(work, 'never.h5'), '--memory', '1K', '--dry-run', *options)
    if status != 2 or 'which needs' not in said:
        return None
    return 1024 * int(said.split('which needs ')[1].split('K')[0])


def is_contiguous(path, name):
    with h5py.File(path) as file:
        data = file[name]
        return (data.id.get_create_plist().get_layout() == h5py.h5d.CONTIGUOUS and data.maxshape == data.shape and
                data.id.get_storage_size() == data.nbytes)


def test_random(n_files):
    n = n_same = n_alike = n_short = n_many = n_fixed = n_plain = 0
    for k in range(n_files):
        source = os.path.join(work, f'random{k}.h5')
        names = make_random(source)
        for _ in range(4):
            name, options = random_options(source, names)
            least = least_memory(source, options)
            memory = rng.choice([1 << 28, least or 1 << 28, (least or 1 << 28) + rng.randint(1, 4000)])
            outputs, check = [], [] if has_lzf(source) else ['--verify']
            for threads in (1, 2, 5):
                target = os.path.join(work, f'out{threads}.h5')
                status, out, said = rechunk(source, target, '-f', '--memory', str(memory), '-j', str(threads), *check,
                                            *options)
                if status != 0:
                    note(f'{source} {options} {memory}: {status} {said}')
                outputs.append(open(target, 'rb').read() if status == 0 else None)
            n += 1
            n_alike += outputs[0] is not None and all(x == outputs[0] for x in outputs)
            fixed = 'none' in options[3:] and '--compress' not in options
            n_same += outputs[0] is not None and same(source, target, [name], f'{source} {options} {memory}', fixed)
            n_plain += fixed and outputs[0] is not None and is_contiguous(target, name)
            n_fixed += fixed
            plan = json.loads(out)['result']['datasets'][0]['plan'] if status == 0 else {'peak_bytes': 0, 'loads': 0}
            n_short += plan['peak_bytes'] <= memory
            n_many += plan['loads'] > plan.get('source_chunks', 0)
    ok(n_same == n, f'{n_same} of {n} copies of random files hold the same, h5diff agrees')
    ok(n_alike == n, f'{n_alike} are the same bytes with 1, 2 and 5 threads')
    ok(n_short == n, 'and were planned within their memory')
    ok(n_plain == n_fixed, f'{n_plain} are contiguous, as was asked for')
    ok(n_many > 0, f'{n_many} of them reading chunks more than once')


# -------------------------------------------------------------------- all kinds of things


def make_rich(path, track, libver):
    with h5py.File(path, 'w', libver=libver, track_order=track, userblock_size=1024) as f:
        images = f.create_dataset('images', data=np.arange(60 * 3 * 9 * 7).reshape(60, 3, 9, 7) % 251, dtype='u1',
                                  chunks=(7, 3, 9, 7), maxshape=(None, 3, 9, 7), compression='gzip')
        f.create_dataset('labels', data=np.arange(60))
        deep = f.create_group('z/y/x', track_order=track)
        f['z/loop'] = f['z']
        deep['again'] = images
        f['first name'] = images
        deep['soft'] = h5py.SoftLink('/images')
        deep['nowhere'] = h5py.SoftLink('/not/there')
        deep['ext'] = h5py.ExternalLink('other.h5', '/x')
        f['größe'] = np.float32(3)
        f['type'] = np.dtype([('a', 'i4'), ('b', 'f8')])
        typed = f.create_dataset('typed', (4,), dtype=f['type'])
        typed[1] = (3, 4.5)
        images.attrs.create('typed', np.array((1, 2.), dtype=f['type'].dtype), dtype=f['type'])
        f['type'].attrs['why'] = 'a type has attributes too'
        f['x'] = np.arange(9.)
        f['x'].make_scale('x')
        f.create_dataset('w', data=np.arange(7.)).make_scale('w')
        images.dims[2].attach_scale(f['x'])
        images.dims[3].attach_scale(f['w'])
        images.dims[3].label = 'width'
        refs = [images.ref, deep.ref, f['type'].ref, f['/'].ref]
        f['refs'] = np.array(refs + [h5py.Reference()], dtype=h5py.ref_dtype)
        f['chunked refs'] = f.create_dataset('chunked', (40,), dtype=h5py.ref_dtype, chunks=(7,))
        f['chunked'][10] = images.ref
        f['regions'] = np.array([images.regionref[1:3, :, 2:4, 0], f['labels'].regionref[3:9:2]],
                                dtype=h5py.regionref_dtype)
        pairs = np.zeros(3, dtype=[('n', 'i4'), ('ref', h5py.ref_dtype)])
        pairs['ref'] = h5py.Reference()
        pairs[1] = (5, deep.ref)
        f['pairs'] = pairs
        lists = f.create_dataset('lists', (3,), dtype=h5py.vlen_dtype(h5py.ref_dtype))
        lists[0] = np.array(refs[:2], dtype=h5py.ref_dtype)
        f['texts'] = np.array(['a', 'bb', ''], dtype=object)
        f.create_dataset('many texts', data=[str(i) * (i % 5) for i in range(3000)], dtype=h5py.string_dtype(),
                         chunks=(64,), compression='gzip')
        f['empty'] = h5py.Empty('f4')
        f.create_dataset('none', (0, 5), maxshape=(None, 5), chunks=(3, 5))
        f.create_dataset('never written', (5, 5), fillvalue=3)
        f.create_dataset('lzf', data=np.zeros((50, 50)), chunks=(9, 9), compression='lzf')
        for item in (f, deep, images, f['labels']):
            for i in range(30):
                item.attrs[f'a{(7 * i) % 30}'] = i
            item.attrs['ref'] = images.ref
            item.attrs['region'] = images.regionref[0]
            item.attrs['text'] = 'groß'
            item.attrs['empty'] = h5py.Empty('i4')
            item.attrs['texts'] = np.array(['x', 'yy'], dtype=object)
        if libver != 'earliest':
            deep.attrs['large'] = np.arange(20000)
        layout = h5py.VirtualLayout((30,), 'i8')
        layout[:] = h5py.VirtualSource('.', 'labels', (60,))[:30]
        if libver == 'latest':
            f.create_virtual_dataset('virtual', layout)
    with open(path, 'r+b') as raw:
        raw.write(b'#!/bin/sh\necho this is a user block\n')


def test_rich():
    source, target = os.path.join(work, 'rich.h5'), os.path.join(work, 'rich_out.h5')
    for track in (False, True):
        for libver in ('earliest', 'latest', ('v108', 'v108')):
            make_rich(source, track, libver)
            what = f'{"with" if track else "without"} creation order, {libver}'
            status, _, said = rechunk(source, target, '-f', '--verify', '--chunk', '4', '--compress', 'gzip:1')
            good = status == 0 and same(source, target, ['images', 'first name', 'z/y/x/again'], what)
            ok(good, f'links, attributes, references, types, scales, a user block: {what}')
            if status:
                note(said)
            with open(source, 'rb') as a, open(target, 'rb') as b:
                a.seek(1024 + 8), b.seek(1024 + 8)
                ok(status == 0 and b.read(1) <= a.read(1), 'the copy is not of a newer format')
    status, _, said = rechunk(source, target, '-f', '--dataset', 'images', '--dataset', 'labels', '--chunk', '16')
    with h5py.File(target) as f:
        ok(status == 0 and f['images'].chunks == (16, 3, 9, 7) and f['labels'].chunks == (16,) and
           f['images'].compression == 'gzip', 'several datasets at once; filters stay')
    status, out, said = rechunk(source, target, '-f', '--dataset', 'images', '--chunk', '7')
    verbatim = status == 0 and json.loads(out)['result']['datasets'][0]['plan']['verbatim']
    ok(verbatim and same(source, target, [], 'verbatim'), 'the same chunks and filters are copied as stored')
    status, _, said = rechunk(source, target, '-f', '--dataset', 'images', '--dataset', 'first name', '-c', '1')
    ok(status == 2 and 'named twice' in said, 'one dataset under two names is refused')


def test_masks():
    """Chunks whose filters were skipped, taken as stored and decoded."""
    source, target = os.path.join(work, 'masks.h5'), os.path.join(work, 'masks_out.h5')
    with h5py.File(source, 'w') as f:
        data = f.create_dataset('data', (40,), dtype='u1', chunks=(10,), compression='gzip', shuffle=True)
        data[:] = np.arange(40)
        data.id.write_direct_chunk((10,), bytes(range(100, 110)), 3)
    with h5py.File(source) as f:
        want = f['data'][:]
    for chunk in ('10', '7'):
        status, _, said = rechunk(source, target, '-f', '--chunk', chunk)
        with h5py.File(target) as f:
            mask = f['data'].id.read_direct_chunk((10,))[0] if chunk == '10' else 3
            ok(status == 0 and (f['data'][:] == want).all() and mask == 3, f'skipped filters, chunks of {chunk}')


def test_missing():
    """Chunks that are not stored are neither read nor written."""
    source, target = os.path.join(work, 'missing.h5'), os.path.join(work, 'missing_out.h5')
    with h5py.File(source, 'w') as f:
        f.create_dataset('data', (100,), dtype='u1', chunks=(10,), fillvalue=3)[:30] = 7
    status, out, _ = rechunk(source, target, '-f', '--chunk', '25')
    moved = json.loads(out)['result']['datasets'][0]['moved'] if status == 0 else {}
    ok(moved.get('loads') == 3 and moved.get('writes') == 2 and moved.get('read_bytes') == 30,
       'chunks that are not stored are not counted')
    with h5py.File(target) as f:
        ok((f['data'][:30] == 7).all() and (f['data'][30:] == 3).all() and f['data'].id.get_num_chunks() == 2,
           'and stay so')
    status, _, _ = rechunk(source, target, '-f', '--chunk', 'none')
    with h5py.File(target) as f:
        ok(status == 0 and (f['data'][:30] == 7).all() and (f['data'][30:] == 3).all() and f['data'].fillvalue == 3 and
           is_contiguous(target, 'data'), 'without chunks they are stored')
    with h5py.File(source, 'w') as f:  # so much that pieces of it are of such only
        f.create_dataset('data', (4000, 100), dtype='i4', chunks=(50, 100), fillvalue=3)[1000:1700] = 7
        f.create_dataset('never', (200,), dtype='i4', fillvalue=4)
    status, _, _ = rechunk(source, target, '-f', '--chunk', 'none', '--dataset', 'data', '--dataset', 'never')
    with h5py.File(source) as a, h5py.File(target) as b:
        ok(status == 0 and all((a[name][()] == b[name][()]).all() and is_contiguous(target, name) for name in a),
           'so are pieces of such only, and data that was never written')


def test_plain():
    """Without chunks: rows that are cut, with much memory and with little; numbers that become bytes, axes turned."""
    source, target = os.path.join(work, 'volume.h5'), os.path.join(work, 'plain.h5')
    volume = (np.arange(7 * 611 * 900) * 31 % 60013).astype('>u2').reshape(7, 611, 900)
    images = (np.arange(11 * 90 * 80 * 3) * 7 % 256).astype('u1').reshape(11, 90, 80, 3)
    with h5py.File(source, 'w') as f:
        f.create_dataset('volume', data=volume, chunks=(3, 64, 50), maxshape=(None, 611, None), compression='gzip')
        f.create_dataset('images', data=images / np.float32(255), chunks=(4, 50, 80, 2), shuffle=True)
    for memory in ('1500K', '3M', '1G'):
        made = []
        for threads in ('1', '3'):
            status, out, said = rechunk(source, target, '-f', '--dataset', 'volume', '--chunk', 'none', '--memory', memory,
                                        '-j', threads, '--verify')
            made.append(open(target, 'rb').read() if status == 0 else said)
        with h5py.File(target) as f:
            ok(status == 0 and made[0] == made[1] and is_contiguous(target, 'volume') and (f['volume'][()] == volume).all(),
               f'a volume of rows that are cut, in {memory}, with 1 thread and with 3')
    loads = json.loads(out)['result']['datasets'][0]['plan']
    ok(loads['loads'] == loads['source_chunks'] and loads['target_chunks'] > 14, 'with memory each chunk is read once')
    status, _, said = rechunk(source, target, '-f', '--dataset', 'images', '--chunk', 'none', '--as', 'uint8', '--layout',
                              'nchw', '--shuffle', '--verify')
    with h5py.File(target) as f:
        order = f['source_index'][()] if status == 0 else []
        ok(status == 0 and is_contiguous(target, 'images') and sorted(order) == list(range(11)) and
           (f['images'][()] == images[order].transpose(0, 3, 1, 2)).all(), 'bytes, planes and another order, all at once')
    if status:
        note(said)


# ---------------------------------------------------------------------- interrupted ones


def interrupted(source, target, *options):
    """Is stopped before a write that is drawn, goes on, perhaps twice: how many chunks were taken over, or -1."""
    n_kept = 0
    for last in (False, rng.random() < 0.5, True):
        fault = {} if last else {'LD_PRELOAD': shim, 'FAULT_CALL': 'write', 'FAULT_HOW': 'SIGINT',
                                 'FAULT_N': str(rng.randint(3, 30))}
        run = subprocess.run(['h5rechunk', source, '-o', target, '--json', '-q', '--resume', '-j', str(rng.randint(1, 4)),
                              *options], capture_output=True, env={**os.environ, **fault})
        if run.returncode == 0:
            result = json.loads(run.stdout)['result']['datasets']
            return n_kept + sum(data['moved']['resumed'] for data in result)
        if run.returncode != 130 or os.path.exists(target):
            note(f'{source} {options}: {run.returncode} {run.stderr.decode()}')
            return -1
    return -1


def test_interrupted(n_files):
    """Whatever HDF5 has in a file, the same calls put it to the same places."""
    jobs = []
    for track, libver in ((False, 'earliest'), (True, 'latest'), (True, ('v108', 'v108'))):
        source = os.path.join(work, 'rich.h5')
        make_rich(source, track, libver)
        jobs += [(shutil.copy(source, os.path.join(work, f'rich{len(jobs)}.h5')), options) for options in (
            ['--chunk', '1', '--compress', 'gzip:1', '--dataset', 'images', '--dataset', 'labels'], ['--chunk', '7'])]
    for k in range(n_files):
        source = os.path.join(work, f'random{k}.h5')
        names = make_random(source)
        jobs += [(source, random_options(source, names)[1]) for _ in range(3)]
    source = os.path.join(work, 'filled.h5')  # HDF5 would fill what is there again
    with h5py.File(source, 'w') as f:
        f.create_dataset('data', (300, 60, 40), dtype='i4', chunks=(7, 60, 40), fillvalue=5)[20:] = np.arange(2400).reshape(60, 40)
    jobs += 2 * [(source, ['--chunk', 'none'])]
    n_same = n_kept = 0
    for source, options in jobs:
        a, b = os.path.join(work, 'whole.h5'), os.path.join(work, 'resumed.h5')
        if os.path.exists(b):
            os.remove(b)
        status, _, said = rechunk(source, a, '-f', *options)
        kept = interrupted(source, b, *options)
        good = status == 0 and kept >= 0 and open(a, 'rb').read() == open(b, 'rb').read()
        n_same += good
        n_kept += max(kept, 0)
        if not good:
            note(f'{source} {options}: {said}')
    ok(n_same == len(jobs) and n_kept > 0,
       f'{n_same} of {len(jobs)} that were stopped and resumed are the same bytes; {n_kept} chunks were taken over')


# ------------------------------------------------------------------------ the shared ones


def shared_files():
    paths = sorted(p for p in glob.glob(os.path.join(shared, '*')) if os.path.isfile(p))
    if not os.environ.get('H5PACK_LONG'):  # HDF5 takes the time that it is given
        paths = [p for p in paths if 'cve-2018-15671' not in p]
    return paths


def one_shared(path, keep):
    """Rewrites each dataset of a file; says what came out."""
    names = []
    with h5py.File(path) as f:
        f.visititems(lambda name, item: names.append((name, item.shape)) if isinstance(item, h5py.Dataset) and
                     item.shape and 0 not in item.shape and item.nbytes < 1 << 24 else None)
    shutil.copy(path, keep)
    for name, shape in names[:40 if os.environ.get('H5PACK_LONG') else 3]:
        chunk = 'x'.join(str(max(1, n // 2 + 1)) for n in shape)
        target = os.path.join(work, 'shared_out.h5')
        status, out, said = rechunk(keep, target, '-f', '--dataset', name, '--chunk', chunk, '--compress', 'gzip:1')
        if status != 0:
            print(f'refused {name}: {said}' if status == 2 else f'differs {name}: {status} {said}', flush=True)
            continue
        if json.loads(out)['result']['carried_over']['null_references']:
            print(f'refused {name}: references of it led nowhere', flush=True)  # which h5diff cannot know
            continue
        difference = h5diff(keep, target)
        print(f'differs {name}: {difference[:300]}' if difference else 'same', flush=True)


def test_answers():
    """Whatever a file is, there is a result or a sentence."""
    paths = shared_files()
    n = 0
    for path in paths:
        status, _, said = rechunk(path, os.path.join(work, 'answer.h5'), '-f', '-c', '1', '--compress', 'gzip:1')
        good = status in (0, 2) and len(said.splitlines()) == status // 2
        n += good
        if not good:
            note(f'{os.path.basename(path)}: {status} {said}')
    if paths:
        ok(n == len(paths), f'{n} of {len(paths)} shared files end in a result or a sentence')
    else:
        skip('no shared files here')


def test_shared():
    paths = [p for p in shared_files() if h5py.is_hdf5(p)]
    if not paths:
        skip('no shared HDF5 files here')
        return
    n_same = n_other = n_refused = 0
    for path in paths:  # h5py and h5diff themselves may crash on some: each in a process of its own
        lines = apart(one_shared, path, os.path.join(work, 'shared.h5'), seconds=30)
        if lines is None:
            note(f'{os.path.basename(path)}: not done in time')
            continue
        for line in lines:
            n_same += line == 'same'
            n_refused += line.startswith('refused')
            if line.startswith('differs'):
                n_other += 1
            if line != 'same' and os.environ.get('H5PACK_LONG'):
                note(f'{os.path.basename(path)}: {line}')
            elif line.startswith('differs'):
                note(f'{os.path.basename(path)}: {line}')
    ok(n_same > 0 and n_other == 0,
       f'{n_same} datasets of {len(paths)} shared files rewritten, {n_refused} refused')


def test_many_links():
    """Groups with so many links that a new file keeps them in a heap, below the root and in it."""
    source, target = os.path.join(work, 'many.h5'), os.path.join(work, 'many-out.h5')
    for is_ordered in (False, True):
        with h5py.File(source, 'w', libver='v110', track_order=is_ordered) as file:
            for group in (file, file.create_group('a', track_order=is_ordered), file.create_group('a/b')):
                for i in range(20):
                    group[f'd{(7 * i) % 20}'] = np.arange(6) + i
                group['again'] = group['d3']
        ran = subprocess.run(['h5rechunk', source, '-q', '--dataset', 'a/b/d1', '-c', '2', '-f', '-o', target],
                             capture_output=True, text=True)
        same = ran.returncode == 0 and subprocess.run(['h5diff', '-q', source, target]).returncode == 0
        if same:
            with h5py.File(source) as a, h5py.File(target) as b:
                same = all(list(a[name]) == list(b[name]) for name in ('/', 'a', 'a/b'))
        ok(same, f'groups of many links, {"in the order in which they were made" if is_ordered else "by name"} {ran.stderr}')


def test_specs():
    """Each dataset with chunks and filters of its own, beside what all are given; a = in a path."""
    source, target = os.path.join(work, 'specs.h5'), os.path.join(work, 'specs_out.h5')
    data = np.arange(120, dtype='u1').reshape(20, 6)
    with h5py.File(source, 'w') as file:
        for name in 'a', 'b', 'c', 'd=3':
            file.create_dataset(name, data=data, chunks=(4, 6))
    status, _, said = rechunk(source, target, '--dataset', 'a=1', '--dataset', '/b=,gzip:3', '--dataset',
                              'c=5x2,shuffle+gzip:1', '--dataset', 'd=3', '-c', '7', '--compress', 'gzip:2')
    wanted = {'a': ((1, 6), False, 2), 'b': ((7, 6), False, 3), 'c': ((5, 2), True, 1),
              'd=3': ((7, 6), False, 2)}
    found = {}
    if status == 0:
        with h5py.File(target) as file:
            for name, images in file.items():
                found[name] = images.chunks, images.shuffle, images.compression_opts
                assert (images[()] == data).all()
    ok(found == wanted, f'chunks and filters of each dataset {said or found}')


def test_growing():
    """Chunks may be longer than the data along axes that can grow, and no longer than those that cannot."""
    source, target = os.path.join(work, 'growing.h5'), os.path.join(work, 'growing_out.h5')
    data = np.arange(4 * 3 * 5).reshape(4, 3, 5)
    good = []
    for most, given, wanted in (((None, 3, 9), '16x8x16', (16, 3, 9)), ((None, 3, 9), '16', (16, 3, 5)), ((6, 3, None), '16', (6, 3, 5)),
                                ((6, 3, None), '2x2x64', (2, 2, 64)), ((4, 3, 5), '9x9x9', (4, 3, 5))):
        with h5py.File(source, 'w') as file:
            file.create_dataset('images', data=data, chunks=(3, 3, 4), maxshape=most)
        status, _, said = rechunk(source, target, '-f', '-c', given)
        if status:
            note(said)
            good.append(False)
            continue
        with h5py.File(target) as file:
            images = file['images']
            good.append(images.chunks == wanted and images.maxshape == most and (images[()] == data).all())
    ok(all(good), f'chunks are cut to what the data can grow to {good}')


test_masks()
test_missing()
test_plain()
test_rich()
test_growing()
test_specs()
test_many_links()
test_random(60 if os.environ.get('H5PACK_LONG') else 5)
if os.path.exists(shim):
    test_interrupted(60 if os.environ.get('H5PACK_LONG') else 4)
else:
    skip('the fault shim cannot be preloaded here')
test_answers()
test_shared()
done()
