"""What tests/advise.sh runs: TAP on standard output, in an empty folder."""
import json
import os
import re
import resource
import subprocess
import sys
import types

man = sys.argv[1]
count = failed = 0


def ok(passed, sentence):
    global count, failed
    count += 1
    failed += not passed
    print(f"{'ok' if passed else 'not ok'} {count} - {sentence}", flush=True)


def skip(reason):
    global count
    count += 1
    print(f'ok {count} # SKIP {reason}', flush=True)


def note(text):
    print('# ' + str(text).replace('\n', '\n#   '), flush=True)


def run(*args):
    done = subprocess.run(args, capture_output=True, text=True)
    if done.returncode:
        note(done.stderr)
    return done


def advise(*args):
    done = run('h5advise', '--quiet', '--json', *args)
    return json.loads(done.stdout) if done.returncode == 0 else None


def warning(report, name):
    return next((w for w in report['result']['warnings'] if w['id'] == name), None)


GIB = 1 << 30
recipe = ['--shape', '202599x3x218x178', '--chunk', '100x3x217x178', '--rdcc-nbytes', '1G',
          '--rdcc-nslots', '11213', '--rdcc-w0', '1', '--ram', '16G', '--cpus', '4']


def test_recipe():
    report = advise(*recipe)
    ok(report and report['schema'] == 'advise/1', 'the well-known recipe is judged')
    now, best = report['result']['now'], report['result']['rows'][0]
    data = 202599 * 3 * 218 * 178
    ok(abs(now['file_bytes'] / data - 2 * 217 / 218) < 0.01,
       f"its file is {now['file_bytes'] / data:.2f} times the data")
    ok(now['requests_per_sample'] == 2, 'each image lies in two chunks')
    ok(warning(report, 'chunk-overhang') and warning(report, 'chunk-overhang')['value'] > 1.98,
       'the overhang is warned of')
    w0 = warning(report, 'w0-one')
    ok(w0 and w0['value'] > 40 * GIB,
       f"w0 = 1 lets a cache of 1 GiB grow to {w0['value'] / GIB:.1f} GiB")
    ok(not now['fits'], 'which does not fit in the memory there is')
    text = ' '.join(run('h5advise', '-q', *recipe).stdout.split())
    ok('more than there is' in text, 'as the text says too')
    ok(best['samples_per_s'] > 3 * now['samples_per_s'],
       f"the choice reads {best['samples_per_s'] / now['samples_per_s']:.1f} times as fast")
    for key in 'read_bytes_per_sample', 'memory_bytes', 'file_bytes', 'requests_per_sample':
        ok(best[key] < now[key], f'and has less {key}: {best[key]:.6g} against {now[key]:.6g}')
    ok(best['randomness'] > 0.99, 'with an order as random')
    ok(best['is_exact'] and now['is_exact'], 'both are simulated read by read')


def test_search():
    args = ['--shape', '100000x64x64x3', '-w', '4', '--cpus', '4', '--ram', '1G']
    one, two = run('h5advise', *args), run('h5advise', *args)
    ok(one.stdout and one.stdout == two.stdout, 'the same question has the same answer')
    ok(max(map(len, one.stdout.splitlines())) <= 80, 'which fits 80 columns')
    report = advise(*args)
    search = report['result']['search']
    ok(search['bounded'] + search['sampled'] == search['candidates'],
       'every candidate is bounded or simulated')
    rows = report['result']['rows']
    random = max(row['randomness'] for row in rows)
    rates = [r['samples_per_s'] for r in rows if r['randomness'] >= 0.9 * random]
    ok(rows[0]['samples_per_s'] >= 0.95 * max(rates),
       'the choice is within 5 % of the fastest of the random orders')
    more = advise(*args, '--memory', '8G')['result']['rows']
    ok(max(r['samples_per_s'] for r in more) >= 0.99 * max(r['samples_per_s'] for r in rows),
       'with more memory there is nothing worse to be had')
    whatif = advise(*args, '--what-if', '--chunk', '1x64x64x3')['result']
    ok(len(whatif['rows']) == 1 and whatif['rows'][0]['chunk'] == [1, 64, 64, 3],
       '--what-if evaluates one configuration')
    row = whatif['rows'][0]
    total = row['later_counts']
    ok(total['hits'] + total['loads'] + total['fills'] + total['bypass_visits'] ==
       total['requests'], 'whose counts add up')
    alone = advise(*args, '-e', '1', '-w', '1', '--what-if', '--chunk', '1x64x64x3',
                   '--rdcc-nbytes', '0')['result']['rows'][0]
    ok(alone['read_bytes_per_sample'] == 64 * 64 * 3 and alone['loads_per_sample'] == 1,
       'without a cache a whole sample is one read of its bytes')


