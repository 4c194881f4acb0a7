"""The programs as functions."""
import contextlib
import json
import os
import pathlib
import pickle
import re
import signal
import stat
import subprocess
import sys

import numpy

import h5pack
from h5pack import _jobs
from made_images import need, packed, photos, raises


def test_keyword_arguments_are_the_options_word_by_word():
    line = _jobs.words({"crop": (224, 192), "chunk": (8,), "shorter": 256, "scale": 0.5,
                        "with_": "labels", "no_measure": True, "gray": False, "seed": None,
                        "rule": ["H5A102", "H5A103"], "output": pathlib.Path("a b.h5"),
                        "background": "-x", "extent": [4096, 16, 3], "with": [1]})
    assert line == ["--crop=224x192", "--chunk=8", "--shorter=256", "--scale=0.5",
                    "--with=labels", "--no-measure", "--rule=H5A102", "--rule=H5A103",
                    "--output=a b.h5", "--background=-x", "--extent=4096x16x3", "--with=1"]


def test_what_is_no_option_s_value_is_refused():
    for value in ({"a": 1}, (1.5, 2), (), object()):
        raises(TypeError, lambda value=value: _jobs.words({"crop": value}), "crop=")
    for ours in ("json", "progress", "quiet", "help", "version"):
        raises(TypeError, lambda ours=ours: _jobs.words({ours: True}), ours)


def test_an_option_that_takes_a_value_takes_no_other_option():
    for options in ({"output": True}, {"output": [True], "force": True}, {"for_": True}):
        raises(TypeError, lambda options=options: h5pack.pack("a", **options), "takes a value",
               next(iter(options)))
    raises(TypeError, lambda: h5pack.advise("a.h5", batch=True), "batch")
    raises(h5pack.JobError, lambda: h5pack.pack("none", output="x.h5", force=True, gray=True,
                                                no_labels=True, limit=[1]), "none")


def test_a_folder_is_packed_and_the_report_is_the_programs(tmp_path):
    report = h5pack.pack(photos()[0], output=tmp_path / "t.h5", size=(8, 6), chunk=3,
                         progress=False)
    assert report["schema"] == "pack/1" and report["options"]["size"] == "8x6"
    assert report["result"]["extent"] == [21, 8, 6, 3] and report["result"]["chunk"][0] == 3
    assert report.status == 0 and (tmp_path / "t.h5").exists()


def test_status_1_is_returned_with_what_the_program_said(tmp_path):
    folder = tmp_path / "photos"
    (folder / "one").mkdir(parents=True)
    for name in ("a.png", "b.png"):
        source = pathlib.Path(photos()[0]) / "class0" / "000.png"
        (folder / "one" / name).write_bytes(source.read_bytes())
    (folder / "one" / "c.png").write_bytes(b"\x89PNG\r\n\x1a\nnothing")
    report = h5pack.pack(folder, output=tmp_path / "t.h5", progress=False)
    assert report.status == 1 and report["result"]["rejected"] == 1
    assert any("c.png" in remark for remark in report.remarks), report.remarks


def test_a_refusal_is_the_program_s_sentence(tmp_path):
    why = raises(h5pack.JobError, lambda: h5pack.pack("nowhere", output=tmp_path / "t.h5"),
                 "cannot read folder 'nowhere'")
    assert isinstance(why, h5pack.Error) and why.status == 2 and why.program == "h5pack"
    assert not str(why).startswith("h5pack:")
    raises(h5pack.JobError, lambda: h5pack.pack("x", output="y", chonk=2), "unknown option",
           "did you mean --chunk")
    raises(h5pack.JobError, lambda: h5pack.audit("-x.h5"), "-x.h5")
    again = pickle.loads(pickle.dumps(why))
    assert str(again) == str(why) and again.remarks == why.remarks


def test_reports_are_pickled_with_their_status():
    report = pickle.loads(pickle.dumps(_jobs.Report({"a": 1}, 1, ["said"])))
    assert report == {"a": 1} and report.status == 1 and report.remarks == ("said",)


def test_advice_and_audit_are_dictionaries():
    path = packed(chunk=2)
    advice = h5pack.advise(path, no_measure=True, batch=4, workers=2, progress=False)
    assert advice["schema"] == "advise/1" and advice["options"]["workers"] == 2
    shape = h5pack.advise(shape=(5000, 32, 32, 3), no_measure=True, progress=False)
    assert shape["options"]["extent"] == [5000, 32, 32, 3]
    said = re.search(r"h5pack\.advise(\(.*?\))(\S+)\n", h5pack.advise.__doc__)  # its example
    assert eval(f"advice{said[2]}", {"advice": advice})["chunk"]
    audit = h5pack.audit(path, ignore=["H5A102", "H5A103"], progress=False)
    assert audit["result"]["files"][0]["file"] == path


