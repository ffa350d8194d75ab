// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/reports/blame.h"
#include "mpc-rt/training.h"
#include "runtime/reports/advice.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace mpc::reports {

using data::Result;
using data::Status;

namespace {

/// Every so many steps a dynamic loss scale doubles, and falls back where that was too far: one
/// halving is how it works, more are not.
constexpr float largestFall = 2;
/// The layer of what training computes behind the model.
constexpr const char *lossLayer = "loss";

/// The layer of which a value of the loss has nothing but weights, as a regularizer's sums; empty:
/// none.
std::string findRegularized(const std::vector<TracedValue> &values, size_t of) {
  std::vector<uint32_t> pending = values[of].sources;
  std::set<uint32_t> seen;
  std::string layer;
  while (!pending.empty()) {
    const uint32_t slot = pending.back();
    pending.pop_back();
    if (!seen.insert(slot).second)
      continue;
    auto source = std::find_if(values.begin(), values.end(),
                               [&](const TracedValue &value) { return value.slot == slot; });
    if (source == values.end())
      return "";
    if (source->layer == values[of].layer) {
      pending.insert(pending.end(), source->sources.begin(), source->sources.end());
      continue;
    }
    if (source->op.rfind("weight:", 0) != 0 || (!layer.empty() && layer != source->layer))
      return "";
    layer = source->layer;
  }
  return layer;
}

/// The values of one step, which runs twice: as compiled, and in float32.
Result<std::optional<Blame>> judge(TracedModel &model, const data::Dataset &data,
                                   const std::vector<int64_t> &rows) {
  model.reset();
  if (Status status = model.run(data, rows); !status)
    return status.failure();
  Blame blame{Fault{}, model.values(), 0, {}, false};
  data::Failure failure;
  std::optional<Fault> fault = findFault(blame.values, [&]() -> std::vector<double> {
    Result<std::vector<double>> noise = model.measureNoise(data, rows);
    if (noise)
      return *noise;
    failure = noise.failure();
    return {};
  });
  if (!failure.empty())
    return failure;
  if (!fault)
    return std::optional<Blame>();
  blame.fault = *fault;
  if (blame.value().layer == lossLayer)
    if (std::string layer = findRegularized(blame.values, fault->value); !layer.empty())
      blame.values[fault->value].layer = layer;
  return std::optional<Blame>(std::move(blame));
}

/// A dynamic loss scale, and the old one back at the end.
class ScaleTrial {
public:
  explicit ScaleTrial(mpc_rt_context_t *context) : context_(context) {
    scale_.struct_size = sizeof scale_;
    known_ = mpc_rt_context_get_loss_scale(context, &scale_) == MPC_RT_OK &&
             (scale_.dynamic || scale_.scale != 1);
  }
  ~ScaleTrial() {
    if (changed_)
      mpc_rt_context_set_loss_scale(context_, &scale_);
  }
  ScaleTrial(const ScaleTrial &) = delete;
  ScaleTrial &operator=(const ScaleTrial &) = delete;

  bool isThere() const { return known_; }
  bool isDynamic() const { return known_ && scale_.dynamic; }
  float scale() const { return scale_.scale; }
  bool tryScale(float value) {
    mpc_rt_loss_scale_t trial = scale_;
    trial.scale = value;
    changed_ = true;
    return mpc_rt_context_set_loss_scale(context_, &trial) == MPC_RT_OK;
  }

private:
  mpc_rt_context_t *context_;
  mpc_rt_loss_scale_t scale_ = {};
  bool known_ = false, changed_ = false;
};

bool overflowsBackward(const Blame &blame) {
  return blame.value().direction == MPC_RT_TRACE_BACKWARD &&
         blame.fault.kind != FaultKind::Underflow && blame.fault.kind != FaultKind::Cancellation;
}

} // namespace

Result<std::optional<Blame>> blameStep(training::Session &session, TracedModel &model,
                                       const data::Dataset &data, const std::vector<int64_t> &rows,
                                       int64_t step) {
  Result<std::optional<Blame>> found = judge(model, data, rows);
  if (!found || !*found)
    return found;
  ScaleTrial trial(session.context());
  (*found)->hasLossScale = trial.isThere();
  if (trial.isDynamic() && overflowsBackward(**found))
    for (float scale = trial.scale() / 2;
         scale >= trial.scale() / largestFall && scale >= 1 && trial.tryScale(scale); scale /= 2) {
      Result<std::optional<Blame>> smaller = judge(model, data, rows);
      if (!smaller)
        return smaller;
      if (!*smaller)
        return std::optional<Blame>();
      if (!overflowsBackward(**smaller))
        break;
    }
  Blame &blame = **found;
  blame.step = step;
  const mpc_rt_traced_value_t &counts = blame.value().counts;
  for (uint32_t i = 0; i < counts.row_count; ++i)
    if (counts.rows[i] < static_cast<int64_t>(rows.size()))
      blame.rows.push_back(rows[static_cast<size_t>(counts.rows[i])]);
  return found;
}

static Json asOperand(const TracedValue &value) {
  Json json = Json::object();
  json["layer"] = value.layer;
  json["op"] = value.op;
  json["dtype"] = dtypeName(value.dtype);
  json["min_abs"] =
      value.counts.min_magnitude > 0 ? Json(value.counts.min_magnitude) : Json(nullptr);
  json["max_abs"] = value.counts.max_magnitude;
  json["zero"] = value.counts.zero;
  json["inf"] = value.counts.infinite;
  json["nan"] = value.counts.nan;
  return json;
}

Json asJson(const std::optional<Blame> &blame) {
  Json json = Json::object();
  json["found"] = blame.has_value();
  if (!blame)
    return json;
  const TracedValue &value = blame->value();
  json["layer"] = value.layer;
  json["op"] = value.op;
  json["direction"] = directionName(value.direction);
  json["dtype"] = dtypeName(value.dtype);
  json["step"] = blame->step;
  json["rows"] = blame->rows;
  json["kind"] = faultName(blame->fault.kind);
  json["absorbed_by"] = nullptr;
  if (blame->fault.absorbedBy) {
    const TracedValue &absorber = blame->values[*blame->fault.absorbedBy];
    json["absorbed_by"] = Json::object();
    json["absorbed_by"]["layer"] = absorber.layer;
    json["absorbed_by"]["op"] = absorber.op;
  }
  json["value"] = asOperand(value);
  json["operands"] = Json::array();
  for (const TracedValue &source : blame->values)
    if (std::find(value.sources.begin(), value.sources.end(), source.slot) != value.sources.end())
      json["operands"].push_back(asOperand(source));
  json["advice"] = advise(blame->values, blame->fault, blame->hasLossScale);
  return json;
}

std::string asText(const std::optional<Blame> &blame) {
  if (!blame)
    return "no value overflowed, was divided by zero or was lost";
  const TracedValue &value = blame->value();
  std::string text = std::string(faultName(blame->fault.kind)) + " in step " +
                     std::to_string(blame->step) + ", " + directionName(value.direction) +
                     ": layer '" + value.layer + "', " + value.op + " (" + dtypeName(value.dtype) +
                     ")";
  if (!blame->rows.empty()) {
    text += ", rows";
    for (int64_t row : blame->rows)
      text += " " + std::to_string(row);
  }
  if (blame->fault.absorbedBy) {
    const TracedValue &absorber = blame->values[*blame->fault.absorbedBy];
    text += "; absorbed by " + absorber.op + " of '" + absorber.layer + "'";
  }
  return text + "; " + advise(blame->values, blame->fault, blame->hasLossScale);
}

} // namespace mpc::reports
