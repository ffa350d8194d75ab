// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LayeredLayout: where the nodes of a directed graph go in a picture, and the ways of its edges.
// Ranks by longest paths, order by barycenters, positions by isotonic regression.
#ifndef MPC_LIB_TARGET_PICTURE_LAYEREDLAYOUT_H
#define MPC_LIB_TARGET_PICTURE_LAYEREDLAYOUT_H

#include <string>
#include <utility>
#include <vector>

namespace mpc::picture {

struct Point {
  double x, y;
};

struct LayoutNode {
  double width, height;
  std::string group;   // nodes of a group stand side by side
  double x = 0, y = 0; // the middle of the upper edge
};

struct LayoutEdge {
  size_t from, to;           // from is the upper one where they are in the order of the nodes
  std::vector<Point> points; // from the lower edge of `from` to the upper one of `to`
};

/// Sets positions and ways; returns the width and the height of all. False where it would take too
/// many places.
bool layOut(std::vector<LayoutNode> &nodes, std::vector<LayoutEdge> &edges, Point &size);

} // namespace mpc::picture

#endif // MPC_LIB_TARGET_PICTURE_LAYEREDLAYOUT_H
