"""What the reader makes of images against Pillow and NumPy, from what reader_dump says it drew."""
import os
import random
import struct
import subprocess
import sys

import across_first  # noqa: F401 (what it is imported for, it does at once)
import h5py
import numpy as np
from PIL import Image
from tap import done, note, ok

work = sys.argv[1]
rng = random.Random(int(os.environ.get('H5PACK_SEED', 1)))
source = os.path.join(work, 'in.h5')
FILTERS = [Image.BILINEAR, Image.NEAREST, Image.BOX, Image.HAMMING, Image.BICUBIC, Image.LANCZOS]
NONE, CENTRE, RANDOM, RESIZED = range(4)
BYTES, FP32, FP16, BF16 = range(4)


def dump(strategy='pread', threads=2, **options):
    words = [f'{k}={":".join(map(str, v)) if isinstance(v, (list, tuple)) else v}' for k, v in options.items()]
    ran = subprocess.run(['reader_dump', source, 'images', strategy, str(threads), *words], capture_output=True)
    lines = ran.stderr.decode().splitlines()
    drawn = [tuple(map(int, line.split()[1:])) for line in lines if line.startswith('drawn ')]
    return ran.returncode, ran.stdout, drawn, lines[-1] if lines else ''


def make(n, h, w, channels, planes, labels=None, **options):
    """Images in the file; returns them as N x H x W x C."""
    images = np.array([rng.getrandbits(8) for _ in range(n * h * w * channels)], 'u1').reshape(n, h, w, channels)
    stored = images.transpose(0, 3, 1, 2) if planes else images[..., 0] if channels == 0 else images
    with h5py.File(source, 'w') as file:
        data = file.create_dataset('images', data=stored, **options)
        data.attrs['DIMENSION_LABELS'] = np.array([c.encode() for c in ('NCHW' if planes else 'NHWC')])
        for name, values in (labels or {}).items():
            data.attrs[name] = values
    return images


def resized(image, h, w, how):
    planes = [np.asarray(Image.fromarray(image[..., c]).resize((w, h), FILTERS[how])) for c in range(image.shape[2])]
    if image.shape[2] == 3:
        return np.asarray(Image.fromarray(image).resize((w, h), FILTERS[how]))
    return np.stack(planes, axis=-1)


def to_bf16(values):
    bits = values.astype('<f4').view('<u4').astype('u8')
    return ((bits + 0x7fff + ((bits >> 16) & 1)) >> 16).astype('<u2')


def normalised(image, values, mean, std):
    if values == BYTES:
        return image
    scale, bias = (1 / np.array(std)).astype('f4'), (-np.array(mean) / np.array(std)).astype('f4')
    # a product of 8 and 24 bits is exact in float64, and so is its sum but for the last rounding
    y = (image.astype('f8') * scale.astype('f8') + bias.astype('f8')).astype('f4')
    return y if values == FP32 else y.astype('f2') if values == FP16 else to_bf16(y)


def expected(images, drawn, o, planes, own):
    made = []
    for epoch, number, y, x, h, w, flips in drawn:
        image = images[number][y:y + h, x:x + w]
        if o.get('crop', NONE) == RESIZED or (o.get('crop', NONE) == NONE and 'height' in o):
            image = resized(np.ascontiguousarray(image), o['height'], o['width'], o.get('filter', 0))
        if flips:
            image = image[:, ::-1]
        mean, std = (o['mean'], o['std']) if 'std' in o else own
        image = normalised(image, o.get('values', 0), mean, std)
        first = planes if o.get('channels', 0) == 0 else o['channels'] == 2
        made.append(np.ascontiguousarray(image.transpose(2, 0, 1) if first else image).tobytes())
    return b''.join(made)