def test_facts_are_those_of_the_extension():
    path = packed(chunk=2)
    facts = h5pack.facts(path, "images")
    seen = h5pack._native.dataset(path, "images")
    for ours, theirs in (("extent", "shape"), ("chunk", "chunk"), ("type", "type"),
                         ("layout", "layout"), ("filters", "filters"),
                         ("logical_bytes", "logical_bytes")):
        want = list(seen[theirs]) if isinstance(seen[theirs], tuple) else seen[theirs]
        assert facts[ours] == want, (ours, facts[ours], want)
    whole = h5pack.facts(path)
    assert {one["path"] for one in whole["datasets"]} >= {"images", "labels", "class_names"}
    raises(h5pack.JobError, lambda: h5pack.facts(path, "imgs"), "no dataset 'imgs'", path)
    assert h5pack.facts(path, b"images") == h5pack.facts(path, "/images")
    raises(ValueError, lambda: h5pack.facts(path, 3), "3 is no path of a dataset")
    raises(h5pack.JobError, lambda: h5pack.facts("nowhere.h5"), "nowhere.h5", "No such file")


def test_facts_are_of_the_dataset_that_a_path_leads_to(tmp_path):
    need("h5py")
    import h5py

    path = str(tmp_path / "links.h5")
    with h5py.File(path, "w") as file:
        file["g/x"] = numpy.zeros((10, 4))
        file["a:/x"] = numpy.zeros(3)
        file["soft"], file["group"] = h5py.SoftLink("/g/x"), h5py.SoftLink("/g")
        file["hard"] = file["g/x"]
        file["nowhere"] = h5py.SoftLink("/none")
    with h5py.File(tmp_path / "far:.h5", "w") as file:
        file["far"] = h5py.ExternalLink("links.h5", "/g/x")
        file["own"] = numpy.zeros(5)
    listed = {one["path"]: one for one in h5pack.facts(path)["datasets"]}
    assert set(listed) == {"g/x", "a:/x"}
    for name in ("g/x", "/g/x/", "g//x", "./g/x", "/g/./x", b"g/x", "soft", "group/x", "hard"):
        assert h5pack.facts(path, name) == listed["g/x"], name
        if isinstance(name, str):
            assert len(h5pack.Loader(path, 4, images=name, with_=None, out="numpy")) == 3, name
    assert h5pack.facts(path, "a:/x") == listed["a:/x"]
    assert h5pack.facts(tmp_path / "far:.h5", "far")["extent"] == [10, 4]
    assert h5pack.facts(tmp_path / "far:.h5", "own")["extent"] == [5]
    for name, says in (("g", "'g' is a group"), ("/", "'/' is a group"), ("", "'/' is a group"),
                       ("nowhere", "'nowhere' is a link to '/none'"), ("none", "no dataset 'none'"),
                       ("g/y", "no dataset 'g/y'"), ("G/x", "no dataset 'G/x'"), ("x", "no dataset 'x'")):
        raises(h5pack.JobError, lambda: h5pack.facts(path, name), says, path)


def test_what_is_no_path_is_said(tmp_path):
    for call, argument in ((h5pack.pack, "sources"), (h5pack.advise, "subject"),
                           (h5pack.audit, "files"), (h5pack.facts, "file")):
        for given, says in ((["a.h5", "b.h5"], "is a list, and a path is wanted"), (("a.h5",), "is a tuple"),
                            ("a\0b", "no path"), (b"a\0", "no path"), (5, "5 is no path"), (None, "no path")):
            why = raises(ValueError, lambda: call(given), f"{argument}: ", says)
            assert why.param == argument
    for text in "x\0", b"x\0":
        raises(ValueError, lambda: h5pack.pack("photos", output=text), "output: ", "no option has a 0")


def test_what_is_no_hdf5_file_has_no_facts(tmp_path):
    for content in (b"", b"text"):
        (tmp_path / "x.h5").write_bytes(content)
        for dataset in (None, "images"):
            raises(h5pack.JobError, lambda name=dataset: h5pack.facts(tmp_path / "x.h5", name),
                   "x.h5", "not an HDF5 file")


