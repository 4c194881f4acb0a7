"""Images that are cut, turned and normalized, against NumPy."""
import importlib.util

import numpy
from files import N, h5py, raised, take, write

import h5pack
from h5pack import _out


def made(tmp_path, **options):
    """(made, original) of all samples, sequentially."""
    pixels = write(tmp_path / "x.h5")
    got, labels = take(h5pack.Loader(tmp_path / "x.h5", 8, order="sequential", out="numpy",
                                     **options))
    assert labels.tolist() == list(range(N))
    return got, pixels


def test_a_centre_crop_is_the_middle(tmp_path):
    got, pixels = made(tmp_path, centre_crop=(4, 5))
    assert (got == pixels[:, 2:6, 2:7]).all()


def test_a_random_crop_is_a_part_of_the_image(tmp_path):
    got, pixels = made(tmp_path, crop=(6, 5))
    places = set()
    for one, whole in zip(got, pixels):
        found = [(y, x) for y in range(3) for x in range(5)
                 if (whole[y:y + 6, x:x + 5] == one).all()]
        assert len(found) == 1
        places.add(found[0])
    assert len(places) > 10


def test_half_of_the_images_are_flipped(tmp_path):
    got, pixels = made(tmp_path, flip=True)
    flipped = numpy.array([(one == whole[:, ::-1]).all() for one, whole in zip(got, pixels)])
    kept = numpy.array([(one == whole).all() for one, whole in zip(got, pixels)])
    assert (flipped ^ kept).all() and 30 < flipped.sum() < 73
    again, _ = made(tmp_path, flip=numpy.True_)
    assert (again == got).all(), "NumPy's True is no probability of 1"
    got, pixels = made(tmp_path, flip=1.0)
    assert (got == pixels[:, :, ::-1]).all()


MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def normalized(pixels):
    scale = (1 / (255 * numpy.array(STD))).astype("f4")
    bias = (-numpy.array(MEAN) / numpy.array(STD)).astype("f4")
    return pixels.astype("f8") * scale + bias


def test_normalized_values_are_those_of_torchvision(tmp_path):
    got, pixels = made(tmp_path, normalize=(MEAN, STD))
    assert got.dtype == numpy.float32 and numpy.abs(got - normalized(pixels)).max() < 1e-6
    got, pixels = made(tmp_path, normalize=(MEAN, STD), dtype="float16", layout="nchw")
    assert got.dtype == numpy.float16 and got.shape == (N, 3, 8, 9)
    assert numpy.abs(got - normalized(pixels).transpose(0, 3, 1, 2)).max() < 2e-3


def test_channels_last_are_axes_of_nchw_in_memory_of_nhwc(tmp_path):
    got, pixels = made(tmp_path, layout="channels_last")
    assert (got == pixels.transpose(0, 3, 1, 2)).all()
    images, _ = next(iter(h5pack.Loader(tmp_path / "x.h5", 8, layout="channels_last",
                                        out="numpy")))
    assert images.strides == (216, 1, 27, 3)


def test_channels_last_of_boxes_and_of_traces(tmp_path):
    """Which have an axis more, of one image each."""
    pixels = write(tmp_path / "x.h5")
    with h5py.File(tmp_path / "x.h5", "r+") as file:
        file["gray"] = pixels[..., 0]
        with h5pack.record(tmp_path / "t"):
            for number in 5, 2, 9:
                file["images"][number]
                file["gray"][number]
    for out in ("numpy", "torch")[:1 + bool(importlib.util.find_spec("torch"))]:
        options = {"order": "sequential", "layout": "channels_last", "out": out, "with_": ()}
        got, = take(h5pack.Loader(tmp_path / "x.h5", 8, box=(1, 8, 9, 3), **options))
        assert got.shape == (N, 1, 3, 8, 9) and (got[:, 0] == pixels.transpose(0, 3, 1, 2)).all()
        got, = take(h5pack.Loader(tmp_path / "x.h5", 8, box=(1, 8, 9), images="gray", **options))
        assert got.shape == (N, 1, 8, 9) and (got[:, 0] == pixels[..., 0]).all()
        options["order"] = f"trace:{tmp_path / 't'}"
        got, = take(h5pack.Loader(tmp_path / "x.h5", 8, **options))
        assert (got[:, 0] == pixels[[5, 2, 9]].transpose(0, 3, 1, 2)).all()
        got, = take(h5pack.Loader(tmp_path / "x.h5", 8, images="gray", **options))
        assert (got[:, 0] == pixels[[5, 2, 9], ..., 0]).all()


def test_gray_images_are_the_same_in_every_layout(tmp_path):
    pixels = numpy.arange(9 * 4 * 5, dtype="u1").reshape(9, 4, 5)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["images"] = pixels
    for layout in (None, "nchw", "nhwc", "channels_last"):
        for out in ("numpy", "torch")[:1 + bool(importlib.util.find_spec("torch"))]:
            got, = take(h5pack.Loader(tmp_path / "x.h5", 4, order="sequential", layout=layout,
                                      out=out))
            assert (got == pixels).all(), (layout, out)


def test_bfloat16_is_for_dlpack_alone(tmp_path):
    write(tmp_path / "x.h5")
    loader = h5pack.Loader(tmp_path / "x.h5", 8, normalize=True, dtype="bfloat16", out="dlpack")
    part, _ = next(iter(loader))
    assert part.typestr == "bfloat16" and part.shape == (8, 8, 9, 3)
    assert "DLPack" in raised(BufferError, memoryview, part)
    assert "DLPack" in raised(BufferError, _out.maker("numpy", None, True), loader._reader.next())
    said = raised(h5pack.ArgumentError, h5pack.Loader, tmp_path / "x.h5", 8, normalize=True,
                  dtype="bfloat16", out="numpy")
    assert said == "dtype: NumPy has no bfloat16: out='torch' or 'dlpack'"


def test_resized_crops_are_of_the_size_asked_for(tmp_path):
    options = {"resized_crop": {"size": (5, 4), "scale": (0.5, 1), "filter": "bicubic"}}
    got, pixels = made(tmp_path, **options)
    assert got.shape == (N, 5, 4, 3)
    again, _ = made(tmp_path, **options)
    assert (got == again).all()
    whole, _ = made(tmp_path, resize=(8, 9))
    assert (whole == pixels).all()
