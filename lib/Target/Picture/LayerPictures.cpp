// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pictures of a model, a box per layer: for Graphviz, and as SVG without it.
#include "lib/Target/Picture/LayerGraph.h"
#include "lib/Target/Picture/LayeredLayout.h"
#include "mpc/Target/Dot.h"
#include "runtime/untrusted/outlets.h"
#include "llvm/Support/Format.h"
#include <algorithm>
#include <map>

using namespace mlir;
using namespace mpc;
using namespace mpc::picture;

static constexpr char castColor[] = "#b3261e";
/// The dtypes of the legend, as IR writes them.
static constexpr const char *legend[] = {"f32", "bf16", "f16", "f64", "others"};

/// At most so many characters of a name are drawn.
static std::string shortened(const std::string &text) {
  const std::string shown = untrusted::forLine(text);
  size_t count = 0;
  for (size_t i = 0; i < shown.size(); ++i)
    if ((shown[i] & 0xc0) != 0x80 && ++count > 64)
      return shown.substr(0, i) + "…";
  return shown;
}

// ---- Graphviz ----

namespace {
class DotPrinter {
public:
  DotPrinter(const LayerGraph &graph, llvm::raw_ostream &os) : graph(graph), os(os) {}

  void print() {
    os << "digraph mpc {\n  rankdir=TB;\n  node [fontname=\"sans-serif\", fontsize=11, shape=box, "
          "style=filled];\n  edge [fontname=\"sans-serif\", fontsize=10];\n";
    for (size_t i = 0; i < graph.boxes.size(); ++i) {
      openGroup(groupOf(graph.boxes[i].path));
      printBox(i);
    }
    openGroup("");
    for (const Arrow &arrow : graph.arrows) {
      os << "  n" << arrow.from << " -> n" << arrow.to;
      if (!arrow.cast.empty())
        os << " [label=\" " << untrusted::forDot(arrow.cast) << "\", color=\"" << castColor
           << "\", fontcolor=\"" << castColor << "\"]";
      os << ";\n";
    }
    os << "}\n";
  }

private:
  /// Boxes follow each other in the order of the program: a group may be opened several times,
  /// which Graphviz takes as one where the name is the same.
  void openGroup(const std::string &group) {
    if (group == open)
      return;
    for (size_t i = 0; i < depth; ++i)
      os << "  }\n";
    depth = 0;
    open = group;
    for (size_t begin = 0; begin < group.size();) {
      const size_t slash = std::min(group.find('/', begin), group.size());
      const std::string path = group.substr(0, slash);
      auto [at, isNew] = numbers.try_emplace(path, numbers.size());
      os << "  subgraph cluster_" << at->second << " {\n  label=\""
         << untrusted::forDot(shortened(group.substr(begin, slash - begin)))
         << "\"; fontname=\"sans-serif\"; fontsize=11; style=rounded; color=\"#888888\";\n";
      ++depth;
      begin = slash + 1;
    }
  }

  void printBox(size_t index) {
    const Box &box = graph.boxes[index];
    os << "  n" << index << " [label=\"";
    for (size_t i = 0; i < box.lines.size(); ++i)
      os << (i ? "\\n" : "") << untrusted::forDot(shortened(box.lines[i]));
    os << "\", fillcolor=\"" << fillOf(box.dtype) << "\"];\n";
  }

  const LayerGraph &graph;
  llvm::raw_ostream &os;
  std::string open;
  size_t depth = 0;
  std::map<std::string, size_t> numbers;
};
} // namespace

LogicalResult mpc::exportLayersDot(ModuleOp module, llvm::raw_ostream &os) {
  FailureOr<LayerGraph> graph = readLayerGraph(module);
  if (failed(graph))
    return failure();
  DotPrinter(*graph, os).print();
  return success();
}

// ---- SVG ----

static constexpr double fontSize = 12, lineHeight = 16, charWidth = 7.1, margin = 24;

static double textWidth(const std::string &text) {
  return charWidth * static_cast<double>(std::count_if(text.begin(), text.end(),
                                                       [](char c) { return (c & 0xc0) != 0x80; }));
}

namespace {
class SvgPrinter {
public:
  SvgPrinter(const LayerGraph &graph, llvm::raw_ostream &os) : graph(graph), os(os) {}
  bool print();

private:
  void printGroups();
  void printArrow(const LayoutEdge &edge, const std::string &cast);
  void printBox(const LayoutNode &node, const Box &box);
  void printLegend(double y);
  void printText(double x, double y, const std::string &text, const char *style) {
    os << llvm::format("<text x=\"%.1f\" y=\"%.1f\" ", x, y) << style << ">"
       << untrusted::forXml(text) << "</text>\n";
  }

  const LayerGraph &graph;
  llvm::raw_ostream &os;
  std::vector<LayoutNode> nodes;
  std::vector<LayoutEdge> edges;
};
} // namespace

