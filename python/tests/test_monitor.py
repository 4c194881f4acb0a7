"""Figures for TensorBoard and Prometheus."""
import os
import re
import threading

import h5pack
from made_images import packed, raises

STATS = {"batches": 12, "waiting_s": 1.5, "samples_per_s": 800.25, "hit_rate": 0.75,
         "read_thread_s": 0.5, "engine": "pread", "memory_bytes": 1 << 20, "threads": 2,
         "wait_ns": 2_000_000_000, "parts": {"loads": 4}}


class Writer:
    def __init__(self):
        self.seen = []

    def add_scalar(self, tag, value, step):
        self.seen.append((tag, value, step))


def test_numbers_become_scalars():
    writer = Writer()
    h5pack.log_stats(writer, STATS, 7)
    assert ("h5pack/waiting_s", 1.5, 7) in writer.seen
    assert ("h5pack/parts_loads", 4.0, 7) in writer.seen
    assert len(writer.seen) == 9, "words are none"
    h5pack.log_stats(writer, {"batches": 1}, prefix="data/")
    assert writer.seen[-1] == ("data/batches", 1.0, None)


def test_prometheus_gets_base_units_with_help_and_type():
    text = h5pack.prometheus(STATS, {"job": 'a "b"\\\n', "rank": 0})
    labels = r'{job="a \"b\"\\\n",rank="0"}'
    for line in (f"h5pack_loader_batches_total{labels} 12",
                 f"h5pack_loader_waiting_seconds_total{labels} 1.5",
                 f"h5pack_loader_wait_seconds_total{labels} 2",
                 f"h5pack_loader_samples_per_second{labels} 800.25",
                 f"h5pack_loader_hit_ratio{labels} 0.75",
                 f"h5pack_loader_read_thread_seconds_total{labels} 0.5",
                 f"h5pack_loader_memory_bytes{labels} 1048576",
                 "# TYPE h5pack_loader_batches_total counter",
                 "# TYPE h5pack_loader_hit_ratio gauge"):
        assert line in text.splitlines(), (line, text)
    assert "pread" not in text
    lines = text.splitlines()
    assert len(lines) == 3 * 9
    for first, second, third in zip(*[iter(lines)] * 3):
        name = first.split()[2]
        assert second.split()[2] == name and third.startswith(name + "{")
        assert first.startswith("# HELP ") and second.startswith("# TYPE ")
        assert re.fullmatch(r"[a-z0-9_]+", name)
    assert "h5pack_loader_batches_total 12" in h5pack.prometheus(STATS).splitlines()


def test_labels_have_names_that_prometheus_reads():
    for name in ("job-name", "1st", "", 3, "a\n"):
        raises(h5pack.ArgumentError, lambda name=name: h5pack.prometheus(STATS, {name: "x"}),
               "labels: ")
    assert '{_A1="x"}' in h5pack.prometheus(STATS, {"_A1": "x"})


def test_a_link_stays_one_and_errors_name_the_file(tmp_path):
    os.symlink("target.prom", tmp_path / "link.prom")
    h5pack.write_prometheus(tmp_path / "link.prom", STATS)
    assert os.readlink(tmp_path / "link.prom") == "target.prom"
    assert (tmp_path / "target.prom").read_text() == h5pack.prometheus(STATS)
    path = str(tmp_path / "no" / "x.prom")
    why = raises(FileNotFoundError, lambda: h5pack.write_prometheus(path, STATS))
    assert why.filename == os.path.realpath(path)


def test_the_file_is_replaced_at_once(tmp_path):
    path = tmp_path / "h5pack.prom"
    path.write_text("# HELP old")
    with open(path, encoding="utf-8") as reading:
        h5pack.write_prometheus(path, STATS)
        assert reading.read() == "# HELP old", "who reads keeps the old one"
    assert path.read_text() == h5pack.prometheus(STATS)
    assert os.listdir(tmp_path) == ["h5pack.prom"] and path.stat().st_mode & 0o777 == 0o644
    raises(OSError, lambda: h5pack.write_prometheus(tmp_path / "no" / "h5pack.prom", STATS))
    raises(h5pack.ArgumentError, lambda: h5pack.write_prometheus(path, None))
    real = os.replace

    def refuse(*what):
        raise PermissionError(1, "Operation not permitted")

    os.replace = refuse
    try:
        raises(PermissionError, lambda: h5pack.write_prometheus(path, {"batches": 5}))
    finally:
        os.replace = real
    assert os.listdir(tmp_path) == ["h5pack.prom"], "a failure leaves nothing"
    assert path.read_text() == h5pack.prometheus(STATS)


def test_what_is_something_else_stays(tmp_path):
    for content in (b"\x89HDF\r\n\x1a\n", b"#", b"# HELLO"):
        path = tmp_path / "data"
        path.write_bytes(content)
        raises(h5pack.ExistsError, lambda path=path: h5pack.write_prometheus(path, STATS), "data")
        assert path.read_bytes() == content
    path.write_bytes(b"")
    h5pack.write_prometheus(path, STATS)
    assert path.read_text() == h5pack.prometheus(STATS)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    waits = threading.Timer(10, lambda: os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)))
    waits.start()  # who opens it for reading would wait for ever
    raises(h5pack.ExistsError, lambda: h5pack.write_prometheus(pipe, STATS), "not a regular file")
    waits.cancel()
    assert pipe.is_fifo()


def test_a_loader_s_figures_go_there():
    loader = h5pack.Loader(packed(chunk=2), 4, out="numpy", threads=1, memory="64M")
    for _ in loader:
        pass
    writer = Writer()
    h5pack.log_stats(writer, loader.stats(), 1)
    assert ("h5pack/samples", 21.0, 1) in writer.seen
    assert "h5pack_loader_samples_total 21" in h5pack.prometheus(loader.stats()).splitlines()


def test_what_is_no_dictionary_path_or_writer_is_said(tmp_path):
    stats = {"batches": 3}
    for labels in ["job"], "job", 5, [("job", "x")]:
        why = raises(h5pack.ArgumentError, lambda: h5pack.prometheus(stats, labels), "labels: ", "no dictionary")
        assert why.param == "labels"
    for given in 5, None, [1]:
        raises(h5pack.ArgumentError, lambda: h5pack.prometheus(given), "stats: ")
        raises(h5pack.ArgumentError, lambda: h5pack.write_prometheus(given, stats), "path: ")
    raises(h5pack.ArgumentError, lambda: h5pack.write_prometheus("a\0", stats), "path: ")
    raises(h5pack.ArgumentError, lambda: h5pack.log_stats(None, stats), "writer: ", "add_scalar")
    h5pack.write_prometheus(os.fsencode(tmp_path) + b"/x.prom", stats)
    assert "batches_total 3" in (tmp_path / "x.prom").read_text()
