# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of text against Python: random texts through str.split, re.fullmatch, dictionaries and NumPy; random patterns against
onnxruntime.

  texts.py BIN [--only REGEX] [--keep FOLDER] [--seed S]
"""

import os
import re
import subprocess
import sys

import execution
import named_cases
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

# Letters of one to four bytes in UTF-8, of both cases, and separators.
LETTERS = "abcABCxyz019 .,-_@\t\n" + "äÖßéΣσςŽžДд" + "中文字" + "😀𝒳" + "\u00a0\u2003"
MLDOMAIN = "ai.onnx.ml"


def texts(draw, shape, letters=LETTERS, most=12):
    return np.array(["".join(draw.choice(list(letters), draw.integers(0, most + 1))) for _ in range(int(np.prod(shape)))], object).reshape(shape)


def model(nodes, inputs, outputs, opset=20, initializers=()):
    """`inputs` and `outputs`: name and (element type, shape)."""
    values = [[helper.make_tensor_value_info(name, *form) for name, form in side.items()] for side in (inputs, outputs)]
    graph = helper.make_graph(nodes, "texts", *values, list(initializers))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid(MLDOMAIN, 4)], ir_version=9)


def each(function, array, dtype=object):
    return np.array([function(text) for text in array.ravel()], dtype).reshape(array.shape)


# ---- What a case is: a model, its inputs and what Python makes of them -----------------------------------------------


def unary(op, attributes, shape, expected, output=TensorProto.STRING, letters=LETTERS, most=12, domain=""):
    def make(draw):
        given = {"x": texts(draw, shape, letters, most)}
        node = helper.make_node(op, ["x"], ["y"], domain=domain, **attributes)
        return model([node], {"x": (TensorProto.STRING, shape)}, {"y": (output, None)}), given, [expected(given["x"])]

    return make


def matches(pattern, letters="ab.@-_01 \nAB", most=8):
    """RE2 means ASCII where Python means Unicode, and has no $ before a last newline."""
    own = re.compile(pattern.replace("$", r"\Z").replace(r"\z", r"\Z"), re.ASCII)
    expected = lambda x: each(lambda text: own.fullmatch(text) is not None, x, bool)  # noqa: E731
    return unary("RegexFullMatch", {"pattern": pattern}, [40, 5], expected, TensorProto.BOOL, letters, most)


def split(delimiter, most_splits, letters, shape=(6, 3)):
    def make(draw):
        given = texts(draw, shape, letters)
        attributes = {"delimiter": delimiter} if delimiter is not None else {}
        if most_splits is not None:
            attributes["maxsplit"] = most_splits
        node = helper.make_node("StringSplit", ["x"], ["y", "n"], **attributes)
        lists = [text.split(delimiter or None, -1 if most_splits is None else most_splits) for text in given.ravel()]
        count = max(map(len, lists))
        pieces = np.array([own + [""] * (count - len(own)) for own in lists], object).reshape(*shape, count)
        outputs = {"y": (TensorProto.STRING, None), "n": (TensorProto.INT64, None)}
        return model([node], {"x": (TensorProto.STRING, shape)}, outputs), {"x": given}, [pieces, each(len, np.array(lists + [None], object)[:-1], np.int64).reshape(shape)]

    return make


def concat(first, second):
    def make(draw):
        given = {"x": texts(draw, first), "z": texts(draw, second)}
        node = helper.make_node("StringConcat", ["x", "z"], ["y"])
        inputs = {"x": (TensorProto.STRING, first), "z": (TensorProto.STRING, second)}
        return model([node], inputs, {"y": (TensorProto.STRING, None)}), given, [np.array(given["x"] + given["z"], object)]

    return make


def equal(draw):
    given = {"x": texts(draw, [30, 4], "ab", 2), "z": texts(draw, [4], "ab", 2)}
    inputs = {"x": (TensorProto.STRING, [30, 4]), "z": (TensorProto.STRING, [4])}
    node = helper.make_node("Equal", ["x", "z"], ["y"])
    return model([node], inputs, {"y": (TensorProto.BOOL, None)}), given, [given["x"] == given["z"]]


def labels(keys, values, default, op="LabelEncoder", **attributes):
    table = dict(zip(keys, values))

    def make(draw):
        is_text = isinstance(keys[0], str)
        given = draw.choice(np.array([*keys, "zz", keys[0] + "a"] if is_text else [*keys, 77], object), [20, 3])
        given = given if is_text else given.astype(np.int64)
        node = helper.make_node(op, ["x"], ["y"], domain=MLDOMAIN, **attributes)
        kinds = {str: TensorProto.STRING, int: TensorProto.INT64, float: TensorProto.FLOAT}
        expected = each(lambda key: table.get(key, default), given, {str: object, int: np.int64, float: np.float32}[type(values[0])])
        return model([node], {"x": (kinds[type(keys[0])], [20, 3])}, {"y": (kinds[type(values[0])], None)}), {"x": given}, [expected]

    return make


def normalized(action, sensitive, stopwords, shape=(9,), letters="abAB", most=2):
    def make(draw):
        given = texts(draw, shape, letters, most)
        change = {"NONE": str, "LOWER": str.lower, "UPPER": str.upper}[action]
        fold = str if sensitive else str.upper if action == "UPPER" else str.lower
        kept = [change(text) for text in given.ravel() if not stopwords or fold(text) not in {fold(word) for word in stopwords}] or [""]
        attributes = {"stopwords": stopwords} if stopwords else {}
        node = helper.make_node("StringNormalizer", ["x"], ["y"], case_change_action=action, is_case_sensitive=int(sensitive), **attributes)
        expected = np.array(kept, object).reshape([1] * (len(shape) - 1) + [-1])
        return model([node], {"x": (TensorProto.STRING, shape)}, {"y": (TensorProto.STRING, None)}), {"x": given}, [expected]

    return make


def moved(nodes, expected, shape=(2, 3, 1), constants=None, opset=20):
    """Operations that only move; `expected` is NumPy's."""

    def make(draw):
        given = {"x": texts(draw, shape)}
        stored = [onnx.numpy_helper.from_array(np.asarray(value), name) for name, value in (constants or {}).items()]
        return model(nodes, {"x": (TensorProto.STRING, shape)}, {"y": (TensorProto.STRING, None)}, opset, stored), given, [expected(given["x"])]

    return make


