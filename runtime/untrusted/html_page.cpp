// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/untrusted/html_page.h"
#include "runtime/untrusted/outlets.h"

namespace mpc::untrusted {

constexpr char commonStyle[] = R"(
:root { color-scheme: light dark; }
body { font: 16px/1.4 system-ui, sans-serif; margin: 1rem auto; padding: 0 1rem; max-width: 60rem; }
h1, h2, p { overflow-wrap: anywhere; }
.table { overflow-x: auto; }
table { border-collapse: collapse; }
th, td { border-bottom: 1px solid #8886; padding: .2rem .5rem; text-align: left; }
.layer { border: 1px solid #8888; border-left-width: 1rem; margin: .5rem 0; padding: .4rem .6rem; }
.layer b { overflow-wrap: anywhere; }
.good { border-left-color: #2a7; } .near { border-left-color: #c80; border-left-style: dashed; }
.bad { border-left-color: #c22; border-left-style: double; }
.mark { float: right; font-weight: bold; }
svg { display: block; width: 100%; height: 3rem; background: #8881; }
svg rect { fill: currentColor; }
)";

struct GradeText {
  const char *name, *sign;
};

static GradeText textOf(Grade grade) {
  switch (grade) {
  case Grade::good:
    return {"good", "✓"};
  case Grade::near:
    return {"near", "!"};
  case Grade::bad:
    break;
  }
  return {"bad", "✗"};
}

HtmlPage::HtmlPage(std::string_view title, std::string_view style)
    : html_("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n") {
  addElement("title", title);
  html_ += std::string("<style>") + commonStyle;
  html_ += style;
  html_ += "</style></head><body>\n<main>\n";
  addElement("h1", title);
}

void HtmlPage::addElement(const char *tag, std::string_view text) {
  html_ += std::string("<") + tag + ">" + forXml(text) + "</" + tag + ">\n";
}

void HtmlPage::addLayer(const LayerCard &layer) {
  const GradeText grade = textOf(layer.grade);
  html_ += std::string("<div class=\"layer ") + grade.name + "\"><span class=\"mark\">" +
           grade.sign + " " + forXml(layer.mark) + "</span><b>" + forXml(layer.path) + "</b><br>" +
           forXml(layer.facts) + "\n" + layer.drawing + "</div>\n";
}

void HtmlPage::beginTable(const std::vector<std::string_view> &heads) {
  html_ += "<div class=\"table\"><table><thead><tr>";
  for (std::string_view head : heads)
    html_ += "<th>" + forXml(head) + "</th>";
  html_ += "</tr></thead><tbody>\n";
}

void HtmlPage::addRow(const std::vector<std::string> &cells, std::string_view kind) {
  html_ += kind.empty() ? "<tr>" : "<tr class=\"" + forXml(kind) + "\">";
  for (const std::string &cell : cells)
    html_ += "<td>" + forXml(cell) + "</td>";
  html_ += "</tr>\n";
}

std::string HtmlPage::finish() {
  html_ += "</main>\n</body></html>\n";
  return std::move(html_);
}

} // namespace mpc::untrusted
