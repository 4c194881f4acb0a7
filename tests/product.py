"""What tests/product.sh runs, in a folder with photos/: files by h5pack, h5repack and h5py,
each read by all programs, and every command that is printed, run.

A file is a line of FILES. What a program prints for it is taken from its text or JSON and
carried out as it stands; a layout that was asked for is then looked up with stock HDF5's
h5dump, and the data compared with h5diff.
"""
import json
import os
import re
import shlex
import subprocess
import sys

from tap import done, equal, note, ok, skip

try:
    import h5py
    import numpy as np
except ImportError:
    h5py = None

SANITIZED = os.environ.get('SANITIZERS', 'no') != 'no'  # h5repack cannot load the plugin then
ZSTD = 32015
HURRIED = ['env', *os.environ['HURRIED'].split()]  # clocks run faster, see clock_shim.c
SUMMARIES = {}  # what h5pack printed, by file


def run(*words, status=(0,)):
    """The finished process; a status that is not expected is noted."""
    done_ = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=300)
    if status is not None and done_.returncode not in status:
        note(f'{shlex.join(map(str, words))}: status {done_.returncode}')
        note(done_.stderr or done_.stdout)
    return done_


def shell(line):
    """A command as somebody would paste it."""
    return run('sh', '-c', line)


def report(*words, status=(0,)):
    """What a program says as JSON, or None."""
    done_ = run(*words, '--json', '--quiet', status=status)
    return json.loads(done_.stdout) if done_.returncode in status and done_.stdout else None


# ------------------------------------------------------------------------------- files

def pack(name, *options, status=(0,), source='photos'):
    done_ = run('h5pack', source, *options, '-f', '-o', name, status=status)
    SUMMARIES[name] = done_.stdout
    return done_