def test_random(n):
    n_good, n_resized, n_flipped, n_draws = 0, 0, 0, 0
    for k in range(n):
        h, w, channels = rng.randint(1, 40), rng.randint(1, 40), rng.choice([1, 2, 3, 3, 4, 5])
        planes, count = rng.random() < 0.4, rng.randint(1, 40)
        own = ([rng.uniform(50, 200) for _ in range(channels)], [rng.uniform(1, 90) for _ in range(channels)])
        has_own = rng.random() < 0.5
        stored = rng.choice([{}, {'chunks': True}, {'chunks': True, 'compression': 'gzip'}])
        images = make(count, h, w, channels, planes, {'mean': own[0], 'std': own[1]} if has_own else None, **stored)
        o = {'crop': rng.randint(NONE, RESIZED), 'flip': rng.choice([0, 0.5, 1]), 'seed': k, 'epochs': rng.randint(1, 3),
             'batch': rng.randint(1, 20), 'channels': rng.randint(0, 2), 'values': rng.randint(BYTES, BF16)}
        if o['crop'] in (CENTRE, RANDOM):
            o['height'], o['width'] = rng.randint(1, h), rng.randint(1, w)
        elif o['crop'] == RESIZED or rng.random() < 0.5:
            o['height'], o['width'] = rng.randint(1, 50), rng.randint(1, 50)
            o['filter'] = rng.randint(0, 5)
        if rng.random() < 0.5:
            o['mean'], o['std'] = [rng.uniform(0, 255) for _ in range(channels)], [rng.uniform(1, 99) for _ in range(channels)]
        if rng.random() < 0.3:
            o['scale'], o['ratio'] = (0.2, 0.5), (0.5, 0.6)
        status, got, drawn, said = dump(rng.choice(['pread', 'mmap']), rng.randint(1, 4), **o)
        good = status == 0 and len(drawn) == count * o['epochs']
        good = good and got == expected(images, drawn, o, planes, own if has_own else ([0] * channels, [255] * channels))
        n_good += good
        n_flipped += sum(d[6] for d in drawn) if o['flip'] == 0.5 else 0
        n_draws += len(drawn) if o['flip'] == 0.5 else 0
        n_resized += o['crop'] == RESIZED
        if not good:
            note(f'{h}x{w}x{channels} planes {planes} {stored} {o}: {status} {said}')
    ok(n_good == n, f'{n_good} of {n} are what Pillow and NumPy make ({n_resized} resized parts)')
    ok(0.4 < n_flipped / n_draws < 0.6, f'{n_flipped} of {n_draws} are flipped where half are to be')


def test_same():
    """Threads, batches, strategies and the order change nothing of a sample."""
    make(50, 30, 40, 3, False, chunks=(4, 30, 40, 3), compression='gzip')
    o = {'crop': RESIZED, 'height': 20, 'width': 24, 'flip': 0.5, 'seed': 5, 'epochs': 2}
    one = dump('pread', 1, batch=16, **o)
    same = all(dump(s, t, batch=b, **o)[1:3] == one[1:3] for s, t, b in (('mmap', 3, 7), ('pread', 4, 50), ('pread', 2, 1)))
    ok(same and one[0] == 0, 'the same samples in other batches, by other threads')
    epochs = [[d[2:] for d in one[2] if d[0] == e] for e in (0, 1)]
    ok(epochs[0] != epochs[1], 'another epoch draws anew')
    ok(dump('pread', 1, batch=16, **{**o, 'seed': 6})[2] != one[2], 'so does another seed')