def test_versions():
    args = ['--shape', '20000x224x224x3', '-p', 'shuffle', '--what-if', '-c', '32x224x224x3']
    old = advise(*args, '--hdf5-version', '1.10')['result']
    new = advise(*args, '--hdf5-version', '2.0')['result']
    a, b = old['rows'][0], new['rows'][0]
    ok(a['amplification'] == 1 and b['amplification'] > 25,
       'chunks of 4.6 MiB: 1.x reads what is wanted, 2.0 whole chunks')
    cliff = next(w for w in old['warnings'] if w['id'] == 'bypass-cliff')
    ok(cliff['value'] > 5, f"the cliff is {cliff['value']:.0f}-fold and warned of")


def test_uncompared():
    args = ['--shape', '1000x64x64x3', '-c', '1x64x64x3', '--what-if', '--hdf5-version']
    new, old = (' '.join(run('h5advise', '-q', *args, v).stdout.split()) for v in ('2.2.0', '2.1.1'))
    ok('HDF5 2.2.0: counts are those of 2.1 and may differ by a few loads' in new and
       'exact' not in new, 'HDF5 2.2 is named as one that nobody has compared')
    ok('Counts are exact for HDF5 2.1.1' in old, 'HDF5 2.1 is not')


def test_crop_cause():
    args = ['--shape', '1000x3x64x64', '-c', '1x1x64x64', '--what-if', '-p', 'shuffle',
            '--rdcc-nbytes', '0']
    whole, crop = (' '.join(run('h5advise', '-q', *a).stdout.split())
                   for a in (args, [*args, '--crop', '60x60']))
    ok('Chunks cut through samples' in whole and 'cut through' not in crop and
       'Each read of 10.5 KiB lies in 3 chunks' in crop, 'reads in part are not cut samples')


def test_slots():
    row = advise('--shape', '40x100x100', '-p', 'shuffle', '-w', '1', '-b', '1', '-c',
                 '1x20x20', '--memory', '1G', '--ram', '0')
    loads = [r['later_counts']['loads'] for r in row['result']['rows'] if r['is_user']]
    ok(loads and min(loads) == 0, '25 chunks a sample, all of them held: nothing collides')


def test_user_shapes():
    shapes = ['1x1x64x3', '3x64x64x3', '5x64x64x3', '7x64x64x3', '9x64x64x3', '11x64x64x3',
              '13x64x64x3', '3000x64x64x3', '2x33x64x3', '6x64x64x1', '17x64x64x3', '19x64x64x3']
    args = ['--shape', '20000x64x64x3', '--rdcc-w0', '0.5']
    report = advise(*args, *(word for shape in shapes for word in ('-c', shape)))
    rows = ['x'.join(map(str, r['chunk'])) for r in report['result']['rows'] if r['is_user']]
    ok(sorted(set(rows)) == sorted(shapes), 'twelve shapes that are asked about are in the table')
    done = subprocess.run(['h5advise', *args, *['-c', '1x64x64x3'] * 13],
                          capture_output=True, text=True)
    ok(done.returncode == 2 and 'up to 12' in done.stderr, 'a thirteenth is refused in words')