def test_of_several_files_those_that_can_be_read_are_told():
    path = packed(chunk=2)
    why = raises(h5pack.JobError, lambda: h5pack.audit(path, "nowhere.h5", "neither.h5"),
                 "nowhere.h5: ", "neither.h5: ")
    assert why.report["result"]["files"][0]["n_datasets"] == 5
    assert pickle.loads(pickle.dumps(why)).report == why.report


def test_progress_comes_as_dictionaries(tmp_path):
    events = []
    h5pack.pack(photos()[0], output=tmp_path / "t.h5", progress=events.append)
    last = [event for event in events if event["progress"] == "packing"][-1]
    assert last == {"progress": "packing", "unit": "images", "done": 21, "total": 21,
                    "bytes": last["bytes"], "note": None}, last
    assert {event["progress"] for event in events} >= {"listing", "packing"}


def test_bars_are_tqdm_s(tmp_path):
    made = []

    class Bar:
        def __init__(self, desc, unit, total, leave):
            self.desc, self.n, self.total, self.is_open, self.text = desc, 0, total, True, ""
            made.append(self)

        def update(self, n):
            self.n += n

        def set_postfix_str(self, text):
            self.text = text

        def close(self):
            self.is_open = False

    bars = _jobs._Bars(Bar)
    event = {"progress": "packing", "unit": "images", "total": 9, "bytes": 0, "note": None}
    bars(dict(event, done=2))
    bars(dict(event, done=5, note="slow"))
    bars(dict(event, progress="checking", done=1, total=None))
    bars.close()
    assert [(bar.desc, bar.n, bar.total, bar.text, bar.is_open) for bar in made] == [
        ("packing", 5, 9, "slow", False), ("checking", 1, None, "", False)]


