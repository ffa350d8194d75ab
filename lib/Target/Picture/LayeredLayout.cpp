// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A layout after Sugiyama, Tagawa and Toda (1981).
#include "lib/Target/Picture/LayeredLayout.h"

#include <algorithm>
#include <map>

using namespace mpc::picture;

namespace {
constexpr double nodeGap = 26, rankGap = 46, dummyWidth = 10;
constexpr size_t mostPlaces = 500000;
constexpr int orderSweeps = 12, positionSweeps = 24;

/// A node, or a place where an edge passes a rank.
struct Place {
  double width, x = 0, key = 0;
  size_t rank;
  std::string group;
  std::vector<size_t> above, below;
};

class Layout {
public:
  Layout(std::vector<LayoutNode> &nodes, std::vector<LayoutEdge> &edges)
      : nodes(nodes), edges(edges) {}
  bool run(Point &size);

private:
  bool rankNodes();
  void addPlaces();
  void order();
  void position();
  void alignRank(const std::vector<size_t> &rank, bool byAbove);
  void write(Point &size);
  static double middle(std::vector<double> values);

  std::vector<LayoutNode> &nodes;
  std::vector<LayoutEdge> &edges;
  std::vector<Place> places; // the nodes first
  std::vector<std::vector<size_t>> ranks;
  std::vector<std::vector<size_t>> ways; // of each edge, from its upper end
};
} // namespace

bool Layout::rankNodes() {
  for (const LayoutNode &node : nodes)
    places.push_back({node.width, 0, 0, 0, node.group, {}, {}});
  // Edges against the order of the nodes close cycles: they are drawn, and rank nothing.
  std::vector<std::vector<size_t>> below(nodes.size()), above(nodes.size());
  for (const LayoutEdge &edge : edges) {
    below[std::min(edge.from, edge.to)].push_back(std::max(edge.from, edge.to));
    above[std::max(edge.from, edge.to)].push_back(std::min(edge.from, edge.to));
  }
  for (size_t i = 0; i < nodes.size(); ++i)
    for (size_t upper : above[i])
      places[i].rank = std::max(places[i].rank, places[upper].rank + 1);
  // A node that nothing leads to stands right above the first that it leads to.
  for (size_t i = nodes.size(); i-- > 0;)
    if (above[i].empty() && !below[i].empty()) {
      size_t lowest = places[below[i][0]].rank;
      for (size_t lower : below[i])
        lowest = std::min(lowest, places[lower].rank);
      places[i].rank = lowest - 1;
    }
  size_t count = nodes.size();
  for (const LayoutEdge &edge : edges) {
    const size_t a = places[edge.from].rank, b = places[edge.to].rank;
    count += a < b ? b - a : a - b;
    if (count > mostPlaces)
      return false;
  }
  return true;
}

void Layout::addPlaces() {
  for (const LayoutEdge &edge : edges) {
    const size_t upper = std::min(edge.from, edge.to), lower = std::max(edge.from, edge.to);
    const std::string &group =
        nodes[upper].group == nodes[lower].group ? nodes[upper].group : std::string();
    std::vector<size_t> way = {upper};
    for (size_t rank = places[upper].rank + 1; rank < places[lower].rank; ++rank) {
      places.push_back({dummyWidth, 0, 0, rank, group, {}, {}});
      way.push_back(places.size() - 1);
    }
    way.push_back(lower);
    for (size_t i = 0; i + 1 < way.size(); ++i) {
      places[way[i]].below.push_back(way[i + 1]);
      places[way[i + 1]].above.push_back(way[i]);
    }
    ways.push_back(std::move(way));
  }
  for (size_t i = 0; i < places.size(); ++i) {
    if (ranks.size() <= places[i].rank)
      ranks.resize(places[i].rank + 1);
    ranks[places[i].rank].push_back(i);
  }
}

void Layout::order() {
  auto number = [&](const std::vector<size_t> &rank) {
    for (size_t i = 0; i < rank.size(); ++i)
      places[rank[i]].x = static_cast<double>(i) - 0.5 * static_cast<double>(rank.size());
  };
  for (const auto &rank : ranks)
    number(rank);
  for (int sweep = 0; sweep < orderSweeps; ++sweep)
    for (size_t r = 0; r < ranks.size(); ++r) {
      std::vector<size_t> &rank = ranks[sweep % 2 ? ranks.size() - 1 - r : r];
      std::map<std::string, std::pair<double, double>> groups;
      for (size_t i : rank) {
        const std::vector<size_t> &next = sweep % 2 ? places[i].below : places[i].above;
        double sum = 0;
        for (size_t other : next)
          sum += places[other].x;
        places[i].key = next.empty() ? places[i].x : sum / static_cast<double>(next.size());
        groups[places[i].group].first += places[i].key;
        groups[places[i].group].second += 1;
      }
      // Groups stay together; what is in none goes where it belongs.
      auto groupKey = [&](size_t i) {
        const auto &[sum, count] = groups[places[i].group];
        return places[i].group.empty() ? places[i].key : sum / count;
      };
      std::sort(rank.begin(), rank.end(), [&](size_t a, size_t b) {
        const double x = groupKey(a), y = groupKey(b);
        if (x != y)
          return x < y;
        if (places[a].group != places[b].group)
          return places[a].group < places[b].group;
        return places[a].key != places[b].key ? places[a].key < places[b].key
                                              : places[a].x < places[b].x;
      });
      number(rank);
    }
}

