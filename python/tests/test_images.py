"""Images: samples by their numbers, through h5py."""
import multiprocessing
import os
import pickle
import subprocess
import sys

import numpy

import h5pack
from h5pack._images import cache_of
from made_images import need, packed, photos, raises


def opened(**options):
    need("h5py")
    arguments = {key: options.pop(key) for key in ("transform", "target_transform", "with_",
                                                   "rdcc_nbytes") if key in options}
    return h5pack.Images(packed(**options), **arguments)


def test_a_sample_is_an_image_and_its_label():
    images = opened(chunk=4)
    pixels = photos()[1]
    assert len(images) == 21 and images.shape == (21, 24, 24, 3)
    for number in (0, 7, 20, -1, -21):
        image, label = images[number]
        assert (image == pixels[number]).all() and label == number % 21 // 7
        assert image.dtype == numpy.uint8
    assert images.classes == ["class0", "class1", "class2"] and len(images.mean) == 3
    raises(IndexError, lambda: images[21], "21 is none of 21")
    raises(IndexError, lambda: images[-22])


def test_a_batch_is_in_the_order_asked_for_with_repeats():
    images = opened(chunk=4)
    pixels = photos()[1]
    for numbers in ([3, 1, 2], [20, 0, 20, 5, -1], [7], list(range(21)), numpy.array([4, 2])):
        batch = images.__getitems__(numbers)
        assert len(batch) == len(numbers)
        for number, (image, label) in zip(numbers, batch):
            assert (image == pixels[number]).all() and label == number % 21 // 7
    assert images.__getitems__([]) == []
    raises(IndexError, lambda: images.__getitems__([0, 21]))


def test_a_batch_is_one_read_of_each_dataset():
    images = opened(chunk=4)
    images[0]
    calls = []

    class Counted:
        def __init__(self, dataset):
            self.dataset = dataset

        def __getitem__(self, selection):
            calls.append(selection)
            return self.dataset[selection]

    images._datasets = [Counted(dataset) for dataset in images._datasets]
    images.__getitems__([9, 2, 5])
    assert len(calls) == 2
    images.__getitems__([9, 8, 10])
    assert calls[-1] == slice(8, 11), "neighbours are one block"


def test_transforms_are_called_with_images_and_labels():
    images = opened(chunk=4, transform=lambda image: image.astype(float) / 255,
                    target_transform=lambda label: -int(label))
    image, label = images[20]
    assert image.dtype == float and image.max() <= 1 and label == -2
    (image, label), = images.__getitems__([20])
    assert image.max() <= 1 and label == -2
    alone = opened(chunk=4, with_=None)
    assert alone[3].shape == (24, 24, 3), "without further datasets a sample is an array"
    assert alone.__getitems__([3])[0].shape == (24, 24, 3)
    alone = opened(chunk=4, with_=None, target_transform=int)
    assert alone[3].shape == (24, 24, 3), "and there is nothing to call it with"


def test_further_datasets_have_as_many_rows():
    images = opened(chunk=4, with_=("labels", "original_size"))
    assert [int(n) for n in images[0][2]] == [24, 24]
    need("h5py")
    raises(ValueError, lambda: h5pack.Images(packed(chunk=4), with_="class_names"), "has 3, and")
    assert len(h5pack.Images(packed(chunk=4), with_=b"labels")[0]) == 2


def read_in_child(images, number, queue):
    queue.put((os.getpid(), images[number][0].sum(), images._process))


def test_it_is_opened_anew_in_every_process():
    images = opened(chunk=4)
    want = photos()[1][5].sum()
    assert images[5][0].sum() == want
    for method in ("fork", "spawn"):
        context = multiprocessing.get_context(method)
        queue = context.Queue()
        child = context.Process(target=read_in_child, args=(images, 5, queue))
        child.start()
        process, got, opened_by = queue.get(timeout=60)
        child.join(60)
        assert got == want and opened_by == process != os.getpid()
    assert images[5][0].sum() == want, "and stays open here"


def test_it_is_pickled_without_its_file():
    images = opened(chunk=4)
    images[0]
    again = pickle.loads(pickle.dumps(images))
    assert again._file is None and (again[3][0] == photos()[1][3]).all()
    images.close()
    images.close()
    assert (images[3][0] == photos()[1][3]).all(), "a closed one is opened by reading"


def test_a_relative_name_is_that_of_the_folder_in_which_it_was_made(tmp_path):
    need("h5py")
    folder, name = os.path.split(packed(chunk=4))
    here = os.getcwd()
    try:
        for path in (name, os.fsencode(name)):
            os.chdir(folder)
            images = h5pack.Images(path)
            os.chdir(tmp_path)
            for one in (images, pickle.loads(pickle.dumps(images))):
                assert (one[3][0] == photos()[1][3]).all()
            assert repr(images).startswith(f"h5pack.Images({path!r}, ")
    finally:
        os.chdir(here)


