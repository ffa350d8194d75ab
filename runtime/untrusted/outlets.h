// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names of a model file (layers, outputs, metrics, variables, classes) on their way out: one
// function per outlet makes them safe there. They are hostile: any bytes, of any length. What is
// written for a program (JSON, C, DOT) means the same name to it; what is written for people shows
// what they could not see.
//
// CMake files and file names get no name of a model: only that of --name, a C identifier.
#ifndef MPC_UNTRUSTED_OUTLETS_H
#define MPC_UNTRUSTED_OUTLETS_H

#include <cstddef>
#include <set>
#include <string>
#include <string_view>

namespace mpc::untrusted {

/// Text of several lines for a terminal or a log: what is not shown as itself (code_points.h)
/// becomes an escape, `\x1b` (also of bytes that are no UTF-8), `\u202e` or `\U000e0001`. Newlines
/// and tabs stay.
std::string forTerminal(std::string_view text);

/// The same for a name, a cell or a message of one line: newlines and tabs are `\n` and `\t`.
std::string forLine(std::string_view text);

/// The same without an allocation, cut to `capacity` bytes, of which the last is the null. Newlines
/// stay with `isOneLine` false, as forTerminal() leaves them.
void copyShown(std::string_view text, bool isOneLine, char *out, size_t capacity);

/// JSON as a serializer made it, of the same value, in which everything that a terminal would act
/// upon is an escape (`\u202e`); bytes that are no UTF-8 become U+FFFD.
std::string forJson(std::string_view json);

/// A cell of a table that a spreadsheet may read, in one line: what it would take for a formula
/// begins with an apostrophe.
std::string forCell(std::string_view name);
/// The same as Python's csv module writes it, with quotes where it needs them.
std::string forCsv(std::string_view name);

/// Whether `name` may be that of an archive's member: not too long for one, printable UTF-8, and
/// extracted inside of the folder, whatever the system (no `..`, backslash, drive or root).
bool isMemberName(std::string_view name);

/// `name`, with a number behind it where another one has become the same; joins `taken`.
std::string makeDistinct(std::string name, std::set<std::string> &taken);

/// Text inside a C comment: it neither ends there nor does a line of it, with trigraphs or without.
std::string forCComment(std::string_view text);

/// Letters and digits of `name` in capitals, `_` for the rest: a part of a C identifier. A long
/// name is cut; several names may become equal.
std::string forCIdentifier(std::string_view name);

/// Text inside a double-quoted string of DOT, in one line, cut to what Graphviz reads.
std::string forDot(std::string_view text);

/// Text of an element or an attribute of XML, in one line.
std::string forXml(std::string_view text);

} // namespace mpc::untrusted
#endif
