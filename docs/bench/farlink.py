"""farlink.py: drive a farlink box from Python. One file, nothing to install.

    from farlink import Box

    box = Box("http://192.0.2.2:8080", token="flk_...")     # or FARLINK_API, FARLINK_TOKEN
    with box.lease("nightly", ttl="30m"):
        box.apply("geo/qirse-sat", seed=7)
        with box.run("web-1", title="web over GEO") as run:
            run.mark("page asked for")
            ...
        assert run.verdict == "VALID", run.reason
        run.save_report("web-1.html")

Every error of the box is a FarlinkError with its status, its type and all the
problems it found. Quantities in documents are text ("250ms", "8Mbit/s");
figures are numbers whose name ends in the unit. As a Robot Framework library
(see robot.md) the public methods of Box are its keywords.
"""

import contextlib
import json
import os
import time
import urllib.error
import urllib.parse
import urllib.request

__all__ = ["Box", "FarlinkError", "Run"]


class FarlinkError(Exception):
    """What the box answered when it would not (RFC 9457)."""

    def __init__(self, status, problem):
        self.status = status                                   # 422
        self.kind = problem.get("type", "").rsplit(":", 1)[-1]  # "invalid"
        self.detail = problem.get("detail") or problem.get("title", "")
        self.errors = problem.get("errors") or []               # [{"location", "message", "value"}]
        lines = ["%s %s: %s" % (status, self.kind, self.detail)]
        lines += ["  %s: %s" % (e.get("location", ""), e.get("message", "")) for e in self.errors]
        super().__init__("\n".join(lines))