def test_the_chunk_cache_suits_the_chunks():
    assert cache_of(1, 150528, True) == {"rdcc_nbytes": 0}
    assert cache_of(32, 4816896, False) == {"rdcc_nbytes": 0}
    cache = cache_of(8, 1 << 20, True)
    assert cache["rdcc_nbytes"] == 33 << 20 and cache["rdcc_nslots"] >= 3300
    assert cache_of(8, 1 << 30, True)["rdcc_nbytes"] == 1 << 30
    assert cache_of(8, 1 << 40, True)["rdcc_nbytes"] == 1 << 40, "one chunk at least"
    for options, want in (({"chunk": 4}, 0), ({"chunk": 4, "compress": "gzip:1"}, 33 * 4 * 1728)):
        images = opened(**options)
        images[0]
        assert images._file.id.get_access_plist().get_cache()[2] == want
    assert opened(chunk=4, rdcc_nbytes=12345)._cache["rdcc_nbytes"] == 12345


def test_a_filter_that_is_not_there_is_named():
    need("h5py")
    import h5py

    if h5py.h5z.filter_avail(32015):
        return
    raises(h5pack.UnsupportedError, lambda: opened(chunk=4, compress="zstd"), "32015",
           "hdf5plugin", "h5pack.Loader")


def test_a_dataloader_takes_its_batches():
    need("torch", "h5py")
    from torch.utils.data import DataLoader

    images = opened(chunk=4)
    seen = []
    for batch, labels in DataLoader(images, 4, shuffle=True, num_workers=2):
        for image, label in zip(batch.numpy(), labels):
            number = int(numpy.flatnonzero((photos()[1] == image).all((1, 2, 3)))[0])
            assert number // 7 == label
            seen.append(number)
    assert sorted(seen) == list(range(21))


def test_a_sample_asked_for_twice_is_there_twice():
    need("h5py")
    first, second = h5pack.Images(packed(chunk=2)).__getitems__([3, 3])
    kept = second[0].copy()
    first[0][:] = 255 - first[0]
    assert (second[0] == kept).all() and second[1] == first[1]


def test_what_cannot_be_read_is_told_with_the_file(tmp_path):
    need("h5py")
    import h5py

    path = str(tmp_path / "x.h5")

    def made(n=20, **how):
        how.setdefault("data", numpy.random.default_rng(n).integers(0, 256, (n, 8, 8, 3), numpy.uint8))
        with h5py.File(path, "w") as file:
            file.create_dataset("images", chunks=(2, 8, 8, 3), compression="gzip", **how)
            file["labels"] = numpy.arange(n)
            file["far"] = h5py.ExternalLink("none.h5", "/x")
            file["class_names"] = 3
            return file["images"].id.get_chunk_info(3).byte_offset

    raises(h5pack.NotFoundError, lambda: h5pack.Images(path), f"cannot open '{path}': No such file")
    raises(h5pack.ReadError, lambda: h5pack.Images(tmp_path), f"cannot open '{tmp_path}': Is a dir")
    at = made()
    for options in {"transform": 5}, {"target_transform": "x"}, {"rdcc_nbytes": -1}, {"rdcc_nbytes": "1M"}:
        raises(h5pack.ArgumentError, lambda: h5pack.Images(path, **options), f"{next(iter(options))}: ")
    raises(h5pack.NotFoundError, lambda: h5pack.Images(path, images="far"), path, "'far'", "nowhere")
    raises(h5pack.NotFoundError, lambda: h5pack.Images(path, images=""), path, "no dataset ''")
    for options in {"images": 5}, {"images": "a\0b"}, {"path": 5}, {"path": [path]}, {"path": "a\0b"}:
        raises(h5pack.ArgumentError, lambda: h5pack.Images(**{"path": path, **options}),
               f"{next(iter(options))}: ")
    images = h5pack.Images(path)
    assert images.classes is None and images[6][1] == 6
    images.close()
    with open(path, "r+b") as file:
        file.seek(at)
        file.write(b"\0" * 50)
    assert images[5][1] == 5
    for call, which in ((lambda: images[6], "samples 6:"), (lambda: images.__getitems__([5, 6]), "5 to 6:"),
                        (lambda: images.__getitems__([1, 7]), "samples 1, 7:"),
                        (lambda: images.__getitems__(range(1, 16, 2)), "3, 5, 7, 9, 11, 13, 15:"),
                        (lambda: images.__getitems__(range(1, 18, 2)), "11, 13, 15, ...:")):
        raises(h5pack.FormatError, call, path, "'images'", which, "h5audit --verify")
    assert images[5][1] == 5, "others are read"
    images.close()
    made(data=numpy.zeros((20, 8, 8, 3), "f4"))
    raises(h5pack.ChangedError, lambda: images[0], path, "'images' has another shape or type")
    made(n=19)
    why = raises(h5pack.ChangedError, lambda: images[0], path, "'images' has another shape or type")
    made()  # which HDF5 refuses where the file is still open, as for what was raised
    assert why.__traceback__ is not None
    with h5py.File(path, "r+") as file:
        del file["labels"]
        file["labels"] = numpy.arange(30)
    raises(h5pack.ChangedError, lambda: images[0], path, "'labels' has another shape or type")
    with h5py.File(path, "r+") as file:
        del file["images"]
    raises(h5pack.NotFoundError, lambda: images[0], path, "no dataset 'images'")
    with open(path, "r+b") as file:
        file.truncate(1000)
    raises(h5pack.FormatError, lambda: images[0], f"cannot open '{path}'", "truncated", "h5audit")
    os.unlink(path)
    raises(h5pack.NotFoundError, lambda: images[0], f"cannot open '{path}': No such file")
    made()
    assert images[5][1] == 5, "and it goes on with what is there then"


