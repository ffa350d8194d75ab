#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pages of numerics in a headless Chromium, on a phone's and on a desk's width: elements are there and have a
size, nothing is wider than the page, no script ends in an error, and nothing comes from the network.

  test/Long/browser.py BIN ROOT     ROOT: a chroot that has chromium
"""

import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "test"), os.path.join(ROOT, "test", "Numerics")]

import numpy  # noqa: E402

import models  # noqa: E402
import named_tests  # noqa: E402
from tools import Tools  # noqa: E402

PLACE = "/tmp/pages"
# Says what it finds in the page beside it.
LOOK = """<!DOCTYPE html><meta charset="utf-8"><pre id="found"></pre>
<iframe id="page" src="%(page)s" style="width:%(width)dpx;height:2000px;border:0"></iframe><script>
document.getElementById("page").onload = event => {
  const view = event.target.contentWindow, page = view.document, all = what => [...page.querySelectorAll(what)];
  const sized = what => all(what).filter(each => each.getBoundingClientRect().height > 0 && each.getBoundingClientRect().width > 0).length;
  document.getElementById("found").textContent = JSON.stringify({
    title: page.title, width: page.documentElement.scrollWidth, heading: sized("h1"), layers: sized(".layer"),
    drawings: sized("svg:not(.steps)"), steps: sized("svg.steps"), bars: sized("svg rect"), rows: sized("tbody tr"),
    marks: all(".mark").map(each => each.innerText), scripts: page.scripts.length,
    wide: all(".layer, .layer b, h1, h2, p, svg, .table").filter(each => each.getBoundingClientRect().right > %(width)d + 1).length,
    small: all("p, b, td").filter(each => parseFloat(view.getComputedStyle(each).fontSize) < 12).length,
    loaded: [...all("[src], [srcset], [href], object, link").map(each => each.outerHTML),
             ...all("style, [style]").map(each => each.outerHTML).filter(each => /url\\(|@import/.test(each))]});
};
</script>"""


class Browser:
    def __init__(self, tools, root):
        self.tools, self.root = tools, root
        models.write(tools.path("conv.json"), models.family("conv"))
        x, y = models.data_of("conv", 64, seed=4)
        numpy.savez(tools.path("d.npz"), x=x, y0=y)
        self.data = tools.path("d.npz")
        self.libraries = {
            policy: tools.compile(tools.path("conv.json"), policy, f"--policy={policy}", "--optimizer=adam")
            for policy in ("float32", "mixed_float16")
        }

    def look(self, page, width):
        """What the browser finds, and shows on a screen of this width."""
        with open(self.tools.path("look.html"), "w") as handle:
            handle.write(LOOK % {"page": page, "width": width})
        command = ["chroot", self.root, "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                   "--allow-file-access-from-files", "--enable-logging=stderr", "--host-resolver-rules=MAP * ~NOTFOUND",
                   f"--window-size={max(width, 500) + 40},2200", "--virtual-time-budget=5000", "--dump-dom",
                   f"file://{PLACE}/look.html"]  # fmt: skip
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8"}
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
        found = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.S)
        assert done.returncode == 0 and found and found[1], f"exit {done.returncode}: {done.stdout[-300:]} {done.stderr[-600:]}"
        said = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
        assert not said, said
        return json.loads(found[1].replace("&quot;", '"').replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))

    def check(self, page, layers, steps=0, drawn=True, rows=None):
        for width in (360, 1280):
            found = self.look(page, width)
            assert found["heading"] == 1 and found["title"], found
            assert found["scripts"] == 0 and not found["loaded"], found
            assert found["width"] <= width and found["wide"] == 0 and found["small"] == 0, found
            assert found["rows"] >= (rows or layers + 1) and found["layers"] >= layers, found
            if layers and drawn:
                assert found["drawings"] == found["layers"] and found["bars"] > 20, found
            if layers:
                # Without colours a layer's state is a sign and a number.
                assert len(found["marks"]) == found["layers"], found
                assert all(mark[0] in "✓!✗" for mark in found["marks"]), found["marks"]
            assert found["steps"] == (found["layers"] if steps else 0), found
        return f"{found['layers']} layers, {found['rows']} rows"

    def test_numerics(self):
        self.tools.call("mpc-run", "numerics", self.libraries["mixed_float16"], "--data", self.data, "--batch-size", 32,
                        "--html", self.tools.path("numerics.html"))  # fmt: skip
        return self.check("numerics.html", layers=4)

    def test_training(self):
        self.tools.call("mpc-run", "train", self.libraries["mixed_float16"], "--data", self.data, "--epochs", 20, "--batch-size", 16,
                        "--numerics", self.tools.path("reports"), "--numerics-every", 1, "--html", self.tools.path("training.html"))  # fmt: skip
        return self.check("training.html", layers=4, steps=80)

    def test_blame(self):
        x, y = models.data_of("conv", 64, seed=4)
        x[37] *= 1e6
        numpy.savez(self.tools.path("large.npz"), x=x, y0=y)
        self.tools.call("mpc-run", "numerics", self.libraries["mixed_float16"], "--data", self.tools.path("large.npz"), "--batch-size", 32,
                        "--blame", "--html", self.tools.path("blame.html"))  # fmt: skip
        with open(self.tools.path("blame.html")) as handle:
            assert "overflow in step 1, forward: layer &#39;probe&#39;" in handle.read().replace("'", "&#39;").replace("&apos;", "&#39;")
        return self.check("blame.html", layers=4)

    def test_compare(self):
        self.tools.call("mpc-run", "compare", *self.libraries.values(), "--data", self.data, "--html", self.tools.path("compare.html"))
        return self.check("compare.html", layers=3)

    def test_search(self):
        self.tools.call("mpcc", self.tools.path("conv.json"), "--policy=auto:memory,mixed_bfloat16", "--initialize", "--mode=infer", "-o",
                        self.tools.path("auto.mpc"), "--name=m", "--march=native", "--metric=output:0.05", "--calibrate", self.data)  # fmt: skip
        return self.check("auto.mpc/m.search.html", layers=0)

    def test_ranges(self):
        self.tools.call("mpcc", self.tools.path("conv.json"), "--policy=mixed_float16", "--initialize", "--mode=infer", "--name=m",
                        "--compile-to=casts", "-o", self.tools.path("ir"))  # fmt: skip
        weights = self.tools.path("trained.safetensors")
        self.tools.call("mpc-run", "train", self.libraries["mixed_float16"], "--data", self.data, "--steps", 4, "--batch-size", 16, "--save", weights)
        self.tools.call("mpc-opt", self.tools.path("ir/m.mlir"), "-o", os.devnull,
                        f"--mpc-analyze-ranges=inputs=x:0:1 weights={weights} html={self.tools.path('ranges.html')}")  # fmt: skip
        return self.check("ranges.html", layers=3)

    def test_lint(self):
        self.tools.call("mpcc", self.tools.path("conv.json"), "--policy=float16", "--initialize", "--mode=train", "--name=m", "--optimizer=sgd",
                        "--loss=sparse_categorical_crossentropy", "--output-guard=off", "--lint", f"--html={self.tools.path('lint.html')}",
                        "--compile-to=casts", "-o", self.tools.path("lint"))  # fmt: skip
        # A row for each hazard: one of a layer, two of another.
        return self.check("lint.html", layers=3, drawn=False, rows=3)

    def test_broken_page(self):
        """What the checks look for is seen where it is wrong."""
        with open(self.tools.path("broken.html"), "w") as handle:
            handle.write('<!DOCTYPE html><title>b</title><h1>b</h1><p style="width:900px">wide</p><img src="missing.png"><script>nothing()</script>')
        try:
            self.look("broken.html", 360)
        except AssertionError as problem:
            assert "nothing is not defined" in str(problem), problem
        else:
            raise AssertionError("an error of a script is not seen")
        with open(self.tools.path("wide.html"), "w") as handle:
            handle.write('<!DOCTYPE html><title>b</title><h1>b</h1><p style="width:900px">wide</p><img src="look.html">')
        found = self.look("wide.html", 360)
        assert found["wide"] == 1 and found["width"] >= 900 and found["loaded"], found


def main():
    tools = Tools(sys.argv[1], sys.argv[2] + PLACE)
    return named_tests.run(named_tests.methods(Browser(tools, sys.argv[2])))


if __name__ == "__main__":
    sys.exit(main())