def test_draws():
    """As torchvision's get_params: where parts lie, and how large they are."""
    n, h, w = 4000, 32, 48
    with h5py.File(source, 'w') as file:
        file.create_dataset('images', (n, h, w, 3), 'u1', chunks=(n, h, w, 3), compression='gzip')
    drawn = dump('pread', 1, crop=RESIZED, height=4, width=4, batch=500)[2]
    areas = np.array([d[4] * d[5] for d in drawn]) / (h * w)
    shapes = np.log([d[5] / d[4] for d in drawn])
    inside = all(0 <= d[2] <= h - d[4] and 0 <= d[3] <= w - d[5] and d[4] > 0 and d[5] > 0 for d in drawn)
    ok(inside and areas.min() > 0.06 and areas.max() > 0.8 and 0.4 < areas.mean() < 0.56, f'areas are as asked for, {areas.mean():.2f}')
    ok(abs(shapes.mean()) < 0.05 and shapes.min() < -0.2 and shapes.max() > 0.2 and abs(shapes).max() < 0.45, 'shapes are log-uniform')
    least, most = (min(d[2] for d in drawn), max(d[2] + d[4] for d in drawn))
    ok(least == 0 and most == h, 'parts lie everywhere')
    narrow = dump('pread', 1, crop=RESIZED, height=4, width=4, batch=500, scale=(1, 1), ratio=(0.5, 0.5))[2]
    ok({d[2:6] for d in narrow} == {(0, (w - 16) // 2, 32, 16)}, 'what never fits is the largest part around the centre')
    wide = dump('pread', 1, crop=RESIZED, height=4, width=4, batch=500, scale=(1, 1), ratio=(3, 3))[2]
    ok({d[2:6] for d in wide} == {((h - 16) // 2, 0, 16, 48)}, 'likewise of wider shapes')
    places = dump('pread', 1, crop=RANDOM, height=31, width=48, batch=500)[2]
    low = sum(d[2] == 0 for d in places)
    ok(1850 < low < 2150 and {d[2] for d in places} == {0, 1}, f'random crops lie everywhere alike, {low} of {n} at the top')


def test_refused():
    def refused(pattern, what, **options):
        status, _, _, said = dump(**options)
        ok(status == 2 and pattern in said, f'refused: {what}') or note(f'{status} {said}')
    make(3, 8, 9, 3, False)
    refused('cannot be cut out of images of 8 x 9', 'a crop that is too large', crop=CENTRE, height=9, width=9)
    refused('cannot be cut out of images of 8 x 9', 'one that is too wide', crop=RANDOM, height=8, width=10)
    refused('0 is no size', 'a crop without size', crop=RESIZED)
    refused('0 is no size', 'a height alone', height=5)
    refused('flip', 'a probability above 1', flip=1.5)
    refused('scale', 'parts larger than the whole', crop=RESIZED, height=2, width=2, scale=(0.5, 1.5))
    refused('2 is more than 1', 'ratios the wrong way round', crop=RESIZED, height=2, width=2, ratio=(2, 1))
    refused('std', 'a negative deviation', values=FP32, std=(1, 1, -1))
    refused('do not hold what reading', 'too little memory', crop=RESIZED, height=500, width=500, memory=1000)
    for shape, kind, what in ((9, 8, 8, 3), '<f4', 'floats'), ((9, 8, 8, 2), 'u1', 'two channels somewhere'), ((9, 8), 'u1', 'rows'), \
                             ((9, 8, 8, 3), 'i1', 'signed bytes'):
        with h5py.File(source, 'w') as file:
            file['images'] = np.zeros(shape, kind)
        refused('no images of bytes', what, flip=1)


def test_gray_and_stock():
    with h5py.File(source, 'w') as file:
        gray = np.arange(5 * 6 * 7, dtype='u1').reshape(5, 6, 7)
        file['images'] = gray
    status, got, drawn, _ = dump(flip=1, channels=2)
    ok(status == 0 and got == np.ascontiguousarray(gray[:, :, ::-1]).tobytes(), 'gray images without an axis for it')
    images = make(12, 9, 10, 3, False)
    with h5py.File(source, 'r+') as file:
        file.move('images', 'plain')
        layout = h5py.VirtualLayout((12, 9, 10, 3), 'u1')
        for i in range(12):
            layout[11 - i] = h5py.VirtualSource('.', 'plain', (12, 9, 10, 3))[i]
        file.create_virtual_dataset('images', layout)
    o = {'crop': RESIZED, 'height': 5, 'width': 5, 'flip': 0.5, 'values': FP32}
    status, got, drawn, said = dump(**o)
    want = expected(images[::-1], drawn, o, False, ([0] * 3, [255] * 3))
    ok(status == 0 and got == want, f'a virtual dataset ({said})')


test_random(600 if os.environ.get('H5PACK_LONG') else 60)
test_same()
test_draws()
test_refused()
test_gray_and_stock()
done()