def test_no_chunks():
    """Contiguous data is asked about as chunks are."""
    args = ['--shape', '20000x64x64x3', '--cpus', '2', '--ram', '16G']
    rows = advise(*args, '-c', 'none', '-c', '8x64x64x3', '--rdcc-nbytes', '1M')['result']['rows']
    asked = [r['chunk'] for r in rows if r['is_user']]
    ok(None in asked and [8, 64, 64, 3] in asked, f'-c none is in the table: {asked}')
    ok(next(r for r in rows if r['is_now'])['chunk'] is None, 'and is what today is, where it comes first')
    alone, none = (advise(*args, '--what-if', *words)['result']['rows'][0] for words in ([], ['-c', 'none']))
    ok(alone == none and none['chunk'] is None, 'without any, --what-if asks the same')
    try:
        import h5py
    except ImportError:
        return skip('there is no h5py here')
    with h5py.File('gz.h5', 'w') as f:
        f.create_dataset('images', (200, 64, 64, 3), 'u1', chunks=(8, 64, 64, 3), compression='gzip')[:] = 1
    what = advise('gz.h5', '--no-measure', '--what-if', '-c', 'none')['result']['rows'][0]
    ok(what['chunk'] is None and what['codec'] == 'none' and what['file_bytes'] == 200 * 64 * 64 * 3,
       'of compressed chunks it is not compressed')


def test_no_loss():
    best = advise('--shape', '20000x224x224x3', '-c', '1x224x224x3', '--rdcc-nbytes', '0',
                  '--ram', '16G')['result']
    row = best['rows'][0]
    ok(row['is_now'] and row['change'] == 'none', 'what cannot be bettered by 15 % stays')
    ok('stays' in best['code']['h5rechunk'] and 'stays' in best['code']['h5pack'],
       'and nothing is to be written')
    text = run('h5advise', '-q', '--shape', '20000x224x224x3', '-c', '1x224x224x3',
               '--rdcc-nbytes', '0', '--ram', '16G').stdout
    ok(text.startswith('KEEP ') and 'as it is today' in text.splitlines()[1],
       'the text begins with it')
    args = ['--shape', '50000x32x32x3', '-c', '64x32x32x3', '--rdcc-nbytes', '1M', '--ram', '12G',
            '--cpus', '2', '--hdf5-version', '1.10', '-p', 'shuffle']
    result = advise(*args)['result']
    ok(result['rows'][0]['change'] == 'settings' and
       result['rows'][0]['samples_per_s'] > 1.05 * result['now']['samples_per_s'],
       'where another cache is as good as other chunks, the file stays')
    ok('memory-times-workers' in [w['id'] for w in result['choice_warnings']],
       'what the choice is to be warned of is told')
    ok(warning({'result': result}, 'memory-times-workers') is None,
       'apart from what today is')


def test_unwritten():
    """Nothing is read of what was never written, and nobody has to write it anew."""
    try:
        import h5py
    except ImportError:
        return skip('there is no h5py here')
    for name, layout in (('never.h5', {}), ('neverc.h5', {'chunks': (16, 64, 64, 3)})):
        with h5py.File(name, 'w') as f:
            f.create_dataset('images', (600, 64, 64, 3), 'u1', **layout)
            f.create_dataset('labels', (600,), 'i8')
        asked = name + ':/images', '-w', '0', '--with', 'labels'
        text = run('h5advise', '-q', *asked, *(['--no-measure'] if layout else [])).stdout
        result = advise(*asked, '--no-measure')['result']
        ok({r['change'] for r in result['rows']} <= {'none', 'settings', 'order'} and 'Nothing of it was ever' in text,
           f'{name}: only settings and orders are looked for')
        now = result['now']
        ok(now['loads_per_sample'] == now['read_bytes_per_sample'] == 0 and 'missing-chunks' in
           [w['id'] for w in result['warnings']], f'{name}: nothing comes from the file, which is told')
        asked = advise(name + ':/images', '-w', '0', '--no-measure', '-c', '8x64x64x3')['result']['rows']
        ok('rewrite' in {r['change'] for r in asked}, f'{name}: chunks that are asked about are in the table')
    bench = json.loads(run('h5readbench', '-q', '--json', 'never.h5:/images', '-e', '3').stdout)
    ok(not [c for c in bench['measured']['advice'] if 'h5rechunk' in json.dumps(c)],
       'h5readbench proposes none either')