def fake(folder, text, name="h5pack"):
    program = pathlib.Path(folder) / "tools" / name
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!/bin/sh\n[ \"$1\" = --version ] && "
                       f"echo '{name} (h5pack) {h5pack.__version__}' && exit\n{text}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


def with_build(folder, call):
    before = os.environ.get("H5PACK_BUILD")
    os.environ["H5PACK_BUILD"] = str(folder)
    try:
        return call()
    finally:
        if before is None:
            del os.environ["H5PACK_BUILD"]
        else:
            os.environ["H5PACK_BUILD"] = before


def beside():
    return (pathlib.Path(_jobs.__file__).parent / "bin" / "h5pack").exists()


def test_a_program_that_cannot_be_started_is_a_sentence(tmp_path):
    if not beside():
        program = fake(tmp_path, "exit 0")
        for text in ("no program", "#!/no/interpreter\n"):
            program.write_text(text)
            raises(h5pack.JobError, lambda: with_build(tmp_path, lambda: _jobs.find("h5pack")),
                   f"cannot run '{program}': ")
    words = ["x" * 1000] * 10000
    raises(h5pack.JobError, lambda: h5pack.audit(*words, progress=False), "Argument list too long")


def test_a_program_of_another_version_is_not_run(tmp_path):
    if beside():
        return
    program = fake(tmp_path, "exit 0")
    program.write_text("#!/bin/sh\necho 'h5pack (h5pack) 9.9.9'\n")
    raises(h5pack.JobError, lambda: with_build(tmp_path, lambda: _jobs.find("h5pack")), "9.9.9",
           h5pack.__version__)


def test_a_program_that_was_replaced_is_asked_again_and_a_folder_is_none(tmp_path):
    if beside():
        return
    program = fake(tmp_path, "exit 0")
    assert with_build(tmp_path, lambda: _jobs.find("h5pack")) == str(program)
    program.write_text("#!/bin/sh\necho 'h5pack (h5pack) 9.9.9'\n")
    os.utime(program, ns=(0, 1))
    raises(h5pack.JobError, lambda: with_build(tmp_path, lambda: _jobs.find("h5pack")), "9.9.9")
    program.unlink()
    program.mkdir()
    found = with_build(tmp_path, lambda: _jobs.find("h5pack"))
    assert os.path.isfile(found) and found != str(program)


def test_what_a_program_prints_is_taken_with_care(tmp_path):
    if beside():
        return
    long = "x" * 70000  # more than a pipe holds, on both
    fake(tmp_path, f"echo 'h5pack: {long}' >&2; echo '{{\"a\": \"{long}\"}}'; exit 1")
    report = with_build(tmp_path, lambda: h5pack.pack("a", output="b"))
    assert report["a"] == long and report.status == 1 and report.remarks == (long,)
    fake(tmp_path, "echo no JSON")
    raises(h5pack.JobError, lambda: with_build(tmp_path, lambda: h5pack.pack()), "no JSON")
    fake(tmp_path, "echo 'h5pack: first' >&2; printf 'h5pack: last \\377\\n' >&2; exit 2")
    why = raises(h5pack.JobError, lambda: with_build(tmp_path, lambda: h5pack.pack()))
    assert str(why) == "last \udcff" and why.remarks == ("first", "last \udcff")
    fake(tmp_path, "exit 2")
    raises(h5pack.JobError, lambda: with_build(tmp_path, lambda: h5pack.pack()), "status 2")
    fake(tmp_path, "kill -TERM $$; sleep 9")
    why = raises(h5pack.JobError, lambda: with_build(tmp_path, lambda: h5pack.pack()), "SIGTERM")
    assert why.status == 128 + signal.SIGTERM and "memory" not in str(why)
    fake(tmp_path, "kill -KILL $$; sleep 9")
    raises(h5pack.JobError, lambda: with_build(tmp_path, lambda: h5pack.pack()), "SIGKILL, as",
           "memory is short")
    fake(tmp_path, "kill -INT $$; sleep 9")
    raises(KeyboardInterrupt, lambda: with_build(tmp_path, lambda: h5pack.pack()))


def test_an_exception_in_the_caller_s_function_ends_the_program(tmp_path):
    if beside():
        return
    fake(tmp_path, "trap 'echo >" + str(tmp_path) + "/ended; exit 130' INT\n"
         "echo '{ \"progress\": \"packing\" }' >&2\n"
         "i=0; while [ $i -lt 200 ]; do i=$((i+1)); sleep 0.05; done; exit 2")

    def follow(event):
        raise ZeroDivisionError

    raises(ZeroDivisionError, lambda: with_build(tmp_path,
                                                 lambda: h5pack.pack("a", progress=follow)))
    assert (tmp_path / "ended").exists(), "the program got SIGINT"


def test_a_program_gets_one_ctrl_c_and_time_to_end_in_its_own_way(tmp_path):
    if beside():
        return
    fake(tmp_path, f"cd {tmp_path}; trap 'echo >>told' INT\n"
         "echo '{ \"progress\": \"packing\" }' >&2\n"
         "i=0; while [ $i -lt 30 ]; do i=$((i+1)); sleep 0.05; done\n"
         f"echo '{'x' * 120000}' >&2; echo >ended; exit 130")
    real = _jobs._shares_a_terminal
    try:
        for has_terminal, kind, n_told in ((True, KeyboardInterrupt, 0),
                                           (False, KeyboardInterrupt, 1),
                                           (True, ZeroDivisionError, 1)):
            def follow(event, kind=kind):
                raise kind

            _jobs._shares_a_terminal = lambda has_terminal=has_terminal: has_terminal
            (tmp_path / "told").write_text("")
            (tmp_path / "ended").unlink(missing_ok=True)
            raises(kind, lambda follow=follow: with_build(
                tmp_path, lambda: h5pack.pack("a", progress=follow)))
            assert (tmp_path / "ended").exists(), (has_terminal, kind)
            assert (tmp_path / "told").read_text() == "\n" * n_told, (has_terminal, kind)
    finally:
        _jobs._shares_a_terminal = real


def test_ctrl_c_ends_the_program_and_what_is_done_can_be_resumed(tmp_path):
    code = ("import h5pack, os, signal, sys\n"
            "def follow(event):\n"
            "    if event['progress'] == 'packing':\n"
            "        os.kill(os.getpid(), signal.SIGINT)\n"
            "try:\n"
            "    h5pack.pack(sys.argv[1], output=sys.argv[2], size=1400, compress='gzip:9', "
            "threads=1, chunk=1, progress=follow)\n"
            "except KeyboardInterrupt:\n"
            "    print('interrupted', flush=True)\n")
    child = subprocess.run([sys.executable, "-c", code, photos()[0], str(tmp_path / "t.h5")],
                           capture_output=True, text=True, timeout=60, start_new_session=True)
    rest, said = child.stdout, child.stderr
    assert "interrupted" in rest and not (tmp_path / "t.h5").exists(), (rest, said)
    assert list(tmp_path.glob("t.h5.part*")), "the run that was begun is there"
    for process in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            assert os.fsencode(tmp_path) not in process.read_bytes(), process.read_bytes()
    report = h5pack.pack(photos()[0], output=tmp_path / "t.h5", size=1400, compress="gzip:9",
                         threads=1, chunk=1, resume=True, progress=False)
    assert report["result"]["packed"] == 21
