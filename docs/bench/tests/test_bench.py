"""What a bench does, on a lab: FARLINK_API and FARLINK_TOKEN name it, and
FARLINK is the command that enters it, with FARLINK_LAB its name."""

import itertools
import os
import re
import subprocess
import textwrap

import pytest

from farlink import Box, FarlinkError


def echo(*args):
    """Round trips in ms, without the first, which waits for the neighbour."""
    command = os.environ["FARLINK"].split() + ["lab", "exec", "--name", os.environ["FARLINK_LAB"], "a", "--",
                                               "ping", "-i", "0.2", *args, "10.77.0.2"]
    out = subprocess.run(command, capture_output=True, text=True).stdout
    return [float(ms) for ms in re.findall(r"icmp_seq=(?!1 ).*time=([\d.]+)", out)]


@pytest.mark.link("geo/qirse-sat", seed=7)
def test_geo(farlink):
    link = farlink.state()["links"][0]
    assert (link["profile"], link["seed"]) == ("geo/qirse-sat", 7)
    assert 600 <= min(echo("-c", "8")) < 640  # the first three also wait for the neighbour
    farlink.verdict_should_be_valid()


@pytest.mark.link("geo/qirse-t", overrides={"down": {"path": {"delay": "45ms"}}})
def test_override(farlink):
    assert 60 <= min(echo("-c", "4")) < 100  # 15 ms up and 45 ms down
    assert farlink.series("10s")["time_s"]


def test_boot_state(farlink):
    assert farlink.link()["profile"] == "clear"
    assert "overrides" not in farlink.link()


@pytest.mark.link("geo/qirse-t", mode="bypass")
def test_bypass(farlink):
    assert min(echo("-c", "3")) < 30


@pytest.mark.link("geo/qirse-t")
def test_event(farlink):
    farlink.event("cut", "1s")
    assert farlink.wait_for("CUT", 1)["event"]["kind"] == "cut"
    farlink.wait_for("EMULATING", 5)
    assert any(e["kind"] for e in farlink.log())


@pytest.mark.link("geo/qirse-t")
def test_pep(farlink):
    want = farlink.pep(near=True, far=True, enabled=True, handshake="deferred", wan={"congestion": "bbr"})
    assert want["want"]["wan"]["congestion"] == "bbr" and len(want["proxies"]) == 2
    assert farlink.flows()["total"] == 0
    assert not farlink.no_pep()["want"]["near"]


def test_stream(farlink):
    messages = list(itertools.islice(farlink.stream(), 4))
    assert messages[0][0] == "hello"
    assert "sample" in [event for event, _ in messages]


@pytest.mark.link("geo/qirse-t")
def test_capture(farlink, tmp_path):
    farlink.trigger(lost="random", rtt_above="2s", way="up", rate_below="8kbit/s")
    echo("-c", "3")
    path = farlink.capture(str(tmp_path / "last.pcapng"), last="10s")
    assert open(path, "rb").read(4) == b"\x0a\x0d\x0d\x0a"  # section header of pcapng


def test_problems(farlink):
    with pytest.raises(FarlinkError) as e:
        farlink.apply("geo/qirse-st", dry_run=True)
    assert e.value.status == 422 and e.value.kind == "invalid"
    assert any(p["location"] == "body.profile" for p in e.value.errors)


def test_runs(farlink):
    """Each test is a run: its name is the title, marks say how it went."""
    mine = [r for r in farlink.runs() if r.data["phase"] == "running"]
    assert len(mine) == 1 and mine[0].data["title"].endswith("::test_runs")
    assert mine[0].data["marks"][0]["text"].startswith("begin ")
    assert mine[0].mark("half way")["text"] == "half way"


def test_lease(farlink):
    state = farlink.call("GET", "/lease")
    assert state["held"] and "test_lease" in state["purpose"]
    with Box().lease("mine"):  # the same token: the same holder
        assert farlink.call("GET", "/lease")["purpose"] == "mine"
    farlink.take_lease("again")


def test_report_on_failure(pytester):
    """A test that fails keeps its run's report, and says where."""
    pytester.makeconftest('pytest_plugins = ["pytest_farlink"]')
    pytester.makepyfile(textwrap.dedent("""
        import pytest

        @pytest.mark.link("geo/qirse-t", seed=3)
        def test_that_fails(farlink):
            assert False, "on purpose"

        def test_that_passes(farlink):
            pass
    """))
    result = pytester.runpytest_subprocess("--farlink-reports", "kept")
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["*- farlink -*", "link geo/qirse-t #* seed 3, verdict *", "report kept/test_that_fails-*.html"])
    report, = (pytester.path / "kept").iterdir()
    text = report.read_text()
    assert "geo/qirse-t" in text and "failed test_report_on_failure.py::test_that_fails" in text