def test_epochs():
    args = ['--shape', '50000x32x32x3', '-c', '64x32x32x3', '--rdcc-nbytes', '160M',
            '--rdcc-nslots', '7919', '--what-if', '-p', 'shuffle', '--ram', '4G', '--cpus', '2']
    stay, end = advise(*args), advise(*args, '--no-persistent-workers')
    a, b = stay['result']['rows'][0], end['result']['rows'][0]
    ok(stay['options']['epochs'] == 30 and stay['options']['persistent_workers'] and
       not end['options']['persistent_workers'], 'a training is 30 epochs of workers that stay')
    chunks = 782
    ok(a['later_counts']['loads'] == 0 and b['later_counts']['loads'] == 2 * chunks,
       'workers that end load all chunks again in each of two epochs')
    mean = 30 / (1 / a['first_epoch_samples_per_s'] + 29 / a['later_epochs_samples_per_s'])
    ok(abs(a['samples_per_s'] - mean) < 1e-6 * mean, 'the rate is that of the whole training')
    ok('persistent_workers=True' in stay['result']['code']['pytorch'] and
       'persistent_workers=False' in end['result']['code']['pytorch'] and
       'persistent_workers' not in advise(*args, '-w', '0')['result']['code']['pytorch'],
       'the PyTorch code says so, where there are workers')
    text = run('h5advise', '-q', *args, '--no-persistent-workers').stdout
    ok('end with each epoch' in text and '30 epochs; the first ' in text, 'and so does the text')


def test_chart():
    args = ['--shape', '20000x224x224x3', '-p', 'shuffle', '--ram', '16G', '--hdf5-version', '1.10']
    report, text = advise(*args), run('h5advise', '-q', *args, '--svg', 'map.svg').stdout
    cells = report['result']['map']
    ok(max(map(max, cells['hit_rate'])) < 0.1 and 'samples/s of later epochs, by' in text,
       'where nothing is ever hit the chart shows samples/s')
    first = next(line for line in text.splitlines() if line.strip().startswith('256K'))
    ok(float(first.split()[1].rstrip('K')) == round(cells['samples_per_s'][0][0] / 1e3),
       f'as JSON has them: {first.strip()}')
    ok('Samples/s' in open('map.svg').read(), 'and the picture')
    text = run('h5advise', '-q', '--shape', '5000x64x64x3', '-p', 'shuffle', '--ram', '16G').stdout
    ok('hit rate, 0 to 9 tenths' in text, 'hit rates where there are some')


def test_orders():
    """Block shuffles are tried: from one pool for one worker, worker-local for several."""
    args = ['--shape', '200000x32x32x3', '-c', '64x32x32x3', '--rdcc-nbytes', '1M', '--cpus', '8',
            '--hdf5-version', '1.10', '--storage']
    one = advise(*args, 'hdd', '-w', '1', '--ram', '200M')['result']['rows']
    kinds = {r['order'].split()[0] for r in one}
    ok('block' in kinds and 'local' not in kinds, f'one worker has one pool: {sorted(kinds)}')
    for storage, ram in ('hdd', '200M'), ('nfs', '200M'):
        best = advise(*args, storage, '-w', '8', '--ram', ram)['result']['rows'][0]
        ok(best['order'].startswith('local ') and best['randomness'] > 0.85,
           f"eight on {storage}: {best['order']}, {best['randomness']:.2f} random")
    judge = ['--shape', '8000x8x8', '--what-if', '-c', '20x8x8', '-w', '8', '-e', '1',
             '--hdf5-version', '1.10', '--rdcc-nbytes', '1M', '-b', '50', '-p']
    plain, local = (advise(*judge, f'block:chunks=20{more}')['result']['rows'][0]
                    for more in ('', ',local'))
    ok(local['first_epoch_counts']['loads'] == 50 and local['worker_samples_per_epoch'] == 1000,
       'worker 0 of 8 loads an eighth of 400 chunks')
    ok(plain['first_epoch_counts']['loads'] > 300, 'where one pool for all has it load most')
    ok(abs(plain['randomness'] - local['randomness']) < 0.05, 'at equal randomness')
    plain, local = (advise(*judge, f'block:chunks=400{more}')['result']['rows'][0]
                    for more in ('', ',local'))
    ok(plain['randomness'] > 0.98 and local['randomness'] < 0.97,
       f"which ends where a worker has no more chunks: {local['randomness']:.3f}")