def make_packed():
    pack('plain.h5', '--size', '64x64', '--chunk', 1)
    pack('sixteen.h5', '--size', '64x64', '--chunk', 16)
    pack('auto.h5', '--size', '24x32')
    pack('zstd.h5', '--size', '64x64', '--chunk', 4, '--compress', 'zstd')
    pack('gzip.h5', '--size', '64x64', '--chunk', 5, '--compress', 'shuffle+gzip:1')
    pack('checked.h5', '--size', '64x64', '--chunk', '3x64x40x3', '--fletcher32')
    pack('cropped.h5', '--shorter', 70, '--crop', '64x48', '--resample', 'lanczos')
    pack('planes.h5', '--size', '40x64', '--fit', 'pad', '--layout', 'nchw', '--gray', '--libver', 'earliest')
    pack('shuffled.h5', '--size', '64x64', '--shuffle', '--seed', 3, '--limit', 17, '--libver', 'latest')
    names = sorted(os.path.join(folder, name) for folder, _, names in os.walk('photos') for name in names)
    os.makedirs('spoilt')
    for i, name in enumerate(names):
        with open(name, 'rb') as f, open(f'spoilt/{i:02}{os.path.splitext(name)[1]}', 'wb') as g:
            data = f.read()
            g.write(data[:len(data) // 3] if i == 5 else data)
    pack('blank.h5', '--size', '64x64', '--on-error', 'blank', '--rejects', 'rejects.tsv', status=(1,),
         source='spoilt')
    with open('list.tsv', 'w') as f:
        f.write('path\tlabel\tweight\tnote\n')
        for i, name in enumerate(names):
            f.write(f'{name}\t{i % 3}\t{i / 4}\tpicture {i}\n')
    run('h5pack', '-q', '--list', 'list.tsv', '--size', '64x64', '-o', 'listed.h5')


def make_repacked():
    run('h5repack', '-l', 'images:CHUNK=7x64x64x3', '-f', 'images:GZIP=1', 'plain.h5', 'repacked.h5')
    run('h5repack', '-l', 'images:CONTI', 'sixteen.h5', 'flat.h5')


def make_by_h5py():
    rng = np.random.default_rng(1)
    data = (rng.integers(0, 9, (96, 48, 48, 3)) * 7).astype('u1')
    faces = rng.integers(0, 50, (110, 3, 218, 178)).astype('u1')
    for name, options in {
            'py-auto.h5': {'chunks': True, 'compression': 'gzip'},
            'py-lzf.h5': {'chunks': (8, 48, 48, 3), 'compression': 'lzf', 'shuffle': True},
            'py-flat.h5': {},
            "py it's.h5": {'chunks': (16, 48, 48, 3), 'compression': 'gzip', 'fletcher32': True}}.items():
        with h5py.File(name, 'w') as f:
            f.create_dataset('images', data=data, **options)
            f['labels'] = np.arange(96) % 7
    with h5py.File('py-faces.h5', 'w') as f:
        f.create_dataset('images', data=faces, chunks=(100, 3, 217, 178))
    with h5py.File('py-volume.h5', 'w') as f:
        f.create_dataset('scan', data=rng.random((40, 40, 40)).astype('>f4'), chunks=(16, 16, 16))
    with h5py.File('py-compact.h5', 'w') as f:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_layout(h5py.h5d.COMPACT)
        space = h5py.h5s.create_simple((20, 8, 8))
        h5py.h5d.create(f.id, b'images', h5py.h5t.NATIVE_UINT8, space, plist).write(
            h5py.h5s.ALL, h5py.h5s.ALL, np.ascontiguousarray(data[:20, :8, :8, 0]))
    layout = h5py.VirtualLayout((192, 48, 48, 3), 'u1')
    for i, part in enumerate(("py it's.h5", "py it's.h5")):  # contiguous sources have no counts
        layout[96 * i:96 * i + 96] = h5py.VirtualSource(part, 'images', (96, 48, 48, 3))
    with h5py.File('py-virtual.h5', 'w', libver=('v110', 'v110')) as f:
        f.create_virtual_dataset('images', layout)
    with h5py.File('py-link.h5', 'w') as f:
        f['images'] = h5py.ExternalLink("py it's.h5", '/images')


# name: (dataset, options of both programs that read, whether h5advise has an answer)
FILES = {
    'plain.h5': ('images', [], True),
    'sixteen.h5': ('images', [], True),
    'auto.h5': ('images', ['--crop', '20x20'], True),
    'zstd.h5': ('images', [], True),
    'gzip.h5': ('images', ['--pattern', 'block:chunks=2'], True),
    'checked.h5': ('images', [], True),
    'cropped.h5': ('images', ['--pattern', 'sequential'], True),
    'planes.h5': ('images', [], True),
    'shuffled.h5': ('images', ['--read', 'span', '--pattern', 'sequential'], True),
    'blank.h5': ('images', [], True),
    'listed.h5': ('weight', [], True),
    'repacked.h5': ('images', ['--pattern', 'block:chunks=2,local'], True),
    'flat.h5': ('images', [], True),
}
FILES_OF_H5PY = {
    'py-auto.h5': ('images', [], True),
    'py-lzf.h5': ('images', [], True),
    'py-flat.h5': ('images', [], True),
    "py it's.h5": ('images', ['--pattern', 'replacement'], True),
    'py-faces.h5': ('images', [], True),
    'py-volume.h5': ('scan', ['--box', '8x8x8', '--pattern', 'replacement'], True),
    'py-compact.h5': ('images', [], False),
    'py-virtual.h5': ('images', [], True),
    'py-link.h5': ('images', [], True),
}


# ------------------------------------------------------------------------- what is stored

def stored(path, dataset):
    """Chunk and filters of a dataset as stock h5dump prints them."""
    text = run('h5dump', '-p', '-H', '-d', f'/{dataset}', path).stdout
    chunk = re.search(r'CHUNKED \( ([0-9, ]*) \)', text)
    filters = re.search(r'FILTERS \{(.*?)FILLVALUE', text, re.S)
    words = re.findall(r'DEFLATE|SHUFFLE|FLETCHER32|LZF|FILTER_ID \d+|LEVEL \d+', filters.group(1)) if filters else []
    return [int(n) for n in chunk.group(1).split(',')] if chunk else None, words


def words_of(codec):
    """The same filters from their name in h5advise: "shuffle+gzip:4"."""
    words = []
    for name in [] if codec == 'none' else codec.split('+'):
        name, _, level = name.partition(':')
        words += {'gzip': ['DEFLATE', f'LEVEL {level}'], 'shuffle': ['SHUFFLE'], 'fletcher32': ['FLETCHER32'],
                  'zstd': [f'FILTER_ID {ZSTD}'], 'lzf': ['FILTER_ID 32000'], '32000': ['FILTER_ID 32000']}[name]
    return words


def same_data(one, two, dataset):
    if SANITIZED and f'FILTER_ID {ZSTD}' in stored(one, dataset)[1] + stored(two, dataset)[1]:
        return True  # stock HDF5 cannot load a plugin with sanitizers in it
    return run('h5diff', '-q', one, two, f'/{dataset}', f'/{dataset}').returncode == 0


# -------------------------------------------------------------------------------- reading

COUNTS = ('requests', 'hits', 'loads', 'decodes', 'fills', 'bypass_visits', 'file_reads', 'file_read_bytes',
          'wanted_bytes')


def one_count(path, dataset, read, sentence):
    """h5readbench counts what h5advise does; of data without chunks it counts reads only."""
    row = report('h5advise', f'{path}:/{dataset}', '--what-if', *read)['result']['rows'][0]
    benched = report('h5readbench', path, '-d', dataset, '--no-trial', *read)
    counts = benched['result']['epochs'][0]['counts'] if row['chunk'] else benched['measured']['epochs'][0]['read']
    keys = COUNTS if row['chunk'] else COUNTS[-3:]  # reads and bytes
    equal({k: counts[k] for k in keys}, {k: row['first_epoch_counts'][k] for k in keys}, sentence)
    return row


# Filters that nobody but h5py brings along, by file.
LACKING = {'py-lzf.h5': ['images']}


def check_lacking(path, dataset):
    """What cannot be decoded is refused by who reads it, and warned of by who does not."""
    read = run('h5readbench', path, '-d', dataset, '-q', status=(2,))
    ok(read.returncode == 2 and len(read.stderr.splitlines()) == 1 and 'lzf' in read.stderr and path in read.stderr,
       f'{path}: h5readbench names the filter that is not here')
    asked = report('h5advise', f'{path}:/{dataset}', '--no-measure')
    equal([w['value'] for w in asked['result']['warnings'] if w['id'] == 'missing-filter'], [32000],
          f'{path}: h5advise has an answer, and a warning')


def check_audit(path, dataset):
    """h5audit looks at it, and its commands are taken by who they are for."""
    audited = report('h5audit', f'{path}:/{dataset}', status=(0, 1))
    files = audited['result']['files'] if audited else []
    ok(len(files) == 1 and files[0]['failure'] is None and dataset in [d['path'] for d in files[0]['datasets']],
       f'{path}: h5audit has a verdict')
    commands = {f['command'] for file in files for f in file['findings'] if (f['command'] or '').startswith('h5rechunk ')}
    bad = [c for c in sorted(commands) if shell(f'{c} --dry-run').returncode]
    equal(bad, [], f'{path}: what h5audit prints can be run')


def check_reading(path, dataset, options, is_advised):
    """All programs read the file, and count the same for the same reads."""
    read = ['--batch', 8, '--seed', 5, '--epochs', 1, *options]
    header = run('h5dump', '-H', '-d', f'/{dataset}', path)
    ok(header.returncode == 0, f'{path}: stock HDF5 reads what it is')
    if dataset in LACKING.get(path, ()):
        return check_lacking(path, dataset)
    failed = [w for w in (0, 2) if run('h5readbench', path, '-d', dataset, '-w', w, '--consumer', 'checksum',
                                       '--no-trial', '-q', *read).returncode != 0]
    equal(failed, [], f'{path}: h5readbench reads it right in line and with two workers')
    asked = run('h5advise', f'{path}:/{dataset}', '-q', '--no-measure', '-w', 2, *read,
                status=(0,) if is_advised else (2,))
    if not is_advised:
        ok(asked.returncode == 2 and len(asked.stderr.splitlines()) == 1 and path in asked.stderr,
           f'{path}: h5advise has no advice, in one sentence')
        return
    ok(asked.returncode == 0 and max(map(len, asked.stdout.splitlines())) <= 80, f'{path}: h5advise has an answer')
    check_audit(path, dataset)
    if '--read' in options:  # what one call asks for is not what the cache sees; the bench alone checks it
        return
    row = one_count(path, dataset, [*read, '-w', 1], f'{path}: one count for one epoch')
    if not row['virtual']:  # which h5dump shows as its list of sources
        equal((row['chunk'], words_of(row['codec'])), stored(path, dataset),
              f'{path}: h5advise and h5dump see one layout')


# ------------------------------------------------------------------------------- commands

def digest(code):
    """Of what `images` holds after this code; in a process of its own, with h5py loaded."""
    test = f'{code}\nimport hashlib\nprint(hashlib.sha1(images[...].tobytes()).hexdigest())\n'
    reader, writer = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        os.dup2(writer, 1)
        status = 1
        try:
            exec(test.replace(', hdf5plugin', ''), {'__name__': '__main__'})
            sys.stdout.flush()
            status = 0
        except BaseException as e:
            note(e)
        finally:
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader) as f:
        text = f.read()
    failed = os.waitpid(pid, 0)[1] != 0
    if failed:
        note(text)
    return None if failed else text


def check_python(code, path, dataset, what):
    """Code that opens the file leaves `images`, which reads what is stored."""
    got, want = digest(code), digest(f'import h5py\nimages = h5py.File({path!r}, "r")[{dataset!r}]\n')
    ok(got and got == want, what)


def printed(path, dataset, *options):
    """The commands in the text of h5advise, and the JSON of the same question."""
    words = ['h5advise', f'{path}:/{dataset}', '--no-measure', '-w', 2, '-b', 8, '--hdf5-version', '1.10', *options]
    text, asked = run(*words, '-q', '--code', 'all').stdout, report(*words)
    commands = [line for line in text.splitlines() if re.match(r'h5[a-z]+ ', line)]
    equal(commands, [c for c in (asked['result']['code'][k].rstrip('\n') for k in ('h5pack', 'h5rechunk'))
                     if c.startswith('h5')], f'{path} {" ".join(options)}: text and JSON print the same commands')
    return commands, asked['result']


def rechunk(line):
    """Runs h5rechunk's line as it is printed; the new file, None when that fails."""
    new = shlex.split(line)[-1]
    if os.path.exists(new):
        os.remove(new)
    return new if shell(line).returncode == 0 else None


def check_commands(path, dataset, *options):
    """h5rechunk's line gives the layout that was asked for, with the same data, and all else
    as it was."""
    commands, result = printed(path, dataset, *options)
    row = result['rows'][0]
    lines = [c for c in commands if c.startswith('h5rechunk ')]
    what = f'{path} {" ".join(options)}: {lines[0] if lines else "no command"}'
    if not lines:
        ok('stays' in result['code']['h5rechunk'], what)
        return None
    new = rechunk(lines[0])
    ok(new and stored(new, dataset) == (row['chunk'], words_of(row['codec'])) and
       same_data(path, new, dataset), what)
    if new:
        others = [d for d in ('labels', 'valid') if d != dataset and f' /{d} ' in run('h5ls', '-r', path).stdout + ' ']
        equal([(stored(new, d), same_data(path, new, d)) for d in others],
              [(stored(path, d), True) for d in others], 'and leaves other datasets as they are')
    return new


def check_advice(path, dataset, *options):
    """What h5advise proposes is carried out by its own line, and not proposed again."""
    new = check_commands(path, dataset, *options)
    if not new:
        return
    again = printed(new, dataset, *options)[1]['rows'][0]
    ok(again['change'] != 'rewrite', f'{path}: what it was rewritten to is not to be rewritten: '
       f'{again["chunk"]} {again["codec"]}')


def check_pack_command(path, *options, source='photos'):
    """h5pack's line packs the same images with the chunks that were asked for."""
    commands, result = printed(path, 'images', *options)
    row = result['rows'][0]
    line = next((c for c in commands if c.startswith('h5pack ')), '')
    new = shlex.split(line)[-1] if line else 'none.h5'
    if os.path.exists(new):
        os.remove(new)
    good = line and shell(line.replace(' FOLDER', f' {source}')).returncode <= 1
    ok(good and stored(new, 'images') == (row['chunk'], words_of(row['codec'])) and
       same_data(path, new, 'images'), f'{path} {" ".join(options)}: {line}')


def check_settings(path, dataset, options):
    """The Python lines of h5advise and h5pack read the file, with the settings of the first row."""
    row = report('h5advise', f'{path}:/{dataset}', '--no-measure', '-w', 2, '-b', 8, '--keep-file',
                 '--hdf5-version', '1.10', *options)['result']
    best, code = row['rows'][0], row['code']['h5py']
    ok(best['change'] != 'rewrite', f'{path}: what keeps the file does not rewrite it')
    if 'zstd' in best['codec'] and SANITIZED:
        return skip('stock HDF5 cannot load a plugin with sanitizers in it')
    check_python(code + 'a = images.id.get_access_plist().get_chunk_cache()\n'
                 f'assert not images.chunks or a == ({best["rdcc_nslots"]}, {best["rdcc_nbytes"]}, '
                 f'{best["rdcc_w0"]}), a\n',
                 path, dataset, f'{path}: the h5py code reads it, with the cache of the first row')


def check_summary(path):
    """What h5pack prints at its end runs; the file is as it says."""
    lines = [line[2:] for line in SUMMARIES[path].splitlines()]
    code = '\n'.join(lines[lines.index(next(x for x in lines if x.startswith('import h5py'))):])
    commands = re.findall(r'# (h5advise .*)', code)
    equal(len(commands), 1, f'{path}: h5pack prints the call of h5advise that measures')
    for command in commands:
        equal(shell(f'{command} --no-measure -q').returncode, 0, f'which runs: {command}')
    if h5py and not ('zstd' in code and SANITIZED):
        check_python(code, path, 'images', f'{path}: and Python that reads it')


def check_torch(path):
    python = os.environ.get('TORCH_PYTHON', sys.executable)
    if run(python, '-c', 'import torch, h5py', status=None).returncode != 0:
        return skip('no Python with PyTorch and h5py (TORCH_PYTHON names one)')
    for pattern in ('shuffle', 'block:chunks=2', 'block:chunks=2,local'):
        code = report('h5advise', f'{path}:/images', '--no-measure', '-w', 2, '-b', 8, '-p', pattern,
                      '--keep-file')['result']['code']['pytorch']
        code += '''
if __name__ == '__main__':
    import torch
    n = sum(len(batch) for batch in loader)
    again = torch.cat(list(loader))
    whole = h5py.File(images.path, 'r')['images'][...]
    a, b = (sorted(x.tobytes() for x in y) for y in (again.numpy(), whole))
    print(n == len(whole) and a == b)
'''
        with open('loader.py', 'w') as f:
            f.write(code)
        equal(run(python, '-W', 'ignore', 'loader.py').stdout, 'True\n',
              f'{path}: the PyTorch code gives every sample once, {pattern}')
    return check_torch_samples(python, path)


IN_LOADER = """
if __name__ == '__main__':
    import torch
    seen = torch.cat(list(loader)).numpy()
    whole = h5py.File(images.path, 'r')['images'][...]
    def is_crop(a, b):
        return any((a[y:y + 16, x:x + 24] == b).all() for y in range(49) for x in range(41))
    print(bool(LAW))
"""


def check_torch_samples(python, path):
    """Draws, crops and windows are those that were asked about."""
    with open('weights.txt', 'w') as f:
        f.write('0\n' * 23 + '1\n')
    for options, law in (
            (['-p', 'weighted:by=weights.txt'], 'len(seen) == 24 and (seen == whole[-1]).all()'),
            (['-p', 'replacement'], 'len(seen) == 24 and all((whole == s).all((1, 2, 3)).any() for s in seen)'),
            (['-p', 'sequential', '--crop', '16x24'], 'len(seen) == 24 and all(map(is_crop, whole, seen))'),
            (['-p', 'sequential', '--box', '3x64x64x3', '--step', '2'],
             'len(seen) == 11 and all((s == whole[2 * i:2 * i + 3]).all() for i, s in enumerate(seen))')):
        code = report('h5advise', f'{path}:/images', '--no-measure', '-w', 2, '-b', 8, *options,
                      '--keep-file')['result']['code']['pytorch']
        with open('loader.py', 'w') as f:
            f.write(code + IN_LOADER.replace('LAW', law))
        equal(run(python, '-W', 'ignore', 'loader.py').stdout, 'True\n',
              f'{path}: the PyTorch code does what was asked about, {" ".join(options)}')
    return None


def check_proposals(path, dataset, *options):
    """What h5readbench calls worth most is taken by h5readbench."""
    words = ['h5readbench', path, '-d', dataset, '--no-trial', '--seed', 1, '-b', 4, '-e', 2, *options]
    changes = report(*words)['measured']['advice']
    ok(changes, f'{path} {" ".join(options)}: h5readbench proposes something')
    for change in changes:
        command, file = change['command'], path
        if command.startswith('h5rechunk '):
            line, _, command = command.partition(', then run again')
            file = rechunk(line)
            ok(file and same_data(path, file, dataset), f'rewritten: {line}')
        given = shlex.split(command[command.index('--'):]) if '--' in command else []
        equal(run(words[0], file, *words[2:], *given, '-q').returncode, 0, f'taken: {command}')


# --------------------------------------------------------------------- written by one, read by others

def check_exchange():
    with open('trace.tsv', 'w') as f:
        for i in (3, 9, 4, 3, 15, 0):
            f.write(f'{i}\t0\t0\t0\t1\t64\t64\t3\n')
    one_count('gzip.h5', 'images', ['-p', 'trace:trace.tsv', '-w', 1, '-b', 1, '-e', 1],
              'a trace is one for both programs')
    with open('weights', 'w') as f:
        f.write('1\n' * 20 + '5\n' * 4)
    one_count('gzip.h5', 'images', ['-p', 'weighted:by=weights', '-w', 1, '-b', 8, '-e', 1, '--seed', 2],
              'so are weights')
    for path, source in ('plain.h5', 'photos'), ('repacked.h5', 'photos'), ('flat.h5', 'photos'), \
            ('cropped.h5', 'photos'), ('shuffled.h5', 'photos'), ('planes.h5', 'photos'), ('blank.h5', 'spoilt'):
        verified = run('h5pack', source, '--verify', '-o', path, status=(0, 1))
        ok(verified.returncode == (1 if path == 'blank.h5' else 0) and 'compared, all are' in verified.stdout,
           f'{path}: h5pack decodes again what it wrote, rewritten or not')
    verified = run('h5pack', '--list', 'list.tsv', '--verify', '-o', 'listed.h5')
    ok('24 of 24 images compared, all are' in verified.stdout, 'listed.h5: and from a list')
    again = run('h5pack', '--list', 'rejects.tsv', 'spoilt', '--size', '64x64', '-o', 'none.h5', status=(2,))
    ok(again.returncode == 2 and '05.' in again.stderr and not os.path.exists('none.h5'),
       'the list of rejects is a list, of which nothing can be packed')
    numbered = run('h5pack', '-q', 'photos', '--size', '8x8', '--classes', 'plain.h5', '--limit', 4, '-o', 'val.h5')
    ok(numbered.returncode == 0 and same_data('plain.h5', 'val.h5', 'class_names'),
       'classes are numbered by a file that was packed')
    rates = [report(*HURRIED, 'h5readbench', 'plain.h5', 'repacked.h5', '-w', w, '-b', 8)['result'] for w in (0, 2)]
    ok(all(r['epoch_samples'] == 48 and r['check']['different'] == 0 for r in rates),
       'files of different layouts are one dataset')
    read = run('h5readbench', 'blank.h5', '--with', 'valid', '-w', 2, '--consumer', 'checksum', '--no-trial')
    asked = run('h5advise', 'blank.h5', '--with', 'valid', '--no-measure', '-q')
    ok(read.returncode == asked.returncode == 0, 'what says which images are black is read in step')


def check_measured():
    """By default h5advise measures; what it learnt of the machine is a profile for others."""
    cache = os.environ.get('XDG_CACHE_HOME', '')
    asked = report(*HURRIED, 'h5advise', 'plain.h5', '-w', 2, '-b', 8)
    best = asked['result']['rows'][0]
    ok(asked['measured'] and (best['change'] == 'none' or best['gain_low'] >= 1),
       'plain.h5: with what was measured nothing is recommended that may be a loss')
    text = ' '.join(run(*HURRIED, 'h5advise', 'sixteen.h5', '-w', 2, '-b', 8, '-q', '--keep-file').stdout.split())
    ok(text.startswith('BEST ') or text.startswith('KEEP ') and
       re.search(r'nothing that was tried is faster|pays from|may be a loss', text),
       'sixteen.h5: what is kept is kept for a reason that is told')
    folder = os.path.join(cache, 'h5pack')
    kept = [os.path.join(folder, name) for name in os.listdir(folder)] if os.path.isdir(folder) else []
    ok(kept, 'the processor is kept as a profile')
    for profile in kept[:1]:
        asked = report('h5advise', 'plain.h5', '--storage', profile, '-w', 2)
        ok(asked and asked['measured'] is None, 'which is a storage to ask about')


WHAT_IF = (('--what-if', '--chunk', '6x64x64x3', '--compress', 'gzip:3'),
           ('--what-if', '--chunk', '1x64x32x3', '--compress', 'shuffle+gzip:1'),
           ('--what-if', '--chunk', '24x64x64x3', '--compress', 'none'),
           ('--what-if', '--chunk', '2x64x64x3', '--compress', 'zstd:3'))


def main():
    make_packed()
    make_repacked()
    files = dict(FILES)
    if h5py:
        make_by_h5py()
        files.update(FILES_OF_H5PY)
    else:
        skip('there is no h5py here: no files of its making')
    for path, (dataset, options, is_advised) in files.items():
        check_reading(path, dataset, options, is_advised)
    for path in 'zstd.h5', 'checked.h5', 'flat.h5', 'blank.h5':
        for options in WHAT_IF:
            check_commands(path, 'images', *options)
    for path, options in ('plain.h5', WHAT_IF[1]), ('zstd.h5', WHAT_IF[2]), ('shuffled.h5', WHAT_IF[3]):
        check_pack_command(path, *options)
    check_pack_command('cropped.h5', '--what-if', '--chunk', '3x64x48x3', '--compress', 'gzip:2')
    check_pack_command('planes.h5', '--what-if', '--chunk', '3x1x40x64', '--compress', 'none')
    check_pack_command('blank.h5', *WHAT_IF[0], source='spoilt')
    for path in 'sixteen.h5', 'zstd.h5', 'auto.h5', 'py-auto.h5', "py it's.h5", 'py-faces.h5', 'py-volume.h5':
        if path in files:
            dataset, options, _ = files[path]
            check_advice(path, dataset, *options)
            check_commands(path, dataset, '--min-gain', '1', *options)
            if h5py:
                check_settings(path, dataset, options)
    for path in SUMMARIES:
        check_summary(path)
    check_torch('zstd.h5' if not SANITIZED else 'gzip.h5')
    check_proposals('gzip.h5', 'images', '--rdcc-nbytes', '4K')
    check_exchange()
    check_measured()
    done()


main()
