// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pages that tools write about a model: without scripts and without anything from the network,
// readable in black and white and on a phone. Names of the model reach them escaped.
#ifndef MPC_UNTRUSTED_HTML_PAGE_H
#define MPC_UNTRUSTED_HTML_PAGE_H

#include <string>
#include <string_view>
#include <vector>

namespace mpc::untrusted {

/// How a layer stands. Each has a colour, a border and a sign.
enum class Grade { good, near, bad };

/// A layer of the model, one below the other on the page.
struct LayerCard {
  std::string path;
  Grade grade = Grade::good;
  std::string mark;    ///< text behind the sign
  std::string facts;   ///< text
  std::string drawing; ///< markup
};

class HtmlPage {
public:
  /// `style`: rules of CSS besides those that all pages have.
  explicit HtmlPage(std::string_view title, std::string_view style = "");

  void addParagraph(std::string_view text) { addElement("p", text); }
  void addHeading(std::string_view text) { addElement("h2", text); }
  /// Takes the markup as it is: names in it went through forXml().
  void addMarkup(std::string_view markup) { html_ += markup; }

  void addLayer(const LayerCard &layer);

  void beginTable(const std::vector<std::string_view> &heads);
  /// `kind`: the class of the row, by which `style` names it.
  void addRow(const std::vector<std::string> &cells, std::string_view kind = "");
  void endTable() { html_ += "</tbody></table></div>\n"; }

  /// The whole page; nothing may be added any more.
  std::string finish();

private:
  void addElement(const char *tag, std::string_view text);

  std::string html_;
};

} // namespace mpc::untrusted
#endif