def node(op, *inputs, **attributes):
    return [helper.make_node(op, list(inputs), ["y"], **attributes)]


def chosen(draw):
    """Constants of another width than the input's."""
    given = {"x": texts(draw, [8, 2]), "c": draw.integers(0, 2, [8, 2]).astype(bool)}
    other = np.array(["a longer text than any of those in the input, of more than sixty-four characters", "é"], object)
    inputs = {"x": (TensorProto.STRING, [8, 2]), "c": (TensorProto.BOOL, [8, 2])}
    stored = [helper.make_tensor("other", TensorProto.STRING, [2], [text.encode() for text in other])]
    nodes = [helper.make_node("Where", ["c", "x", "other"], ["y"])]
    return model(nodes, inputs, {"y": (TensorProto.STRING, None)}, initializers=stored), given, [np.where(given["c"], given["x"], other)]


def joined(draw):
    given = {"x": texts(draw, [3, 2])}
    stored = [helper.make_tensor("other", TensorProto.STRING, [1, 2], ["a longer text than any of those in the input, of more than 64 characters".encode(), b""])]
    nodes = [helper.make_node("Concat", ["other", "x"], ["y"], axis=-2)]
    other = np.array([[text.decode() for text in stored[0].string_data]], object)
    return model(nodes, {"x": (TensorProto.STRING, [3, 2])}, {"y": (TensorProto.STRING, None)}, initializers=stored), given, [np.concatenate([other, given["x"]])]


def shape_of(draw):
    given = {"x": texts(draw, [3, 2])}
    return model(node("Shape", "x"), {"x": (TensorProto.STRING, [3, 2])}, {"y": (TensorProto.INT64, None)}), given, [np.array([3, 2])]