class Box:
    """A farlink box, or one pair of ports of it."""

    ROBOT_LIBRARY_SCOPE = "GLOBAL"

    def __init__(self, api=None, token=None, pair=None, timeout=30):
        self._api = (api or os.environ.get("FARLINK_API") or "http://127.0.0.1:8080").rstrip("/")
        if "://" not in self._api:
            self._api = "http://" + self._api
        self._token = token or os.environ.get("FARLINK_TOKEN")
        self._pair = pair
        self._timeout = float(timeout)

    # What is.

    def status(self):
        """All that is, of the whole box."""
        return self.call("GET", "/status")

    def state(self):
        """What is, of the pair: word, verdict, links, figures, readings."""
        pairs = self.status()["pairs"]
        for p in pairs:
            if self._pair in (None, p["name"]) and (self._pair or len(pairs) == 1):
                return p
        raise ValueError("pair %r: want one of %s" % (self._pair, ", ".join(p["name"] for p in pairs)))

    def profiles(self):
        """The profiles that the box has, with their figures."""
        return self.call("GET", "/profiles")

    def link(self):
        """What was asked of the pair."""
        return self.call("GET", "/link", query=self._of())

    def series(self, window="1m"):
        """What was, in columns, up to three hours back."""
        return self.call("GET", "/series", query=self._of(window=window))

    def flows(self, side=None, offset=0, limit=100):
        """The split connections, {"total": n, "flows": [...]}."""
        return self.call("GET", "/flows", query=self._of(side=side, offset=offset, limit=limit))

    def log(self, after=0):
        """What happened, oldest first."""
        return self.call("GET", "/events", query={"after": after})

    def stream(self, last_event_id=None):
        """Follow the box: yields (event, data) without end: "hello", then
        "sample" ten times a second, "state", "event", "mark", "capture".
        Close the generator to stop."""
        request = self._request("GET", "/stream")
        if last_event_id is not None:
            request.add_header("Last-Event-ID", str(last_event_id))
        with self._open(request) as answer:
            event, data = "message", []
            for raw in answer:
                line = raw.decode().rstrip("\r\n")
                if not line:
                    if data:
                        yield event, json.loads("\n".join(data))
                    event, data = "message", []
                elif line.startswith("event:"):
                    event = line[6:].strip()
                elif line.startswith("data:"):
                    data.append(line[5:].strip())

    # What is asked.

    def apply(self, profile=None, seed=0, overrides=None, mode="emulate", inline=None, new_run=True, dry_run=False, **more):
        """Have the pair emulate a profile by name, or one as TOML text
        (inline). With new_run the channel begins anew: the same seed is the
        same channel from here on. more: links, rules, default."""
        want = {"profile": profile, "inline": inline, "seed": int(seed), "overrides": overrides, "mode": mode}
        want = {k: v for k, v in {**want, **more}.items() if v is not None}
        return self.call("PUT", "/link", want, self._of(new_run=new_run, dry_run=dry_run))

    def patch(self, dry_run=False, **change):
        """Change some of what is asked: patch(overrides={"down": {"loss":
        {"probability": 0.01}}}); None removes a key."""
        return self.call("PATCH", "/link", change, self._of(dry_run=dry_run))

    def bypass(self):
        """Let frames pass unharmed, until the next apply."""
        return self.patch(mode="bypass")

    def event(self, kind, duration, **more):
        """Make something happen for a time: event("cut", "2s"),
        event("fade", "20s", depth_db=6)."""
        return self.call("POST", "/link/events", {"kind": kind, "duration": duration, **more}, self._of())

    def pep(self, **want):
        """The proxies: without arguments what they are, with arguments ask
        for others: pep(near=True, far=True, enabled=True,
        handshake="deferred", wan={"congestion": "xlayer"})."""
        if not want:
            return self.call("GET", "/pep", query=self._of())
        return self.call("PUT", "/pep", want, self._of())

    def no_pep(self):
        """Take the proxies away."""
        return self.call("PUT", "/pep", {"near": False, "far": False, "enabled": False}, self._of())

    def reset(self):
        """Back to the boot state; ends link events and frees the own lease."""
        self.call("POST", "/reset")

    # Who drives.

    @contextlib.contextmanager
    def lease(self, purpose, ttl="15m", patience=0, force=False):
        """Hold the lease: `with box.lease("nightly"):`. patience: seconds to
        queue for it while another holds it."""
        self.take_lease(purpose, ttl, patience, force)
        try:
            yield self
        finally:
            self.release_lease()

    def take_lease(self, purpose, ttl="15m", patience=0, force=False):
        """Take the lease, or renew it; queue for it up to patience seconds."""
        deadline = time.monotonic() + float(patience)
        while True:
            wait = time.monotonic() < deadline
            status, state = self._exchange("PUT", "/lease", {"purpose": purpose, "ttl": ttl}, {"wait": wait, "force": force})
            if status != 202:  # 202: we wait in the queue
                return state
            time.sleep(0.5)

    def release_lease(self):
        """Give the lease back."""
        return self.call("DELETE", "/lease")

    # What is kept.

    @contextlib.contextmanager
    def run(self, id, title=None):
        """Keep samples, marks, events and the worst verdict of a stretch of
        time: `with box.run("nightly-42") as run:`."""
        run = self.start_run(id, title)
        try:
            yield run
        finally:
            run.stop()

    def start_run(self, id, title=None):
        """Begin a run and return it."""
        body = {"phase": "running"}
        if title:
            body["title"] = title
        return Run(self, self.call("PUT", "/runs/" + _quote(id), body, self._of()))

    def stop_run(self, id):
        """End a run and return it."""
        return Run(self, self.call("PUT", "/runs/" + _quote(id), {"phase": "stopped"}, self._of()))

    def runs(self):
        """All runs, the newest first."""
        return [Run(self, r) for r in self.call("GET", "/runs")]

    def mark(self, id, text):
        """Put a mark into a run that goes on."""
        return self.call("POST", "/runs/%s/marks" % _quote(id), {"text": str(text)[:500]})

    def report(self, id, format="html"):
        """The report of a run, as bytes: html, json, csv or junit."""
        return self._bytes("/runs/%s/report" % _quote(id), {"format": format})

    def capture(self, path=None, last="30s"):
        """The last frames with their fates, as pcapng: bytes, or written to
        the file path."""
        return _save(self._bytes("/capture/pcap", self._of(last=last)), path)

    def trigger(self, armed=True, wait="5s", **when):
        """Have a capture saved by itself, once: when a frame is lost for a
        reason (lost="queue_full", docs/metrics.md) or gets a mark
        (mark="ce"), when the delivered rate of a way falls or rises
        (way="up", rate_below="1Mbit/s", rate_above="20Mbit/s"), when the
        link's round trip grows (rtt_above="700ms"), or when a mark is put
        into a run (run_mark="moved")."""
        return self.call("PUT", "/capture", {"armed": armed, "trigger": dict(when, wait=wait)}, self._of())

    # Checks, for benches.

    def wait_for(self, word="EMULATING", timeout=30):
        """Wait until the pair's word is so; returns its state."""
        deadline = time.monotonic() + float(timeout)
        while True:
            state = self.state()
            if state["word"] == word and (word != "EMULATING" or state["effective"]):
                return state
            if time.monotonic() > deadline:
                raise TimeoutError("pair is %s (%s) after %s s, want %s" % (state["word"], state.get("why") or state.get("not_effective", ""), timeout, word))
            time.sleep(0.1)

    def verdict_should_be_valid(self):
        """Fail unless the ledger says that figures may be trusted."""
        verdict = self.state()["verdict"]
        if verdict["word"] == "INVALID":
            raise AssertionError("verdict INVALID: " + verdict.get("reason", ""))

    # How it is said.

    def call(self, method, path, body=None, query=None):
        """Any operation of the API (docs/openapi.yaml) by method and path."""
        return self._exchange(method, path, body, query)[1]

    def _exchange(self, method, path, body=None, query=None):
        with self._open(self._request(method, path, body, query)) as answer:
            text = answer.read()
            return answer.status, json.loads(text) if text else None

    def _of(self, **query):
        return {"pair": self._pair, **query}

    def _bytes(self, path, query):
        with self._open(self._request("GET", path, query=query)) as answer:
            return answer.read()

    def _request(self, method, path, body=None, query=None):
        pairs = [(k, str(v).lower() if isinstance(v, bool) else v) for k, v in (query or {}).items() if v is not None]
        url = self._api + "/api/v1" + path + ("?" + urllib.parse.urlencode(pairs) if pairs else "")
        request = urllib.request.Request(url, method=method)
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        if self._token:
            request.add_header("Authorization", "Bearer " + self._token)
        return request

    def _open(self, request):
        try:
            return urllib.request.urlopen(request, timeout=self._timeout)
        except urllib.error.HTTPError as e:
            with e:
                text = e.read()
            try:
                problem = json.loads(text)
            except ValueError:
                problem = {"title": e.reason}
            raise FarlinkError(e.code, problem) from None