void SvgPrinter::printGroups() {
  struct Frame {
    double left, top, right, bottom;
  };
  std::map<std::string, Frame> frames;
  for (size_t i = 0; i < nodes.size(); ++i)
    for (std::string group = groupOf(graph.boxes[i].path); !group.empty(); group = groupOf(group)) {
      const LayoutNode &node = nodes[i];
      Frame own = {node.x - 0.5 * node.width - 10, node.y - 22, node.x + 0.5 * node.width + 10,
                   node.y + node.height + 8};
      auto [at, isNew] = frames.try_emplace(group, own);
      Frame &frame = at->second;
      frame = {std::min(frame.left, own.left), std::min(frame.top, own.top),
               std::max(frame.right, own.right), std::max(frame.bottom, own.bottom)};
    }
  for (const auto &[group, frame] : frames) {
    os << llvm::format("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"8\" "
                       "fill=\"#000\" fill-opacity=\"0.04\" stroke=\"#888\"/>\n",
                       frame.left, frame.top, frame.right - frame.left, frame.bottom - frame.top);
    printText(frame.left + 6, frame.top + 14, shortened(group), "font-size=\"11\" fill=\"#555\"");
  }
}

void SvgPrinter::printArrow(const LayoutEdge &edge, const std::string &cast) {
  const char *color = cast.empty() ? "#555" : castColor;
  os << "<path fill=\"none\" stroke=\"" << color << "\" marker-end=\"url(#"
     << (cast.empty() ? "arrow" : "cast") << ")\" d=\"";
  for (size_t i = 0; i < edge.points.size(); ++i)
    os << llvm::format("%s%.1f %.1f", i ? "L" : "M", edge.points[i].x, edge.points[i].y);
  os << "\"/>\n";
  if (cast.empty())
    return;
  // In the gap above the box that casts.
  const Point &a = edge.points[edge.points.size() - 2], &b = edge.points.back();
  const double x = 0.5 * (a.x + b.x), y = 0.5 * (a.y + b.y), width = textWidth(cast) * 0.86;
  os << llvm::format("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"13\" fill=\"#fff\" "
                     "fill-opacity=\"0.85\"/>\n",
                     x - 0.5 * width, y - 8, width);
  printText(x, y + 2, cast, "font-size=\"10\" text-anchor=\"middle\" fill=\"#b3261e\"");
}

void SvgPrinter::printBox(const LayoutNode &node, const Box &box) {
  os << llvm::format("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"4\" "
                     "stroke=\"#333\" fill=\"%s\"/>\n",
                     node.x - 0.5 * node.width, node.y, node.width, node.height, fillOf(box.dtype));
  for (size_t i = 0; i < box.lines.size(); ++i)
    printText(node.x, node.y + 17 + lineHeight * static_cast<double>(i), shortened(box.lines[i]),
              i ? "text-anchor=\"middle\" fill=\"#333\""
                : "text-anchor=\"middle\" font-weight=\"bold\"");
}

void SvgPrinter::printLegend(double y) {
  double x = 0;
  for (const char *dtype : legend) {
    os << llvm::format("<rect x=\"%.1f\" y=\"%.1f\" width=\"14\" height=\"14\" stroke=\"#333\" "
                       "fill=\"%s\"/>\n",
                       x, y, fillOf(dtype));
    printText(x + 19, y + 11, dtype, "font-size=\"11\"");
    x += 36 + textWidth(dtype);
  }
  printText(x, y + 11, "casts", "font-size=\"11\" fill=\"#b3261e\"");
}

bool SvgPrinter::print() {
  for (const Box &box : graph.boxes) {
    double width = 60;
    for (const std::string &line : box.lines) // the first is bold
      width =
          std::max(width, textWidth(shortened(line)) * (&line == &box.lines[0] ? 1.08 : 1) + 16);
    nodes.push_back(
        {width, lineHeight * static_cast<double>(box.lines.size()) + 10, groupOf(box.path)});
  }
  for (const Arrow &arrow : graph.arrows)
    edges.push_back({arrow.from, arrow.to, {}});
  Point size;
  if (!layOut(nodes, edges, size))
    return false;
  const double legendY = size.y + 30, width = std::max(size.x, 340.0), height = legendY + 14;
  os << llvm::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
      "viewBox=\"%.0f %.0f %.0f %.0f\" font-family=\"DejaVu Sans, Arial, sans-serif\" "
      "font-size=\"%.0f\">\n",
      width + 2 * margin, height + 2 * margin, -margin, -margin, width + 2 * margin,
      height + 2 * margin, fontSize);
  for (auto [id, color] : {std::pair("arrow", "#555"), std::pair("cast", castColor)})
    os << "<marker id=\"" << id
       << "\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" "
          "orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\""
       << color << "\"/></marker>\n";
  os << llvm::format(
      "<rect x=\"%.0f\" y=\"%.0f\" width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n", -margin,
      -margin);
  printGroups();
  for (size_t i = 0; i < edges.size(); ++i)
    printArrow(edges[i], graph.arrows[i].cast);
  for (size_t i = 0; i < nodes.size(); ++i)
    printBox(nodes[i], graph.boxes[i]);
  printLegend(legendY);
  os << "</svg>\n";
  return true;
}

LogicalResult mpc::exportLayersSvg(ModuleOp module, llvm::raw_ostream &os) {
  FailureOr<LayerGraph> graph = readLayerGraph(module);
  if (failed(graph))
    return failure();
  if (!SvgPrinter(*graph, os).print())
    return module.emitError("has too many layers that are connected across many others for an SVG; "
                            "write --export-dot=layers, and draw that");
  return success();
}