CASES = {
    "match_letters": matches("a*b"),
    "match_choice": matches("(ab|a|b@)*"),
    "match_class": matches(r"[a-b_.-]+[^a]?"),
    "match_escapes": matches(r"\w+@\w+\.[ab]{1,3}"),
    "match_negated": matches(r"(\W|^)[\w.\-]{0,5}@\S*(\W|$)"),
    "match_dot": matches("a.b|.*@"),
    "match_words": matches(r"(\b[ab]+\b.?)*", "ab. "),
    "match_no_words": matches(r"[ab]\B[ab. ]*", "ab. "),
    "match_counts": matches("(a{2,3}|b){2}a{0,1}", "ab"),
    "match_folds": matches("(?i)a[b-c]+", "abcABC", 4),
    "match_flags": matches("(?s:a.*)b", "ab\n", 5),
    "match_lazy": matches("a+?b*?a??", "ab", 5),
    "match_posix": unary("RegexFullMatch", {"pattern": "[[:digit:][:upper:]]+[[:^alpha:]]"}, [99],
                         lambda x: each(lambda t: re.fullmatch("[0-9A-Z]+[^a-zA-Z]", t) is not None, x, bool), TensorProto.BOOL, "aA1.", 4),
    "match_unicode": matches("[ä-ž😀]*文.", "aäž😀文字", 4),
    "match_one_text": unary("RegexFullMatch", {"pattern": "a?b?"}, [], lambda x: each(lambda t: re.fullmatch("a?b?", t) is not None, x, bool), TensorProto.BOOL, "ab", 2),
    "split_spaces": split(None, None, LETTERS),
    "split_spaces_empty": split("", None, "a b"),
    "split_spaces_most": split(None, 2, "a b\t"),
    "split_spaces_none": split(None, 0, " a"),
    "split_comma": split(",", None, "ab,"),
    "split_comma_most": split(",", 2, "ab,"),
    "split_long": split("ab", None, "abc"),
    "split_overlapping": split("aa", None, "aab"),
    "split_overlapping_most": split("aba", 1, "ab"),
    "split_unicode": split("中", None, "中a😀"),
    "split_one_dimension": split("-", None, "a-", [7]),
    "split_three_dimensions": split("-", 3, "a-", [2, 3, 2]),
    "split_one_text": split("-", None, "a-", []),
    "concat": concat([5, 3], [5, 3]),
    "concat_broadcast": concat([4, 1, 3], [2, 1]),
    "concat_one_text": concat([], []),
    "concat_with_one": concat([3], []),
    "equal": equal,
    "labels_of_texts": labels(["a", "bc", "é"], [5, 7, 9], -1, keys_strings=["a", "bc", "é"], values_int64s=[5, 7, 9]),
    "labels_as_floats": labels(["a", "bc"], [0.5, 2.0], 1.5, keys_strings=["a", "bc"], values_floats=[0.5, 2.0], default_float=1.5),
    "labels_as_texts": labels([3, 4, -1], ["x", "yy", "中"], "none", keys_int64s=[3, 4, -1], values_strings=["x", "yy", "中"], default_string="none"),
    "labels_text_to_text": labels(["a", "bc"], ["x", "yyyy"], "_Unused", keys_strings=["a", "bc"], values_strings=["x", "yyyy"]),
    "categories_of_texts": labels(["a", "bc", "é"], [5, -7, 9], -1, "CategoryMapper", cats_strings=["a", "bc", "é"], cats_int64s=[5, -7, 9]),
    "categories_as_texts": labels([5, -7, 9], ["a", "bc", "é"], "none", "CategoryMapper", cats_strings=["a", "bc", "é"], cats_int64s=[5, -7, 9],
                                  default_string="none"),
    "lower": unary("StringNormalizer", {"case_change_action": "LOWER"}, [50], lambda x: each(str.lower, x), letters=LETTERS.replace("Σ", "")),
    "upper": unary("StringNormalizer", {"case_change_action": "UPPER"}, [50], lambda x: each(str.upper, x), letters=LETTERS.replace("ß", "")),
    "normalized": normalized("NONE", True, ["a", "AB"]),
    "normalized_lower": normalized("LOWER", True, ["a", "Ab"]),
    "normalized_any_case": normalized("UPPER", False, ["a", "Ab"]),
    "normalized_any_case_kept": normalized("NONE", False, ["a", "Ab", "b", "aa"]),
    "normalized_rows": normalized("LOWER", False, ["b"], (1, 9)),
    "normalized_to_nothing": normalized("LOWER", False, ["a", "b", "", "aa", "ab", "bb", "ba"]),
    "move_reshape": moved(node("Reshape", "x", "s"), lambda x: x.reshape(3, -1), constants={"s": np.array([3, -1])}),
    "move_reshape_zero": moved(node("Reshape", "x", "s"), lambda x: x.reshape(2, 3), constants={"s": np.array([0, -1])}),
    "move_flatten": moved(node("Flatten", "x", axis=-1), lambda x: x.reshape(6, 1)),
    "move_transpose": moved(node("Transpose", "x"), lambda x: x.transpose()),
    "move_permute": moved(node("Transpose", "x", perm=[1, 0, 2]), lambda x: x.transpose(1, 0, 2)),
    "move_squeeze": moved(node("Squeeze", "x"), lambda x: x.squeeze()),
    "move_squeeze_axis": moved(node("Squeeze", "x", "a"), lambda x: x.squeeze(-1), constants={"a": np.array([-1])}),
    "move_unsqueeze": moved(node("Unsqueeze", "x", "a"), lambda x: x[:, None, ..., None], constants={"a": np.array([-1, 1])}),
    "move_gather": moved(node("Gather", "x", "i", axis=-2), lambda x: x[:, [2, -3, 0]], constants={"i": np.array([2, -3, 0])}),
    "move_gather_shadowed": moved([helper.make_node("Gather", ["x", "0"], ["y"], axis=1)], lambda x: x[:, [2, 1]], constants={"0": np.array([2, 1])}),
    "move_slice": moved(node("Slice", "x", "s", "e", "a"), lambda x: x[:, 1:], constants={"s": np.array([1]), "e": np.array([9]), "a": np.array([-2])}),
    "move_slice_first": moved(node("Slice", "x", "s", "e"), lambda x: x[1:, :2], constants={"s": np.array([1, 0]), "e": np.array([9, 2])}),
    "move_expand": moved(node("Expand", "x", "s"), lambda x: np.broadcast_to(x, [4, 2, 3, 5]), constants={"s": np.array([4, 1, 1, 5])}),
    "move_tile": moved(node("Tile", "x", "r"), lambda x: np.tile(x, [1, 2, 3]), constants={"r": np.array([1, 2, 3])}),
    "move_split": moved([helper.make_node("Split", ["x"], ["a", "b", "y"], axis=-2, num_outputs=3)], lambda x: x[:, 2:]),
    "move_identity": moved(node("Identity", "x"), lambda x: x),
    "where": chosen,
    "joined": joined,
    "shape": shape_of,
}  # fmt: skip