class Run:
    """A run: a stretch of time on a pair, with a name."""

    def __init__(self, box, data):
        self._box, self.data = box, data

    id = property(lambda self: self.data["id"])
    verdict = property(lambda self: self.data["verdict"]["word"])  # VALID, DEGRADED, INVALID
    reason = property(lambda self: self.data["verdict"].get("reason", ""))

    def mark(self, text):
        """Put a mark into it."""
        return self._box.mark(self.id, text)

    def stop(self):
        """End it; its verdict and figures are then final."""
        self.data = self._box.stop_run(self.id).data
        return self

    def report(self, format="html"):
        """Its report, as bytes: html, json, csv or junit."""
        return self._box.report(self.id, format)

    def save_report(self, path, format="html"):
        """Write its report to a file."""
        return _save(self.report(format), path)

    def capture(self, path=None):
        """Its last 30 s of frames as pcapng, if they were captured."""
        return _save(self._box._bytes("/runs/%s/pcap" % _quote(self.id), {}), path)

    def delete(self):
        """Remove it from the box."""
        self._box.call("DELETE", "/runs/" + _quote(self.id))


def _quote(name):
    return urllib.parse.quote(str(name), safe="")


def _save(content, path):
    if path is None:
        return content
    with open(path, "wb") as f:
        f.write(content)
    return path
