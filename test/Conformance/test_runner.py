#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests the runner itself: a check that cannot fail checks nothing.

The expected arrays of every fixture must agree with themselves, and stop agreeing when one element
leaves its tolerance, when a NaN appears or vanishes, when an array is missing or has another shape.
"""

import os
import sys
import tarfile
import tempfile
import unittest

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

import comparison
import keras2
import places
import report
import run
import selection

FIXTURES = places.fixtures("keras")


def all_cases():
    """Every case of the runner's kinds, whatever it uses."""
    for kind in selection.KINDS:
        for name in sorted(os.listdir(os.path.join(FIXTURES, kind))):
            yield selection.Case(os.path.join(FIXTURES, kind, name))


def expected_of(case):
    with numpy.load(case.path("expected.npz")) as arrays:
        return {name: arrays[name] for name in arrays.files}


def failing(case, got, expected):
    tolerances = case.description["tolerances"]["arrays"]
    unchecked = case.description.get("unchecked") or ()
    mismatches, _, _ = comparison.compare(got, expected, tolerances, unchecked)
    return {mismatch.array for mismatch in mismatches}


def perturbed(name, array, tolerance):
    """The array with its element of largest magnitude moved to three times its tolerance."""
    copy = array.copy()
    flat = copy.reshape(-1)
    if copy.dtype.kind == "b":
        flat[0] = not flat[0]
    elif copy.dtype.kind in "iu" or name == "dynamic_scale":
        flat[0] += 1
    else:
        flat = flat.astype(numpy.float64)
        finite = numpy.flatnonzero(numpy.isfinite(flat))
        if not len(finite):
            flat[0] = 1.0
        else:
            place = finite[numpy.argmax(numpy.abs(flat[finite]))]
            allowed = tolerance["atol"] + tolerance["rtol"] * abs(flat[place])
            flat[place] += 3 * allowed if allowed else 1.0
        copy = flat.reshape(array.shape)
    return copy


class EveryFixture(unittest.TestCase):
    def test_agrees_with_itself_and_only_with_itself(self):
        checked = 0
        for case in all_cases():
            expected = expected_of(case)
            self.assertEqual(failing(case, dict(expected), expected), set(), case.identifier)
            unchecked = case.description.get("unchecked") or ()
            for name, tolerance in case.description["tolerances"]["arrays"].items():
                if name in unchecked or name not in expected or not expected[name].size:
                    continue
                got = dict(expected)
                got[name] = perturbed(name, expected[name], tolerance)
                self.assertEqual(failing(case, got, expected), {name}, case.identifier)
                checked += 1
        self.assertGreater(checked, 2000)

    def test_missing_array_fails(self):
        for case in all_cases():
            expected = expected_of(case)
            name = next(iter(case.description["tolerances"]["arrays"]))
            got = {key: array for key, array in expected.items() if key != name}
            self.assertIn(name, failing(case, got, expected), case.identifier)


class Comparing(unittest.TestCase):
    close = {"rtol": 1e-3, "atol": 1e-6}

    def fails(self, got, expected, tolerance=None, name="out0"):
        got = numpy.array(got)
        mismatch, _ = comparison.compare_array(
            name, got, numpy.array(expected), tolerance or self.close
        )
        return mismatch is not None

    def test_tolerance_is_inclusive_and_relative_to_expected(self):
        half = {"rtol": 0.5, "atol": 0.0}
        self.assertFalse(self.fails([1.5], [1.0], half))
        self.assertTrue(self.fails([1.0], [0.5], half))

    def test_nan_and_infinity_stay_in_place(self):
        self.assertFalse(self.fails([numpy.nan, numpy.inf], [numpy.nan, numpy.inf]))
        self.assertTrue(self.fails([1.0], [numpy.nan]))
        self.assertTrue(self.fails([numpy.nan], [1.0]))
        self.assertTrue(self.fails([-numpy.inf], [numpy.inf]))
        self.assertTrue(self.fails([numpy.nan], [numpy.inf]))

    def test_any_nonfinite_is_enough_where_the_case_says_so(self):
        anything = {"rtol": 0.1, "atol": 0.0, "nonfinite": "any"}
        self.assertFalse(self.fails([numpy.nan, 1.0], [-numpy.inf, 1.0], anything))
        self.assertTrue(self.fails([7.0], [numpy.nan], anything))
        self.assertTrue(self.fails([numpy.nan], [7.0], anything))

    def test_integers_and_zero_tolerances_are_exact(self):
        self.assertTrue(self.fails([4], [5]))
        self.assertTrue(self.fails([True], [False]))
        self.assertTrue(self.fails([1.0 + 1e-7], [1.0], {"rtol": 0.0, "atol": 0.0}))
        self.assertTrue(self.fails([256.5], [256.0], {"rtol": 1, "atol": 1}, "dynamic_scale"))

    def test_shape_must_agree(self):
        self.assertTrue(self.fails([1.0, 1.0], [1.0]))
        self.assertTrue(self.fails(1.0, [1.0]))

    def test_nothing_to_compare_fails(self):
        mismatches, count, _ = comparison.compare({}, {"ref0": numpy.zeros(1)}, {})
        self.assertEqual((count, len(mismatches)), (0, 1))

    def test_unchecked_arrays_are_not_compared(self):
        expected = {"a": numpy.ones(2), "b": numpy.ones(2)}
        tolerances = {"a": self.close, "b": self.close}
        mismatches, count, _ = comparison.compare({"b": numpy.ones(2)}, expected, tolerances, ["a"])
        self.assertEqual((count, mismatches), (1, []))