def test_target():
    args = ['--shape', '50000x64x64x3', '-p', 'shuffle', '--cpus', '8', '--ram', '1G',
            '--hdf5-version', '1.10', '-e', '3', '--storage', 'nfs']
    args += ['--what-if', '-c', '1x64x64x3']
    one = advise(*args, '-w', '1', '--target', '20000')['result']
    n = one['target']['workers']
    rates = [advise(*args, '-w', str(w))['result']['rows'][0]['samples_per_s']
             for w in (max(n - 1, 1), n)]
    ok(not one['target']['is_reached'] and n > 2 and rates[0] < 20000 <= rates[1],
       f'{n} workers reach the target, one less does not: {rates}')
    ok(abs(rates[1] - one['target']['workers_samples_per_s']) < 1e-6 * rates[1],
       'and the rate is what --workers prints')
    again = advise(*args, '-w', '2', '--target', '20000')['result']
    ok(again['target']['workers'] == n, 'whatever number the question begins with')


def test_limits():
    if os.environ.get('SANITIZERS', 'no') != 'no':
        return skip('sanitizers slow it down')
    report = advise('--shape', '1281167x224x224x3', '-b', '256', '-w', '8', '-e', '3')
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    visits = report['result']['search']['visits']
    ok(visits < 20e6, f'ImageNet is searched with {visits / 1e6:.1f} million visits of chunks')
    ok(after.ru_maxrss < 300 * 1024, f'and {after.ru_maxrss / 1024:.0f} MiB')


STUB = '''
class Dataset: pass
class Sampler: pass
class DistributedSampler: pass
class DataLoader:
    def __init__(self, dataset, batch_size=1, num_workers=0, shuffle=False, sampler=None,
                 persistent_workers=False):
        self.dataset, self.batch_size = dataset, batch_size
        self.order = list(sampler) if sampler is not None else list(range(len(dataset)))
    def __iter__(self):
        for i in range(0, len(self.order), self.batch_size):
            yield [self.dataset[k] for k in self.order[i:i + self.batch_size]]
'''