# ---- Random patterns beside onnxruntime, whose RE2 defines what they mean --------------------------------------------

ATOMS = ["a", "b", "é", r"\.", ".", "[ab]", "[^a]", "[a-cé]", r"\w", r"\W", r"\d", r"\s", r"\b", r"\B", "^", "$", r"\A", r"\z", "(?i:A)", "(?i:É[B-C])",
         "(?s:.)", "(?m:^)", "(?m:$)", "[[:alpha:]]", "[[:^alpha:]]", r"[\d\-.]", r"\x61", r"\Qa.\E", ""]  # fmt: skip
REPEATS = ["", "", "", "*", "+", "?", "*?", "+?", "{2}", "{0,2}", "{1,}"]


def random_pattern(draw, depth=3):
    if depth == 0 or draw.random() < 0.2:
        return draw.choice(ATOMS)
    parts = [random_pattern(draw, depth - 1) for _ in range(draw.integers(1, 4))]
    if draw.random() < 0.3:
        return "(?:" + "|".join(parts) + ")"
    return "".join(f"({part}){draw.choice(REPEATS)}" if draw.random() < 0.5 else part for part in parts)


def patterns(draw):
    """Forty in one model."""
    given = {"x": texts(draw, [400], "aabbéÉA1. \n-", 5)}
    nodes = [helper.make_node("RegexFullMatch", ["x"], [f"y{i}"], pattern=random_pattern(draw)) for i in range(40)]
    outputs = {name: (TensorProto.BOOL, [400]) for made in nodes for name in made.output}
    made = model(nodes, {"x": (TensorProto.STRING, [400])}, outputs)
    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    return made, given, session.run(None, given)


CASES.update({f"patterns_{i}": patterns for i in range(8)})


def difference(got, expected):
    """Text, or "" where an output is what Python says."""
    if expected.dtype.kind in "OU":
        expected = expected.astype(str)
    if got.shape != expected.shape:
        return f"has the shape {got.shape}; expected {expected.shape}"
    wrong = np.argwhere(np.atleast_1d(got != expected))
    if not len(wrong):
        return ""
    place = tuple(wrong[0])
    return f"differs in {len(wrong)} elements, first at {place}: {np.atleast_1d(got)[place]!r} instead of {np.atleast_1d(expected)[place]!r}"


def check(name, binaries, work, draw):
    made, given, expected = CASES[name](draw)
    path, compiled = os.path.join(work, name + ".onnx"), os.path.join(work, name + ".mpc")
    onnx.save(made, path)
    command = [os.path.join(binaries, "mpcc"), path, "-o", compiled, "--name=m", "--march=native", "-q", "--text-width=20"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return f"mpcc ended with {done.returncode}: {done.stderr.strip()}"
    try:
        got = execution.run_apart(binaries, compiled, given, 60)
    except execution.Unfit as unfit:
        return str(unfit)
    if len(got) != len(expected):
        return f"has {len(got)} outputs; expected {len(expected)}"
    return "; ".join(f"output {i} {fault}" for i, pair in enumerate(zip(got, expected)) if (fault := difference(*pair)))


if __name__ == "__main__":
    sys.exit(named_cases.run(CASES, check))
