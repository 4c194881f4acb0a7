"""One thread at a time in HDF5."""
import contextlib
import gc
import os
import signal
import threading

from files import h5py, write_virtual

import h5pack
from h5pack import _hdf5


@contextlib.contextmanager
def somebody_inside(lock=None):
    """Another thread is in HDF5 meanwhile: in h5pack, or has h5py's lock."""
    inside, leave = threading.Event(), threading.Event()

    def be():
        with lock or _hdf5._own:  # h5py's would hold up fork() itself
            inside.set()
            leave.wait(60)

    thread = threading.Thread(target=be)
    thread.start()
    inside.wait(60)
    try:
        yield
    finally:
        leave.set()
        thread.join()


def waits(call, patience_s=0.1, lock=None):
    """Whether it does not end as long as somebody is in HDF5; it ends afterwards."""
    thread = threading.Thread(target=call)
    with somebody_inside(lock):
        thread.start()
        thread.join(patience_s)
        is_waiting = thread.is_alive()
    thread.join(60)
    assert not thread.is_alive()
    return is_waiting


def virtual(folder):
    """A loader of what HDF5 itself reads."""
    write_virtual(folder)
    return h5pack.Loader(folder / "v.h5", 8, out="numpy")


def test_who_opens_reads_or_closes_a_file_waits_for_who_is_in_hdf5(tmp_path):
    loader = virtual(tmp_path)
    iteration = iter(loader)
    assert waits(lambda: next(iteration)) and loader.stats()["engine"] == "hdf5"
    assert waits(loader.close) and waits(lambda: iter(loader))
    assert waits(lambda: h5pack.Loader(tmp_path / "x.h5", 8, out="numpy"))
    assert waits(lambda: h5pack.BlockSampler(tmp_path / "x.h5", 8, workers=1))
    plain = h5pack.Loader(tmp_path / "x.h5", 8, out="numpy")
    iteration = iter(plain)
    assert not waits(lambda: next(iteration), 60), "this is read without HDF5"
    assert not waits(plain.close, 60)


def test_who_is_in_h5py_is_waited_for_too(tmp_path):
    write_virtual(tmp_path)
    assert waits(lambda: h5pack.Loader(tmp_path / "x.h5", 8, out="numpy"), lock=h5py._objects.phil)


def test_the_collector_does_not_wait_and_who_leaves_closes(tmp_path):
    loader = virtual(tmp_path)
    next(iter(loader))
    with somebody_inside():
        del loader
        gc.collect()
        assert len(_hdf5._left) == 1
        done = []
        _hdf5.when_alone(lambda: done.append("later"))
        assert done == []
    with _hdf5.alone():
        pass
    assert _hdf5._left == [] and done.pop() == "later"
    _hdf5.when_alone(lambda: done.append(_hdf5._own.acquire(False)))
    _hdf5._own.release()
    assert done == [True] and not _hdf5._own._is_owned()


def test_a_batch_that_outlives_its_loader_has_nothing_of_hdf5(tmp_path):
    loader = virtual(tmp_path)
    images, labels = next(iter(loader))
    values = images.copy()
    loader.close()
    left = [os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")
            if os.path.exists(f"/proc/self/fd/{fd}")]
    assert not [file for file in left if file.startswith(str(tmp_path))], "no file of it is open"
    with somebody_inside():
        assert (images == values).all()
        del images, labels
        gc.collect()


def test_ctrl_c_leaves_no_lock_behind():
    """Wherever it comes in; here a hundred times, while nothing else is done."""
    class Stop(BaseException):
        pass

    def stop(*what):
        raise Stop

    before = signal.signal(signal.SIGALRM, stop)
    try:
        for i in range(100):
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-4 + 1e-6 * i)
                while True:
                    with _hdf5.alone():
                        pass
            except Stop:
                pass
            is_left = _hdf5._own._is_owned()
            while _hdf5._own._is_owned():  # other tests would wait for it
                _hdf5._own.release()
            assert not is_left, i
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_forked_child_is_alone():
    with somebody_inside():
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            try:
                with _hdf5.alone(), _hdf5.alone():
                    os._exit(0)
            finally:
                os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