class FakeTools:
    """Stands where execution would run mpcc and mpc-run."""


class Judging(unittest.TestCase):
    def setUp(self):
        self.case = selection.Case(os.path.join(FIXTURES, "forward", "dense_acts_a__float32"))
        self.execute = run.execution.execute
        self.addCleanup(setattr, run.execution, "execute", self.execute)

    def judge(self, got_scale, not_yet):
        expected = expected_of(self.case)
        got = {name: array * got_scale for name, array in expected.items()}
        run.execution.execute = lambda case, tools, keep: (got, expected)
        return run.run_case(self.case, FakeTools(), not_yet, False)

    def test_pass_and_fail(self):
        self.assertEqual(self.judge(1.0, {}).status, "pass")
        result = self.judge(1.1, {})
        self.assertEqual((result.status, result.good), ("fail", False))

    def test_listed_case_must_fail(self):
        listed = {self.case.identifier: "reason"}
        self.assertEqual(self.judge(1.1, listed).status, "xfail")
        result = self.judge(1.0, listed)
        self.assertEqual((result.status, result.good), ("xpass", False))

    def test_tool_failure_is_an_error(self):
        def broken(case, tools, keep):
            raise run.execution.ToolError("mpcc: exit 3")

        run.execution.execute = broken
        self.assertEqual(run.run_case(self.case, FakeTools(), {}, False).status, "error")

    def test_too_few_cases_fail(self):
        supported = {"expected_cases": {"forward": 2}}
        case = selection.Case(os.path.join(FIXTURES, "forward", "ops_arith__float32"))
        self.assertEqual(len(run.check_counts([case], supported, ["forward"])), 1)
        self.assertEqual(run.check_counts([case] * 2, supported, ["forward"]), [])


class Selecting(unittest.TestCase):
    empty = dict.fromkeys(
        ["layers", "operations", "losses", "optimizers", "optimizer_options", "schedules",
         "regularizers", "constraints", "metrics"], [])  # fmt: skip

    def test_nothing_supported_selects_nothing(self):
        cases, waiting = selection.select(FIXTURES, dict(self.empty, excluded={}), selection.KINDS)
        self.assertEqual(cases, [])
        self.assertGreater(sum(waiting.values()), 400)

    def test_one_missing_name_drops_the_case(self):
        supported = selection.load_supported(os.path.join(HERE, "supported.json"))
        with_prelu, _ = selection.select(FIXTURES, supported, ["forward"])
        supported["layers"] = [name for name in supported["layers"] if name != "PReLU"]
        without, _ = selection.select(FIXTURES, supported, ["forward"])
        dropped = {c.name for c in with_prelu} - {c.name for c in without}
        self.assertIn("activations_layers__float32", dropped)
        self.assertNotIn("dense_acts_a__float32", dropped)

    def test_operations_and_optimizer_options_are_seen(self):
        case = selection.Case(os.path.join(FIXTURES, "forward", "ops_arith__float32"))
        self.assertIn(("operations", "TrueDivide"), case.needs())
        case = selection.Case(os.path.join(FIXTURES, "train", "opt_grad_accum__float32"))
        self.assertIn(("optimizer_options", "gradient_accumulation_steps"), case.needs())


