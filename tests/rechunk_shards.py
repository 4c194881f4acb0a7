"""h5rechunk --split and --join against h5py and h5diff: what each file holds, what is left behind and what is refused."""
import json
import os
import random
import shutil
import signal
import subprocess
import sys

import h5py
import numpy as np
from tap import done, note, ok

work = sys.argv[1]
shim = os.path.join(os.environ.get('top_builddir', '.'), 'tests/.libs/fault_shim.so')
rng = random.Random(int(os.environ.get('H5PACK_SEED', 1)))
STORED = [{}, {'compression': 'gzip'}, {'compression': 'gzip', 'shuffle': True}, {'fletcher32': True}]
os.chdir(work)


def run(*options, env=None):
    ran = subprocess.run(['h5rechunk', '-q', '--json', *options], capture_output=True, env={**os.environ, **(env or {})})
    return ran.returncode, json.loads(ran.stdout)['result'] if ran.returncode == 0 else None, ran.stderr.decode().strip()


def clear(keep=('in.h5',)):
    for name in os.listdir('.'):
        if name not in keep:
            shutil.rmtree(name) if os.path.isdir(name) else os.remove(name)


def same(a, b):
    return subprocess.run(['h5diff', a, b], capture_output=True).returncode == 0


def make(n, group='', libver='earliest'):
    """Rows of several types and grids, and what is beside them."""
    with h5py.File('in.h5', 'w', libver=libver) as file:
        at = file.require_group(group) if group else file
        shape = (n, rng.randint(1, 5), rng.randint(1, 6))
        options = dict(rng.choice(STORED))
        if options or rng.random() < 0.7:
            options['chunks'] = tuple(rng.randint(1, k) for k in shape)
            if rng.random() < 0.5:
                options['maxshape'] = tuple(rng.choice([None, k, k + 2]) for k in shape)
        images = at.create_dataset('images', shape, rng.choice(['u1', '>f4', '<i8']), fillvalue=3, **options)
        first = rng.choice([0, 0, n // 2])
        images[first:] = np.arange(np.prod((n - first,) + shape[1:])).reshape((n - first,) + shape[1:]) % 99
        images.attrs['unit'] = 'a'
        at['labels'] = np.arange(n, dtype='>i2')
        names = [f'n{i}' * rng.randint(1, 3) for i in range(n)]
        at.create_dataset('names', data=names, dtype=h5py.string_dtype(), chunks=(rng.randint(1, n),))
        at['fixed'] = np.array([name.encode() for name in names])
        at['pairs'] = np.array([(i, i / 2) for i in range(n)], [('a', 'i4'), ('b', 'f8')])
        at['classes'] = np.arange(n + 1)
        at.create_dataset('which', (n,), h5py.ref_dtype)
        for i in range(n):
            at['which'][i] = rng.choice([at['labels'].ref, at.ref])
        at['again'] = at['labels']
        at['soft'] = h5py.SoftLink(at['labels'].name)
        file.create_group('other').create_dataset('rows', data=np.arange(n))
        return options['chunks'][0] if 'chunks' in options else 1


def rows_are_right(result, path, unit):
    """Each shard holds its rows of all that is beside the images; cuts are between chunks."""
    good, end = True, 0
    with h5py.File('in.h5') as a:
        n = len(a[path + 'images'])
        for part in result['files']:
            good = good and part['first'] == end and part['rows'] > 0 and end % unit == 0
            with h5py.File(part['path']) as b:
                for name in ('images', 'labels', 'names', 'fixed', 'pairs', 'again'):
                    x, y = a[path + name], b[path + name]
                    good = good and (x[end:end + part['rows']] == y[()]).all() and x.dtype == y.dtype and \
                        y.chunks == x.chunks and y.compression == x.compression and y.fletcher32 == x.fletcher32
                good = good and dict(b[path + 'images'].attrs) == {'unit': 'a'} and len(b['other/rows']) == n and \
                    all(b[b[path + 'which'][i]].name for i in range(part['rows']))
            end += part['rows']
        return good and end == n


def virtual_is_right(output, path, n_files):
    with h5py.File(output) as file:
        kinds = {name: file[path + name].is_virtual for name in ('images', 'labels', 'names', 'fixed', 'pairs', 'again')}
        sources = file[path + 'images'].virtual_sources()
        return all(kinds.values()) and not file[path + 'which'].is_virtual and not file['other/rows'].is_virtual and \
            len(sources) == n_files and not any('/' in source.file_name for source in sources)


def layout_is_same(a, b, path):
    with h5py.File(a) as x, h5py.File(b) as y:
        return all(x[path + name].chunks == y[path + name].chunks and x[path + name].compression == y[path + name].compression
                   and x[path + name].maxshape == y[path + name].maxshape and x[path + name].dtype == y[path + name].dtype
                   and x[path + name].shuffle == y[path + name].shuffle and not y[path + name].is_virtual
                   for name in ('images', 'labels', 'names', 'pairs'))


def test_random(n_files):
    n_good = n = 0
    for k in range(n_files):
        clear()
        group = rng.choice(['', '', 'a/b'])
        unit = make(rng.randint(1, 60), group, rng.choice(['earliest', 'v110']))
        path = group + '/' if group else ''
        with h5py.File('in.h5') as file:
            units = -(-len(file[path + 'images']) // unit)
        parts = rng.randint(1, units)
        os.mkdir('o%1')
        output = f'o%1/{rng.choice(["x.h5", "x y.z.hdf5", "bare"])}'
        status, result, said = run('in.h5', '-o', output, '--split', str(parts), '--dataset', path + 'images',
                                   '--memory', rng.choice(['1K', '64M']))
        n += 1
        if status:
            note(f'{k}: {unit} {parts} {said}')
            continue
        good = [result['written'], len(result['files']) == parts, rows_are_right(result, path, unit),
                virtual_is_right(output, path, parts), same('in.h5', output)]
        os.rename('o%1', 'moved')
        files = [part['path'].replace('o%1', 'moved') for part in result['files']]
        output = output.replace('o%1', 'moved')
        status, _, said = run('--join', output, '-o', 'one.h5', '--memory', rng.choice(['1K', '64M']))
        good += [status == 0 and same('in.h5', 'one.h5'), status == 0 and layout_is_same('in.h5', 'one.h5', path)]
        for name in files:
            with h5py.File(name, 'a') as file:
                del file[path + 'which']
        with h5py.File('in.h5') as file, h5py.File('less.h5', 'w') as less:
            for name in file:
                file.copy(name, less)
            del less[path + 'which']
        more = ''
        if parts > 1:
            status, _, more = run('--join', *files, '-o', 'two.h5', '--dataset', path + 'images')
            good += [status == 0 and same('less.h5', 'two.h5'), len(os.listdir('.')) == 5]
        n_good += all(good)
        if not all(good):
            note(f'{k}: {unit} rows a chunk, {parts} parts: {good} {said} {more} {os.listdir(".")}')
    ok(n == n_good, f'{n_good} of {n} files come back as they were, whatever their rows, and shards hold theirs')


def test_sizes():
    clear()
    with h5py.File('in.h5', 'w') as file:
        file.create_dataset('images', data=np.zeros((100, 1000), 'u1'), chunks=(3, 1000))
    status, result, _ = run('in.h5', '-o', 'x.h5', '--split', '25K')
    ok(status == 0 and [part['rows'] for part in result['files']] == [24, 27, 24, 25], 'files of a size')
    clear()
    status, result, _ = run('in.h5', '-o', 'x.h5', '--split', '1K')
    ok(status == 0 and len(result['files']) == 34, 'but of no less than a chunk')
    clear()
    status, result, _ = run('in.h5', '--split', '3', '--dry-run')
    ok(status == 0 and not result['written'] and len(result['files']) == 3 and os.listdir('.') == ['in.h5'],
       'a dry run writes nothing')
    refused('more shards than chunks', 'more than', 'in.h5', '-o', 'x.h5', '--split', '35')
    refused('no shards', 'makes no shards', 'in.h5', '-o', 'x.h5', '--split', '0')
    refused('names that are patterns', 'pattern', 'in.h5', '-o', 'p%b.h5', '--split', '2')
    refused('no number', "--split: 'many' is neither a number of files nor a size", 'in.h5', '-o', 'x.h5', '--split', 'many')


def refused(what, words, *options):
    before = sorted(os.listdir('.'))
    status, _, said = run(*options)
    if not ok(status == 2 and words in said and len(said.splitlines()) == 1 and sorted(os.listdir('.')) == before,
              f'refused: {what}'):
        note(f'{status} {said} {before} {os.listdir(".")}')


def test_refused():
    clear()
    make(30)
    refused('joining a file that is not virtual', 'no virtual dataset', '--join', 'in.h5', '-o', 'y.h5')
    refused('the input as output', 'itself', '--split', '1', 'in.h5', '-o', 'in.h5', '--force')
    shutil.copy('in.h5', 'x-00000-of-00001.h5')
    refused('the input as a shard', 'itself', '--split', '1', 'x-00000-of-00001.h5', '-o', 'x.h5', '--force')
    refused('a shard that is there', 'exists', '--split', '1', 'in.h5', '-o', 'x.h5')
    ok(run('--split', '1', 'in.h5', '-o', 'x.h5', '--force')[0] == 0 and same('in.h5', 'x.h5'), 'with --force it is replaced')
    refused('a shard as the output of the virtual file', "'./x-00000-of-00001.h5' is a source of 'x.h5:/", '--join', 'x.h5',
            '-o', './x-00000-of-00001.h5', '--force')
    refused('chunks of a virtual file', 'a virtual dataset; --join makes a plain file of it first', 'x.h5', '-o', 'y.h5', '-c', '1')
    refused('a virtual file to be split', 'to be joined by itself first', '--split', '1', 'x.h5', '-o', 'y.h5')
    with h5py.File('in.h5', 'a') as a, h5py.File('x-00000-of-00001.h5', 'a') as b:
        del a['which'], b['which']
    refused('the shard as output', 'itself', '--join', 'in.h5', 'x-00000-of-00001.h5', '-o', 'x-00000-of-00001.h5', '-f')
    os.remove('x-00000-of-00001.h5')
    refused('a missing shard', "'x-00000-of-00001.h5' is missing", '--join', 'x.h5', '-o', 'y.h5')
    clear()
    with h5py.File('in.h5', 'w') as a, h5py.File('b.h5', 'w') as b:
        for file in a, b:
            file['x'], file['y'] = np.zeros((4, 3)), np.zeros(4)
    refused('none of several datasets', "or 'data': /x, /y; --dataset names one", '--join', 'in.h5', 'b.h5', '-o', 'y.h5')
    clear()
    with h5py.File('in.h5', 'w') as a, h5py.File('b.h5', 'w') as b:
        b['images'] = np.zeros((4, 3))
        a['images'], a['labels'] = h5py.ExternalLink('b.h5', '/images'), np.zeros(4)
    refused('rows in another file', "'in.h5:/images': it is in another file", '--split', '2', 'in.h5', '-o', 'y.h5', '--dataset', 'images')
    with h5py.File('in.h5', 'w') as a:
        a['other/images'] = np.zeros((4, 3))
        a['images'], a['labels'] = h5py.SoftLink('/other/images'), np.zeros(4)
    refused('rows in another group', "'in.h5:/images': a link leads there, to another group", '--split', '2', 'in.h5', '-o', 'y.h5')
    shutil.copy('in.h5', 'b.h5')
    refused('rows in other groups to be joined', 'a link leads there', '--join', 'in.h5', 'b.h5', '-o', 'y.h5')
    with h5py.File('in.h5', 'a') as a:
        del a['images']
        a['images'] = a['other/images']
    ok(run('--split', '2', 'in.h5', '-o', 'y.h5')[0] == 0 and same('in.h5', 'y.h5'), 'a hard link to another group is one of this')
    with h5py.File('in.h5', 'w') as a, h5py.File('b.h5', 'w') as b:
        a['images'], a['labels'] = np.zeros((4, 3)), np.zeros(4)
        b['images'], b['labels'] = np.zeros((5, 3)), np.zeros(4)
    refused('labels of other rows', "'b.h5:/labels' is not the same", '--join', 'in.h5', 'b.h5', '-o', 'y.h5')
    with h5py.File('b.h5', 'w') as b:
        b['images'], b['labels'] = np.zeros((5, 3), 'f4'), np.zeros(5)
    refused('another type', "'b.h5:/images' is not the same", '--join', 'in.h5', 'b.h5', '-o', 'y.h5')
    with h5py.File('b.h5', 'w') as b:
        b['images'] = np.zeros((5, 3))
    refused('a dataset that is not there', "'b.h5:/labels' is not the same", '--join', 'in.h5', 'b.h5', '-o', 'y.h5')


def split(name, n, *options):
    return run('in.h5', '-o', name, '--split', str(n), *options)


def shards(stem, n):
    return [f'{stem}-{i:05}-of-{n:05}.h5' for i in range(n)]


def removed_and_left(result):
    names = [[entry['path'] for entry in result['earlier'] if entry['removed'] == is_removed] for is_removed in (True, False)]
    return tuple(sorted(group) for group in names)


def label(name, text=None):
    with h5py.File(name, 'r' if text is None else 'a') as file:
        if text is not None:
            file.attrs['h5rechunk_shard'] = np.bytes_(text)
        return file.attrs['h5rechunk_shard'].decode()


def test_earlier():
    """Shards of another number are removed by --force, when they say what they are."""
    clear()
    with h5py.File('in.h5', 'w') as file:
        file['images'], file['labels'] = np.arange(60).reshape(20, 3), np.arange(20)
    split('x.h5', 4)
    old, new = shards('x', 4), shards('x', 2)
    texts = [label(name) for name in old]
    with h5py.File('x.h5') as file:
        has_none = 'h5rechunk_shard' not in file.attrs
    ok(has_none and len({text.split('set ')[1] for text in texts}) == 1 and
       all(text.startswith(f'part {i + 1} of 4 of set ') for i, text in enumerate(texts)), 'shards say which they are')
    os.remove('x.h5')
    status, result, _ = split('x.h5', 2)
    ok(status == 0 and removed_and_left(result) == ([], old) and all(map(os.path.exists, old)) and
       result['earlier'][0]['left_because'] == 'it is removed with force only', 'an earlier set is told of and left without --force')
    status, result, _ = split('x.h5', 2, '--force', '--dry-run')
    ok(status == 0 and removed_and_left(result) == ([], old) and not result['earlier'][0]['left_because'] and
       all(map(os.path.exists, old)), 'and in a dry run')
    # Names of other sets, links, folders, and files that are none of ours, or say something else.
    others = ['x-00000-of-00003.h5', 'x-00001-of-00003.h5', 'x-00002-of-00003.h5', 'x-00000-of-00005.h5', 'x-00001-of-00005.h5',
              'x-00002-of-00005.h5', 'x-00003-of-00005.h5', 'x-00004-of-00005.h5', 'x-00000-of-00513.h5', 'x-00001-of-00006.h5']
    shutil.copy('in.h5', others[0])
    with open(others[1], 'w') as file:
        file.write('a text of mine')
    os.symlink(old[1], others[2])
    shutil.copy(old[0], others[3])  # is part 1 of 4
    shutil.copy(old[0], others[4])
    label(others[4], 'part 1 of 5 of set 0123456789abcdef')
    shutil.copy(old[0], others[5])
    label(others[5], 'part 3 of 5 of set 0123456789ABCDEF')
    shutil.copy(old[0], others[6])
    label(others[6], 'part 4 of 5 of set 0123456789abcdef and more')
    os.mkdir(others[7])
    shutil.copy(old[0], others[8])
    label(others[8], 'part 1 of 513 of set 0123456789abcdef')
    shutil.copy(old[0], 'kept.h5')
    label('kept.h5', 'part 2 of 6 of set 0123456789abcdef')
    os.symlink('kept.h5', others[9])  # to what is that shard
    strangers = ['x-0000-of-00004.h5', 'x-000000-of-00004.h5', 'x-00000-of-00004.h5x', 'xx-00000-of-00004.h5', 'x-00000-of-00004',
                 'x-00000_of-00004.h5', 'x- 0000-of-00004.h5', 'X-00000-of-00004.h5']
    for name in strangers:
        shutil.copy(old[0], name)
    status, result, said = split('x.h5', 2, '--force')
    good = [status == 0, removed_and_left(result) == (old, sorted(others)), same('in.h5', 'x.h5'),
            not any(map(os.path.exists, old)), all(map(os.path.lexists, others + strangers))]
    if not ok(all(good), '--force removes it, and nothing else'):
        note(f'{good} {said} {removed_and_left(result)}')
    ok(all(entry['left_because'] for entry in result['earlier'] if not entry['removed']), 'why others are left is told')
    clear()
    os.mkdir('a b')
    split('a b/x.y.h5', 3)
    status, result, said = split('a b/x.y.h5', 2, '--force')
    ok(status == 0 and removed_and_left(result) == (shards('a b/x.y', 3), []) and
       sorted(os.listdir('a b')) == sorted([*shards('x.y', 2), 'x.y.h5']), f'in other folders, too {said}')
    split('y.h5', 2)
    status, result, _ = run(shards('y', 2)[0], '-o', 'y.h5', '--split', '3', '--force')
    ok(status == 0 and removed_and_left(result) == ([], shards('y', 2)) and all(map(os.path.exists, shards('y', 2))) and
       label(shards('y', 3)[0]).startswith('part 1 of 3 '), 'a set is left when one of its shards is split')


def test_sets():
    clear()
    with h5py.File('in.h5', 'w') as file:
        file['images'], file['labels'] = np.arange(60).reshape(20, 3), np.arange(20)
    shutil.copy('in.h5', 'other.h5')
    os.utime('other.h5', (1, 1))
    split('x.h5', 4), split('y.h5', 2), split('again.h5', 4)
    run('other.h5', '-o', 'z.h5', '--split', '4')
    four, two, other = shards('x', 4), shards('y', 2), shards('z', 4)
    ok([label(name) for name in four] == [label(name) for name in shards('again', 4)], 'the same cut of a source is the same set')
    refused('shards of two sets', f"'{four[0]}' is part 1 of 4 of one set of shards, '{two[0]}' part 1 of 2 of another: join each",
            '--join', *four, *two, '-o', 'j.h5')
    refused('of two sources', f"'{four[0]}' is part 1 of 4 of one set of shards, '{other[1]}' part 2 of 4 of another",
            '--join', four[0], other[1], *four[2:], '-o', 'j.h5')
    refused('a shard twice', f"'{four[2]}' and '{shards('again', 4)[2]}' are both part 3 of 4 of one set",
            '--join', *four, shards('again', 4)[2], '-o', 'j.h5')
    for files in ([*four, 'in.h5'], ['in.h5', *four]):
        refused('shards with another file', f"'{four[0]}' is part 1 of 4 of a set of shards, 'in.h5' is none of a set",
                '--join', *files, '-o', 'j.h5')
    status, result, _ = run('--join', *four, '-o', 'j.h5')
    with h5py.File('j.h5') as file:
        ok(status == 0 and result['absent'] == 0 and 'h5rechunk_shard' not in file.attrs and same('in.h5', 'j.h5'),
           'what is joined is no shard any more')
    status, result, _ = run('--join', *four[1:], '-o', 'k.h5')
    ok(status == 0 and result['absent'] == 1 and result['rows'] == 15, 'how many are not among them is told')
    status, result, _ = run('--join', 'j.h5', 'k.h5', '-o', 'l.h5')
    ok(status == 0 and result['absent'] == 0 and result['rows'] == 35, 'files of no set are joined')
    status, _, _ = run(four[0], '-o', 'm.h5', '--chunk', '1')
    ok(status == 0 and label('m.h5') == label(four[0]), 'a shard with other chunks is the same shard')
    refused('a folder that is not there', "cannot create 'none/x-00000-of-00002.h5': there is no folder 'none'",
            'in.h5', '-o', 'none/x.h5', '--split', '2')


def test_others():
    """What h5py made: columns side by side, and a virtual set with a hole."""
    clear(())
    for k in range(2):
        with h5py.File(f'{k}.h5', 'w') as file:
            file.create_dataset('x', data=np.arange(40).reshape(10, 4) + 100 * k, chunks=(3, 4), compression='gzip')
    layout = h5py.VirtualLayout((10, 8), 'i8')
    hole = h5py.VirtualLayout((25, 4), 'i8')
    for k in range(2):
        layout[:, 4 * k:4 * k + 4] = h5py.VirtualSource(f'{k}.h5', 'x', (10, 4))
        hole[15 * k:15 * k + 10] = h5py.VirtualSource(f'{k}.h5', 'x', (10, 4))
    with h5py.File('in.h5', 'w') as file:
        file.create_virtual_dataset('wide', layout)
        file.create_virtual_dataset('hole', hole, fillvalue=-1)
    places = {'half': [(0, 10, 0, 4, 0), (0, 10, 4, 8, 0)],  # columns of one and columns of the other, each as wide as both
              'from': [(1, 7, 0, 8, 0), (1, 4, 0, 8, 6)],  # rows that begin within chunks
              'to': [(0, 9, 0, 8, 1), (0, 9, 0, 8, 11)],  # and that come to be within some
              'end': [(0, 4, 0, 8, 0), (3, 7, 0, 8, 6)]}  # and that end within them
    for k in range(2):
        with h5py.File(f'{k}.h5', 'a') as file:
            file.create_dataset('y', data=np.arange(80).reshape(10, 8) + 1000 * k, chunks=(3, 8), compression='gzip')
    with h5py.File('in.h5', 'a') as file:
        for name, (one, two) in places.items():
            layout_of = h5py.VirtualLayout((20, 8), 'i8')
            for k, (first, end, left, right, to) in enumerate((one, two)):
                layout_of[to:to + end - first, left:right] = h5py.VirtualSource(f'{k}.h5', 'y', (10, 8))[first:end, left:right]
            file.create_virtual_dataset(name, layout_of, fillvalue=-1)
    status, _, said = run('--join', 'in.h5', '-o', 'y.h5')
    with h5py.File('in.h5' if status else 'y.h5') as file:
        good = not file['wide'].is_virtual and not file['hole'].is_virtual and file['hole'].compression == 'gzip'
    ok(status == 0 and good and same('in.h5', 'y.h5'), f'virtual datasets that others made are joined too {said}')


def test_holes():
    """Sources that have a fill value of their own, or a type."""
    clear(())
    for k in range(3):
        with h5py.File(f'{k}.h5', 'w') as file:
            x = file.create_dataset('x', (10, 4), 'i4', chunks=(5, 4), compression='gzip', fillvalue=7 + k)
            x[:5 * (k % 2)] = 1
            file.create_dataset('z', (10,), 'i4', fillvalue=7 + k)
            file.create_dataset('y', data=np.arange(40).reshape(10, 4), dtype=['>i4', '<i4', '<i2'][k], chunks=(5, 4), compression='gzip')
    with h5py.File('in.h5', 'w') as file:
        for name, dtype in ('x', 'i4'), ('y', '<i4'), ('z', 'i4'):
            layout = h5py.VirtualLayout((30, 4) if name != 'z' else (30,), dtype)
            for k in range(3):
                layout[10 * k:10 * k + 10] = h5py.VirtualSource(f'{k}.h5', name, (10, 4) if name != 'z' else (10,))
            file.create_virtual_dataset(name, layout, fillvalue=-1)
    status, _, said = run('--join', 'in.h5', '-o', 'y.h5')
    ok(status == 0 and same('in.h5', 'y.h5'), f'what sources do not hold is their fill value, and of their type {said}')
    for k in range(3):
        with h5py.File(f'{k}.h5', 'a') as file:
            del file['y']
    status, _, said = run('--join', '0.h5', '1.h5', '2.h5', '-o', 'z.h5', '--dataset', 'x')
    with h5py.File('y.h5') as y, h5py.File('z.h5') as z:
        ok(status == 0 and all((y[name][()] == z[name][()]).all() for name in 'xz'), f'of files that are joined, too {said}')


def test_classes():
    """Names of classes are none of records, though there may be as many."""
    clear(())
    with h5py.File('in.h5', 'w') as file:
        file['images'], file['labels'] = np.arange(60).reshape(20, 3), np.arange(20) % 10
        file.create_dataset('class_names', data=[f'c{k}' for k in range(10)], dtype=h5py.string_dtype())
    split('x.h5', 2)
    status, _, said = run('--join', *shards('x', 2), '-o', 'y.h5', '--dataset', 'images')
    ok(status == 0 and same('in.h5', 'y.h5'), f'names of classes, of as many as rows of a shard {said}')


def test_links():
    """Sources are looked for where HDF5 does when the virtual file is named by a link to another folder."""
    clear()
    with h5py.File('in.h5', 'w') as file:
        file['images'], file['labels'] = np.arange(60).reshape(20, 3), np.arange(20)
    for folder in 'v', 'w':
        os.mkdir(folder)
    split('v/x.h5', 3)
    os.symlink('v/x.h5', 'link.h5')
    os.symlink('../v/x.h5', 'w/link.h5')
    good = []
    for name in 'link.h5', 'w/link.h5', os.path.abspath('w/link.h5'):
        status, _, said = run('--join', name, '-o', 'y.h5', '--force')
        good.append(status == 0 and same('in.h5', 'y.h5') or said)
    ok(good == [True] * 3, f'a link to a virtual file in another folder {good}')
    name = shards('x', 3)[1]
    shutil.copy('v/' + name, name)
    with h5py.File(name, 'a') as file:
        file['labels'][:] = -5
    status, _, said = run('--join', 'w/link.h5', '-o', 'z.h5')
    with h5py.File('w/link.h5') as a, h5py.File('y.h5') as y, h5py.File('z.h5') as z:
        ok(status == 0 and (z['labels'][()] == a['labels'][()]).all() and (z['labels'][()] != y['labels'][()]).any(),
           f'one of that name in the folder where we are comes first {said}')


def test_lost():
    """Nothing that HDF5 would read as fill values, or from another place, is joined."""
    clear()
    with h5py.File('in.h5', 'w') as file:
        file['images'] = np.arange(60).reshape(20, 3)
    split('x.h5', 2)
    layout = h5py.VirtualLayout((20, 3), 'i8')
    layout[:] = h5py.VirtualSource('x.h5', 'images', (20, 3))
    with h5py.File('upper.h5', 'w') as file:
        file.create_virtual_dataset('images', layout, fillvalue=-1)
    status, _, said = run('--join', 'upper.h5', '-o', 'y.h5')
    ok(status == 0 and same('in.h5', 'y.h5'), f'sources that are virtual themselves {said}')
    os.remove('y.h5')
    os.environ['HDF5_VDS_PREFIX'] = os.path.abspath('..')
    refused('sources that HDF5 looks for elsewhere', 'HDF5_VDS_PREFIX says where', '--join', 'x.h5', '-o', 'y.h5')
    del os.environ['HDF5_VDS_PREFIX']
    name = shards('x', 2)[1]
    refused('a source of a source as output', f"'./{name}' is a source of 'upper.h5:/", '--join', 'upper.h5', '-o', './' + name, '-f')
    os.remove(name)
    refused('a source of a source that is missing', f"its source '{name}' is missing", '--join', 'upper.h5', '-o', 'y.h5')


def test_stopped():
    clear()
    make(50)
    good, n_left = True, 0
    for n in range(1, 400, 9):
        how = rng.choice(['SIGINT', 'SIGKILL', 'ENOSPC'])
        clear()
        status, _, said = run('in.h5', '-o', 'x.h5', '--split', '3', '--dataset', 'labels',
                              env={'LD_PRELOAD': shim, 'FAULT_CALL': 'write', 'FAULT_HOW': how, 'FAULT_N': str(n)})
        left = sorted(set(os.listdir('.')) - {'in.h5'})
        if status == 0:
            break
        n_left += how == 'SIGKILL'
        if any(name.endswith('.part') for name in left):
            status_again, _, said = run('in.h5', '-o', 'x.h5', '--split', '3', '--dataset', 'labels')
            good = good and status_again == 2 and 'interrupted run; --force' in said and '--resume' not in said
        good = good and (status == -9 if how == 'SIGKILL' else status in (2, 130) and left == [])
        good = good and all(name.endswith(('.part', '.part.journal')) for name in left)
        n_shards = 2 + n % 2  # what is left of the three goes, and nothing of another's
        with open('x-00001-of-00009.h5.part.journal', 'w') as f:
            f.write('mine')
        again = run('in.h5', '-o', 'x.h5', '--split', str(n_shards), '--dataset', 'labels', '--force')
        good = good and again[0] == 0 and same('in.h5', 'x.h5') and len(os.listdir('.')) == 3 + n_shards
        good = good and os.path.getsize('x-00001-of-00009.h5.part.journal') == 4
        if not good:
            note(f'{n} {how}: {status} {said} {left} {again}')
            break
    ok(good and n > 1 and n_left > 0, f'stopped {n // 9} times nothing half-written has its name; --force begins again')


test_random(150 if os.environ.get('H5PACK_LONG') else 10)
test_sizes()
test_refused()
test_earlier()
test_sets()
test_others()
test_holes()
test_classes()
test_links()
test_lost()
if os.environ.get('SANITIZERS', 'no') == 'no':
    test_stopped()
done()