double Layout::middle(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

/// Moves the places of a rank as near to the middle of their neighbours as their order and widths
/// allow: least squares by pooling adjacent violators.
void Layout::alignRank(const std::vector<size_t> &rank, bool byAbove) {
  struct Pool {
    double sum, weight;
    size_t count;
  };
  std::vector<Pool> pools;
  std::vector<double> offsets;
  double offset = 0;
  for (size_t i = 0; i < rank.size(); ++i) {
    const Place &place = places[rank[i]];
    if (i)
      offset += 0.5 * (places[rank[i - 1]].width + place.width) + nodeGap;
    offsets.push_back(offset);
    const std::vector<size_t> &next =
        (byAbove || place.below.empty()) && !place.above.empty() ? place.above : place.below;
    std::vector<double> wanted;
    for (size_t other : next)
      wanted.push_back(places[other].x);
    const double weight = place.width == dummyWidth ? 4 : 1; // long edges are straight
    const double target = (wanted.empty() ? place.x : middle(std::move(wanted))) - offset;
    pools.push_back({target * weight, weight, 1});
    while (pools.size() > 1) {
      Pool &last = pools.back(), &before = pools[pools.size() - 2];
      if (before.sum / before.weight <= last.sum / last.weight)
        break;
      before = {before.sum + last.sum, before.weight + last.weight, before.count + last.count};
      pools.pop_back();
    }
  }
  size_t i = 0;
  for (const Pool &pool : pools)
    for (size_t k = 0; k < pool.count; ++k, ++i)
      places[rank[i]].x = pool.sum / pool.weight + offsets[i];
}

void Layout::position() {
  for (const auto &rank : ranks) {
    double x = 0;
    for (size_t i : rank) {
      places[i].x = x + 0.5 * places[i].width;
      x += places[i].width + nodeGap;
    }
    for (size_t i : rank)
      places[i].x -= 0.5 * x;
  }
  for (int sweep = 0; sweep < positionSweeps; ++sweep)
    for (size_t r = 0; r < ranks.size(); ++r)
      alignRank(ranks[sweep % 2 ? ranks.size() - 1 - r : r], sweep % 2 == 0);
}

void Layout::write(Point &size) {
  // Long chains drift: the drawing may be far from 0, and begins where it begins.
  double left = places.empty() ? 0 : places[0].x, right = left;
  for (const Place &place : places) {
    left = std::min(left, place.x - 0.5 * place.width);
    right = std::max(right, place.x + 0.5 * place.width);
  }
  std::vector<double> tops, heights;
  double y = 0;
  for (const auto &rank : ranks) {
    double height = 0;
    for (size_t i : rank)
      if (i < nodes.size())
        height = std::max(height, nodes[i].height);
    tops.push_back(y);
    heights.push_back(height);
    y += height + rankGap;
  }
  for (size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].x = places[i].x - left;
    nodes[i].y = tops[places[i].rank];
  }
  for (size_t e = 0; e < edges.size(); ++e) {
    std::vector<Point> points;
    for (size_t step = 0; step < ways[e].size(); ++step) {
      const size_t i = ways[e][step];
      const double x = places[i].x - left, top = tops[places[i].rank];
      if (step)
        points.push_back({x, top});
      if (step + 1 < ways[e].size())
        points.push_back(
            {x, i < nodes.size() ? top + nodes[i].height : top + heights[places[i].rank]});
    }
    if (edges[e].from > edges[e].to)
      std::reverse(points.begin(), points.end());
    edges[e].points = std::move(points);
  }
  size = {right - left, ranks.empty() ? 0 : y - rankGap};
}

bool Layout::run(Point &size) {
  if (!rankNodes())
    return false;
  addPlaces();
  order();
  position();
  write(size);
  return true;
}

bool mpc::picture::layOut(std::vector<LayoutNode> &nodes, std::vector<LayoutEdge> &edges,
                          Point &size) {
  return Layout(nodes, edges).run(size);
}