class Archive(unittest.TestCase):
    def test_it_is_packed_reproducibly(self):
        """Sorted names, one time and one owner: the same files give the same bytes (pack.sh)."""
        with tarfile.open(os.path.join(HERE, "cases.tar.xz")) as archive:
            members = archive.getmembers()
        names = [member.name for member in members]
        self.assertEqual(names, sorted(names, key=lambda name: name.split("/")))
        self.assertEqual({(m.mtime, m.uid, m.gid, m.mode | 0o100) for m in members if m.isfile()}, {(1767225600, 0, 0, 0o744)})
        self.assertTrue(all(member.isfile() or member.isdir() for member in members))
        self.assertLess(os.path.getsize(os.path.join(HERE, "cases.tar.xz")), 2 << 20)

    def test_what_is_unpacked_is_what_it_holds(self):
        folder = places.fixtures()
        found = {os.path.relpath(os.path.join(place, name), folder) for place, _, names in os.walk(folder) for name in names}
        with tarfile.open(os.path.join(HERE, "cases.tar.xz")) as archive:
            held = {member.name: member.size for member in archive.getmembers() if member.isfile()}
        self.assertEqual(found - {"sha256"}, set(held))
        self.assertEqual({name: os.path.getsize(os.path.join(folder, name)) for name in held}, held)


class FilesOfKeras2(unittest.TestCase):
    def test_outputs_must_agree_to_the_largest_value(self):
        for case in keras2.find_cases(places.fixtures("keras2")):
            for name, array in keras2.execution.load(case.path("y.npz")).items():
                tolerance = case.description["tolerance"]
                self.assertEqual(keras2.far_off(array, array, tolerance), 0, case.identifier)
                moved = array.astype(numpy.float64)
                largest = numpy.unravel_index(numpy.abs(moved).argmax(), moved.shape)
                moved[largest] *= 1 + 3 * tolerance
                off = keras2.far_off(moved, array, tolerance)
                self.assertTrue(2.5 < off < 3.5, f"{case.identifier}: {name}: {off}")
        self.assertEqual(keras2.far_off(numpy.ones(2), numpy.ones((2, 1)), 1), numpy.inf)
        self.assertEqual(keras2.far_off([1, numpy.nan], [1, 1], 1), numpy.inf)

    def test_losses_must_agree_step_by_step(self):
        losses, taken = numpy.linspace(2, 1, 8), numpy.ones(8, bool)
        self.assertEqual(keras2.compare_losses(losses, losses, 1e-4, taken), 0)
        other = losses.copy()
        other[7] *= 1.0003
        self.assertGreater(keras2.compare_losses(other, losses, 1e-4, taken), 1)
        taken[7] = False
        self.assertEqual(keras2.compare_losses(other, losses, 1e-4, taken), 0)
        self.assertEqual(keras2.compare_losses(losses[:7], losses, 1e-4, taken[:7]), numpy.inf)
        self.assertEqual(keras2.compare_losses(losses * numpy.nan, losses, 1e-4, taken), numpy.inf)

    def test_each_final_weight_needs_a_variable_of_its_own(self):
        expected = {"final0": numpy.ones(3), "final1": numpy.ones(3), "final_names": numpy.ones(1)}
        trace = {"final:a": numpy.ones(3), "final:b": numpy.ones(3) + 1e-3, "loss": numpy.ones(3)}
        self.assertEqual(keras2.compare_weights(trace, expected), [])
        trace["final:b"] = numpy.ones(3) + 3e-3
        self.assertEqual(len(keras2.compare_weights(trace, expected)), 1)
        del trace["final:b"]
        self.assertEqual(len(keras2.compare_weights(trace, expected)), 1)


class Reporting(unittest.TestCase):
    def test_junit_counts_failures(self):
        results = [
            report.Result("forward/a", "pass", 0.1),
            report.Result("forward/b", "xpass", 0.1, messages=["x"]),
        ]
        with tempfile.NamedTemporaryFile(suffix=".xml") as handle:
            report.write_junit(handle.name, results)
            text = handle.read().decode()
        self.assertIn('tests="2" failures="1"', text)


if __name__ == "__main__":
    program = unittest.main(exit=False, verbosity=1)
    print(f"ran {program.result.testsRun} tests")
    sys.exit(not program.result.wasSuccessful())