def test_code():
    try:
        import h5py
        import numpy
    except ImportError:
        return skip('there is no h5py here')
    data = numpy.random.default_rng(1).integers(0, 50, (500, 32, 32, 3)).astype('u1')
    with h5py.File("it's.h5", 'w') as f:
        f.create_dataset('images', data=data, chunks=(7, 32, 32, 3), compression='gzip')
        f['labels'] = numpy.arange(500) // 50
    for name in 'torch', 'torch.utils', 'torch.utils.data':
        sys.modules[name] = types.ModuleType(name)
    exec(STUB, sys.modules['torch.utils.data'].__dict__)
    report = advise("it's.h5:/images", '--with', '/labels', '-p', 'block:chunks=4', '-w', '2',
                    '-c', '8x32x32x3', '--no-measure')
    mixing = [advise("it's.h5:/images", '--with', '/labels', '-p', p, '-w', '2', '--what-if')
              ['result']['rows'][0]['class_mixing'] for p in ('sequential', 'shuffle')]
    ok(mixing[0] < 0.5 and mixing[1] > 0.95, f'shuffling mixes the classes of labels: {mixing}')
    code = report['result']['code']
    if "'new.h5'" in code['h5py']:  # it is for the file that is to be written first
        subprocess.run(code['h5rechunk'], shell=True, check=True, capture_output=True)
    space = {}
    exec(code['h5py'].replace(', hdf5plugin', ''), space)
    same = all((space['images'][i] == data[i]).all() for i in (0, 3, 499))
    ok(same, 'the h5py code runs and reads')
    space['f'].close()
    space = {}
    exec(code['pytorch'].replace(', hdf5plugin', ''), space)
    batches = list(space['loader'])
    seen = [tuple(sample.ravel()[:64]) for batch in batches for sample in batch]
    want = [tuple(sample.ravel()[:64]) for sample in data]
    ok(sorted(seen) == sorted(want), 'the PyTorch code gives every sample once')
    ok(seen != want, 'in another order')
    ok('persistent_workers=True' in code['pytorch'], 'by workers that stay')
    block = space['BlockShuffle'](100, 8, 2)
    first, second = list(block), list(block)
    ok(sorted(first) == sorted(second) == list(range(100)) and first != second,
       'block shuffle is a new permutation in each epoch')
    ok(len({i // 8 for i in first[:16]}) == 2, 'that draws from as many chunks as the pool has')
    ranks = [list(space['BlockShuffle'](100, 8, 2, rank, 3)) for rank in range(3)]
    ok([len(r) for r in ranks] == [34] * 3 and
       sorted(set(sum(ranks, []))) == list(range(100)) and
       [r[0] for r in ranks] == first[:3] and ranks[1][33] == first[0],
       'dealt to ranks and padded as DistributedSampler does')
    chunk = report['result']['rows'][0]['chunk']
    if chunk and 'zstd' not in report['result']['rows'][0]['codec']:
        os.unlink('new.h5')
        done = subprocess.run(code['h5rechunk'], shell=True, capture_output=True, text=True)
        with h5py.File('new.h5') as f:
            ok(done.returncode == 0 and list(f['images'].chunks) == chunk,
               'the h5rechunk command makes those chunks')
    else:
        skip('h5py reads no zstd')


def rewritten(file, name, *how):
    """What the command that is printed for a layout makes of a file: new.h5, opened."""
    if os.path.exists('new.h5'):
        os.remove('new.h5')
    import h5py
    report = advise(f'{file}:/{name}', '--what-if', '--no-measure', *how)
    command = report['result']['code']['h5rechunk'].replace('python3 <<', f'{sys.executable} <<')
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    if done.returncode:
        note(f'{command}\n{done.stderr}')
    return h5py.File('new.h5')


def test_rewrite():
    """Commands that write a file anew work when pasted, whatever the dataset is called."""
    try:
        import h5py
        import numpy
    except ImportError:
        return skip('there is no h5py here')
    data = numpy.random.default_rng(3).integers(0, 20, (64, 8, 8), 'u1')
    names = ['images', 'my, data', 'a:b', 'two words', "it's", 'group/of, some', 'a\\b', '$HOME']
    with h5py.File('odd names.h5', 'w') as f:
        for name in names:
            f.create_dataset(name, data=data, chunks=(3, 8, 8), maxshape=(None, 8, 8))
            f[name].attrs['unit'] = name
        f['group'].attrs['made'] = 'here'
        f.attrs['version'] = 7
    for name in names:
        new = rewritten('odd names.h5', name, '-c', '5x8x4', '--compress', 'shuffle+gzip:2')
        with new:
            made = new[name]
            ok(made.chunks == (5, 8, 4) and made.shuffle and made.compression_opts == 2 and
               made.maxshape == (None, 8, 8) and (made[:] == data).all(),
               f'{name}: the command makes those chunks and filters')
            others = [f for f in names if f != name]
            ok(all(new[f].chunks == (3, 8, 8) and not new[f].compression for f in others),
               'of that dataset alone')
            ok(made.attrs['unit'] == name and new.attrs['version'] == 7 and
               new['group'].attrs['made'] == 'here' and
               all((new[other][:] == data).all() and new[other].attrs['unit'] == other
                   for other in names), 'and copies all else')


    for name in 'images', 'my, data':  # and back
        os.replace('new.h5', 'odd names.h5')
        new = rewritten('odd names.h5', name, '-c', '4x8x8', '--compress', 'none')
        with new:
            ok(new[name].chunks == (4, 8, 8) and not new[name].compression and
               not new[name].shuffle and (new[name][:] == data).all(),
               f'{name}: and without filters')
    with h5py.File('shown.h5', 'w', libver='latest') as f:
        layout = h5py.VirtualLayout((64, 8, 8), 'u1')
        layout[:] = h5py.VirtualSource('odd names.h5', 'images', (64, 8, 8))
        f.create_virtual_dataset('shown', layout)
        f['linked'] = h5py.ExternalLink('odd names.h5', '/images')
        f['shown'].attrs['unit'] = 1
    for name in 'shown', 'linked':  # what h5rechunk leaves to Python
        with rewritten('shown.h5', name, '-c', '5x8x4', '--compress', 'gzip:2') as new:
            ok(new[name].chunks == (5, 8, 4) and new[name].compression_opts == 2 and
               not new[name].is_virtual and (new[name][:] == data).all(),
               f'{name}: what is in another file is written into one')


def blocks(page, language):
    """The .EX blocks of a manual page that begin with a comment naming the language."""
    text = open(os.path.join(man, page)).read()
    for block in re.findall(r'^\.EX\n(.*?)^\.EE', text, re.S | re.M):
        block = block.replace('\\-', '-').replace('\\(aq', "'").replace('\\e', '\\')
        block = block.replace('\\&', '')
        if block.startswith('# ' + language):
            yield block


def test_trace():
    try:
        import h5py
        import numpy
    except ImportError:
        return skip('there is no h5py here')
    with h5py.File('trained.h5', 'w') as f:
        f.create_dataset('images', data=numpy.zeros((50, 8, 8), 'u1'), chunks=(5, 8, 8))
    wrapper = list(blocks('h5advise.1', 'Python: records'))
    ok(len(wrapper) == 1 and wrapper[0].count('\n') <= 16, 'the manual has a recorder')
    space = {}
    exec(wrapper[0], space)
    with h5py.File('trained.h5') as f:
        images = space['Recorder'](f['images'], 'trace.tsv')
        for i in 3, 14, 15, 9, 2, 6:
            images[i]
        images[10:20, 2:4]
        images.log.close()
    lines = [line.split('\t') for line in open('trace.tsv').read().splitlines()]
    ok(lines[0] == ['3', '0', '0', '1', '8', '8'] and
       lines[6] == ['10', '2', '0', '10', '2', '8'], 'which writes starts and counts')
    report = advise('trained.h5', '-p', 'trace:trace.tsv', '-w', '1', '-b', '1', '-e', '1',
                    '--what-if', '--rdcc-nbytes', '640')
    counts = report['result']['rows'][0]['first_epoch_counts']
    ok(counts['requests'] == 8 and counts['wanted_bytes'] == 6 * 64 + 160,
       'and that h5advise replays')
    open('bad.tsv', 'w').write('1\t0\t0\t1\t8\t8\n2\t0\t0\t1\tx\t8\n')
    done = subprocess.run(['h5advise', 'trained.h5', '-p', 'trace:bad.tsv'],
                          capture_output=True, text=True)
    ok(done.returncode == 2 and 'line 2, column' in done.stderr,
       'a malformed trace is refused with line and column')


for test in (test_recipe, test_search, test_versions, test_uncompared, test_crop_cause,
             test_slots, test_user_shapes, test_orders,
             test_no_chunks, test_no_loss, test_unwritten, test_epochs, test_chart, test_target, test_limits, test_code, test_rewrite, test_trace):
    try:
        test()
    except Exception as problem:  # one broken test does not hide the others
        ok(False, f'{test.__name__}: {problem!r}')
print(f'1..{count}')
sys.exit(failed != 0)
