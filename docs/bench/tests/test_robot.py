"""geo.robot, tried: by Robot Framework where that is installed (Debian has no
package of it), else step by step by the few lines below."""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import farlink as client

SUITE = pathlib.Path(__file__).parent.parent / "geo.robot"


def test_suite(tmp_path):
    if importlib.util.find_spec("robot") is None:
        return Steps(SUITE.read_text()).run()
    done = subprocess.run([sys.executable, "-m", "robot", "--pythonpath", str(SUITE.parent), "--outputdir", str(tmp_path), str(SUITE)],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


class Steps:
    """What geo.robot needs of Robot Framework: sections, cells set apart by
    two spaces, variables with items and attributes, named arguments."""

    def __init__(self, text):
        self.sections = dict(re.findall(r"^\*\*\* (.+?) \*\*\*\n(.*?)(?=^\*\*\*|\Z)", text, re.M | re.S))
        self.variables = dict(self.cells(line) for line in self.sections["Variables"].splitlines() if line)

    @staticmethod
    def cells(line):
        return re.split(r" {2,}", line.strip())

    def run(self):
        settings = [self.cells(line) for line in self.sections["Settings"].splitlines()]
        library, = [c for c in settings if c[0] == "Library"]
        assert library[1] == "farlink.Box"
        self.box = client.Box(*[self.value(c) for c in library[2:]])
        steps = {c[0]: c[1:] for c in settings}
        self.keyword(steps["Suite Setup"])
        cases = 0
        for line in self.sections["Test Cases"].splitlines():
            cases += bool(line) and not line.startswith(" ")
            if line.startswith(" "):
                self.step(self.cells(line))
        self.keyword(steps["Suite Teardown"])
        assert cases == 3

    def step(self, cells):
        if cells[0].endswith("="):
            self.variables[cells[0][:-1]] = self.keyword(cells[1:])
        else:
            self.keyword(cells)

    def value(self, text):
        text = re.sub(r"%\{(\w+)\}", lambda m: os.environ[m[1]], text)
        m = re.fullmatch(r"(\$\{(\w+))((?:\.\w+)*)\}((?:\[\w+\])*)", text)
        if not m:
            return text
        found = self.variables[m[1] + "}"]
        for name in re.findall(r"\.(\w+)", m[3]):
            found = getattr(found, name)
        for key in re.findall(r"\[(\w+)\]", m[4]):
            found = found[int(key) if key.isdigit() else key]
        return found

    def keyword(self, cells):
        name, *rest = cells
        if name == "Run Keyword And Expect Error":
            try:
                self.keyword(rest[1:])
            except client.FarlinkError as e:
                assert re.match(re.escape(rest[0]).replace(r"\*", ".*"), "FarlinkError: " + str(e), re.S), str(e)
                return None
            raise AssertionError("no error")
        named = dict(c.split("=", 1) for c in rest if re.match(r"\w+=", c))
        plain = [self.value(c) for c in rest if not re.match(r"\w+=", c)]
        if name == "Should Be Equal":
            assert plain[0] == plain[1], plain[2:]
            return None
        if name == "Call Method":
            return getattr(plain[0], plain[1])(*plain[2:])
        return getattr(self.box, name.lower().replace(" ", "_"))(*plain, **{k: self.value(v) for k, v in named.items()})