def test_names_of_classes_need_not_be_utf_8_and_labels_not_be_there(tmp_path):
    need("h5py")
    import h5py

    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["images"] = numpy.arange(24, dtype="u1").reshape(2, 2, 2, 3)
        file["class_names"] = numpy.array([b"caf\xe9", "na\u00efve".encode()])
    images = h5pack.Images(tmp_path / "x.h5")
    assert images.classes == ["caf\ufffd", "na\u00efve"]
    assert images[1].tolist() == [[[12, 13, 14], [15, 16, 17]], [[18, 19, 20], [21, 22, 23]]]


def test_what_has_no_samples_is_told_by_name(tmp_path):
    need("h5py")
    import h5py

    path = str(tmp_path / "odd.h5")
    with h5py.File(path, "w") as file:
        file["rows"] = numpy.zeros((5, 4), "u1")
        file["one"] = 7
        file["none"] = h5py.Empty("f4")
        file.create_group("group")
    for name, kind, says in (("group", ValueError, "is a group"), ("one", ValueError, "has no samples"),
                             ("none", ValueError, "has no samples"), ("gone", h5pack.NotFoundError, "has no dataset")):
        for options in {"images": name, "with_": None}, {"images": "rows", "with_": name}:
            raises(kind, lambda: h5pack.Images(path, **options), f"'{name}'", says)


def made(path, **what):
    """Images of a file that holds this beside images."""
    need("h5py")
    import h5py

    with h5py.File(path, "w") as file:
        file["images"] = numpy.zeros((5, 2, 2, 3), "u1")
        for name, value in what.items():
            file[name] = value
    return h5pack.Images(path)


def test_links_that_lead_in_a_circle_are_named(tmp_path):
    need("h5py")
    import h5py

    path = tmp_path / "x.h5"
    raises(h5pack.NotFoundError, lambda: made(path, labels=h5py.SoftLink("/labels")),
           "x.h5': 'labels' is there, and cannot be opened")
    assert made(path, class_names=h5py.SoftLink("/class_names")).classes is None


def test_datasets_that_do_not_fit_are_errors_of_h5pack_with_the_file_s_name(tmp_path):
    path = tmp_path / "x.h5"
    raises(h5pack.ArgumentError, lambda: made(path, labels=numpy.arange(3)),
           "x.h5': 'labels' has 3, and 'images' has 5 samples")
    raises(h5pack.ArgumentError, lambda: made(path, labels=3), "x.h5': 'labels' has no samples")
    raises(h5pack.ArgumentError, lambda: made(path, **{"labels/x": 3}), "'labels' is a group")


def test_a_file_that_somebody_writes_is_said_to_be(tmp_path):
    need("h5py")
    import h5py

    path = tmp_path / "x.h5"
    writer = ("import h5py, sys; file = h5py.File(sys.argv[1], 'w'); file['images'] = [1]; "
              "print(flush=True); input()")
    with subprocess.Popen([sys.executable, "-c", writer, path], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as child:
        child.stdout.readline()
        try:
            h5py.File(path, "r").close()
        except BlockingIOError:
            raises(h5pack.ReadError, lambda: h5pack.Images(path),
                   "x.h5': another program has it open for writing")
        except OSError:
            pass  # it is marked in the file, of which HDF5 says so
        child.communicate(b"\n")
