"""pytest_farlink.py: a pytest plugin for benches with a farlink box.

    pytest -p pytest_farlink --farlink-api http://192.0.2.2:8080 --farlink-token flk_...

(or FARLINK_API and FARLINK_TOKEN; or `pytest_plugins = ["pytest_farlink"]` in
conftest.py). It lies beside farlink.py.

    @pytest.mark.link("geo/qirse-sat", seed=7)
    def test_web(farlink):
        ...

The fixture `farlink` is the box. The session holds the lease; each test begins
from the boot state with the link of its marker, is a run of its own with the
test's name as title and its outcome as mark, and is an error if the ledger
says that the run was INVALID. When a test fails, the run's report is kept
under --farlink-reports, and named in pytest's own report.
"""

import os
import re
import threading
import time

import pytest

from farlink import Box, FarlinkError

_run = pytest.StashKey()


def pytest_addoption(parser):
    group = parser.getgroup("farlink", "farlink box")
    group.addoption("--farlink-api", default=os.environ.get("FARLINK_API"), help="address of the box (FARLINK_API)")
    group.addoption("--farlink-token", default=os.environ.get("FARLINK_TOKEN"), help="token for it (FARLINK_TOKEN)")
    group.addoption("--farlink-pair", default=None, help="pair of ports, where the box has several")
    group.addoption("--farlink-patience", default=600, type=float, help="seconds to queue for the lease (600)")
    group.addoption("--farlink-reports", default="farlink-reports", help="directory for the reports of tests that failed")


def pytest_configure(config):
    config.addinivalue_line("markers", "link(profile, seed=0, **want): what the farlink box emulates during the test")


@pytest.fixture(scope="session")
def farlink_box(request):
    """The box, leased for the session."""
    option = request.config.getoption
    if not option("--farlink-api"):
        pytest.skip("no box: want --farlink-api or FARLINK_API")
    box = Box(option("--farlink-api"), option("--farlink-token"), option("--farlink-pair"))
    box.take_lease("pytest", ttl="2m", patience=option("--farlink-patience"))
    ended = threading.Event()

    def renew():
        while not ended.wait(30):
            try:
                box.take_lease("pytest", ttl="2m")
            except FarlinkError:
                pass  # another took it; the next test waits for it

    keeper = threading.Thread(target=renew, daemon=True)
    keeper.start()
    try:
        yield box
    finally:
        ended.set()
        keeper.join()
        box.reset()  # gives the lease back, too


@pytest.fixture
def farlink(farlink_box, request):
    """The box with the link of the test's marker, in a run of its own."""
    box, node = farlink_box, request.node
    box.reset()
    # Reset gave the lease back: who waits for it is served between two tests.
    box.take_lease("pytest: " + node.name[:150], ttl="2m", patience=request.config.getoption("--farlink-patience"))
    marker = node.get_closest_marker("link")
    if marker:
        box.apply(*marker.args, **marker.kwargs)
    box.wait_for("EMULATING" if not marker or marker.kwargs.get("mode", "emulate") == "emulate" else {"bypass": "BYPASS", "cut": "CUT"}[marker.kwargs["mode"]])
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", node.name).strip("-.")[:40]
    run = box.start_run("%s-%s" % (name, format(time.time_ns(), "x")), title=node.nodeid[:200])
    run.mark("begin " + node.nodeid)
    node.stash[_run] = run
    yield box
    if run.data["phase"] == "running":
        run.mark("end " + node.nodeid)
        run.stop()
    if run.verdict == "INVALID":
        pytest.fail("farlink: the run's figures may not be trusted: " + run.reason, pytrace=False)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    run = item.stash.get(_run, None)
    if report.when == "call" and report.failed and run:
        run.mark("failed " + item.nodeid)
        run.stop()
        report.sections.append(("farlink", _kept(run, item.config)))


def _kept(run, config):
    directory = config.getoption("--farlink-reports")
    os.makedirs(directory, exist_ok=True)
    path = run.save_report(os.path.join(directory, run.id + ".html"))
    link = run.data["links"][0] if run.data.get("links") else {}
    return "link %s #%s seed %s, verdict %s %s\nreport %s" % (
        link.get("profile"), link.get("hash"), link.get("seed"), run.verdict, run.reason, path)
