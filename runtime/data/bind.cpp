// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matches arrays with tensors and checks them.
#include "runtime/data/bind.h"

#include "runtime/data/convert.h"
#include "runtime/data/texts.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace mpc::data {

namespace {

int64_t countOf(const std::vector<int64_t> &dims) {
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= dim;
  return count;
}

std::string quotedNames(const TensorSpec &spec) {
  std::string text = "'" + spec.name + "'";
  for (const std::string &alias : spec.aliases)
    text += " or '" + alias + "'";
  return text;
}

/// The array under the tensor's name or one of its aliases.
const Array *findArray(const Source &source, const TensorSpec &spec, std::string &found) {
  auto look = [&](const std::string &name) -> const Array * {
    auto at = source.arrays.find(name);
    if (at == source.arrays.end())
      return nullptr;
    found = name;
    return &at->second;
  };
  if (const Array *array = look(spec.name))
    return array;
  for (const std::string &alias : spec.aliases)
    if (const Array *array = look(alias))
      return array;
  return nullptr;
}

/// CSV columns side by side as [rows, columns]: int64 if all are, else float64.
Array joinColumns(const Source &source, const std::vector<std::string> &names) {
  bool real = false;
  int64_t rows = 0;
  for (const std::string &name : names) {
    const Array &column = source.arrays.at(name);
    real |= column.dtype() == MPC_RT_FLOAT64;
    rows = column.rows();
  }
  int64_t width = static_cast<int64_t>(names.size());
  mpc_rt_dtype_t dtype = real ? MPC_RT_FLOAT64 : MPC_RT_INT64;
  Result<Array> joined = Array::allocate(dtype, {rows, width});
  if (!joined)
    return Array();
  for (int64_t c = 0; c < width; ++c) {
    const Array &column = source.arrays.at(names[static_cast<size_t>(c)]);
    for (int64_t r = 0; r < rows; ++r)
      convertElements(column.data() + r * 8, column.dtype(), joined->data() + (r * width + c) * 8,
                      dtype, 1, Conversion::Direct);
  }
  return *joined;
}

/// NAME_0 .. NAME_{n-1} for a tensor of n values per row, under its name or an alias; x0 .. x{n-1},
/// as tables are often written, for the only input, whose positional name is x0, and so y0 for the
/// only target.
std::vector<std::string> numberedColumns(const Source &source, const TensorSpec &spec,
                                         bool isOnly) {
  std::vector<std::string> stems;
  auto add = [&](const std::string &base) {
    stems.push_back(base + "_");
    if (isOnly && (base == "x0" || base == "y0"))
      stems.push_back(base.substr(0, 1));
  };
  add(spec.name);
  for (const std::string &alias : spec.aliases)
    add(alias);
  int64_t count = countOf(spec.dims);
  for (const std::string &stem : stems) {
    if (!source.arrays.count(stem + "0") || count > static_cast<int64_t>(source.order.size()))
      continue;
    std::vector<std::string> names;
    for (int64_t i = 0; i < count; ++i)
      names.push_back(stem + std::to_string(i));
    if (std::all_of(names.begin(), names.end(),
                    [&](const std::string &name) { return source.arrays.count(name); }))
      return names;
  }
  return {};
}

class Binder {
public:
  Binder(const Source &source, const Signature &signature)
      : source_(source), signature_(signature) {
    data_.path = source.path;
    data_.notes = source.notes;
  }

  static constexpr const char *commonWeights = "sample_weight"; // of all outputs
  // numpy.savez gives arrays without a name these; they fit models with one input.
  static constexpr const char *unnamedInput = "arr_0", *unnamedTarget = "arr_1";

  Result<Dataset> run(bool withTargets) {
    for (const TensorSpec &spec : signature_.inputs)
      bind(spec, "input", true);
    data_.inputCount = signature_.inputs.size();
    if (withTargets) {
      for (const TensorSpec &spec : signature_.targets)
        bind(spec, "target", false);
      data_.targetCount = signature_.targets.size();
      for (const TensorSpec &spec : signature_.sampleWeights)
        bindWeights(spec);
      data_.weightCount = signature_.sampleWeights.size();
      refuseUnusedWeights();
      noteIgnored();
    }
    checkRows();
    if (!failure_.empty())
      return failure_;
    return data_;
  }

private:
  void fail(const std::string &place, const std::string &text) {
    failure_.append(Failure(source_.path + (place.empty() ? "" : ":" + place) + ": " + text));
  }

  void bind(const TensorSpec &spec, const char *what, bool isInput) {
    std::string found;
    float divisor = 0;
    Array array;
    if (source_.kind == Source::Kind::IdxFolder) {
      found = isInput ? "images" : "labels";
      auto at = source_.arrays.find(found);
      bool only = (isInput ? signature_.inputs : signature_.targets).size() == 1;
      if (!only || at == source_.arrays.end())
        return fail("",
                    only ? std::string("has no ") + found + " file; expected MNIST's pair of files"
                         : "an IDX folder feeds models of one input and one target; expected "
                           "an .npz for this one");
      array = at->second;
      if (isInput && array.rank() >= 1 &&
          countOf(array.dims()) == array.rows() * countOf(spec.dims)) {
        std::vector<int64_t> dims = spec.dims;
        dims.insert(dims.begin(), array.rows());
        array = array.reshaped(dims);
        bool scaled = isFloating(spec.dtype) && array.dtype() == MPC_RT_UINT8;
        divisor = scaled ? 255.0f : 0;
        data_.notes.push_back(std::string("images: ") +
                              (scaled ? "bytes become float32 in [0, 1]" : "bytes stay integers") +
                              ", shape " + formatShape(array.dims()));
      }
    } else if (const Array *direct = findDirect(spec, isInput, found)) {
      array = *direct;
    } else if (source_.kind == Source::Kind::Csv && spec.isText) {
      return fail("", "is a table of numbers; expected text for " + std::string(what) + " '" +
                          spec.name + "'; give the model an .npz");
    } else if (source_.kind == Source::Kind::Csv) {
      std::vector<std::string> names = columnsOf(spec, isInput);
      if (names.empty() && isInput && signature_.inputs.size() == 1)
        names = featureColumns();
      if (names.empty())
        return missing(spec, what);
      found = spec.name;
      array = joinColumns(source_, names);
      if (static_cast<int64_t>(names.size()) != countOf(spec.dims))
        return fail("", "has " + std::to_string(names.size()) + " feature columns; expected " +
                            std::to_string(countOf(spec.dims)) + " for input '" + spec.name +
                            "' of shape " + formatShape(spec.dims) +
                            "; columns that are no target are features, in order");
      std::vector<int64_t> dims = spec.dims;
      dims.insert(dims.begin(), array.rows());
      array = array.reshaped(dims);
    } else {
      return missing(spec, what);
    }
    check(spec, what, found, array, divisor);
  }

  void missing(const TensorSpec &spec, const char *what) {
    fail("", std::string("has no array for ") + what + " " + quotedNames(spec) +
                 "; expected it under that name; it has: " + listNames(source_));
  }

  bool isOnly(bool isInput) const {
    return (isInput ? signature_.inputs : signature_.targets).size() == 1;
  }

  std::vector<std::string> columnsOf(const TensorSpec &spec, bool isInput) const {
    return numberedColumns(source_, spec, isOnly(isInput));
  }

  /// The array that holds all of the tensor. A column of a CSV is a value per row: for a tensor of
  /// several, one that is called x0 is the first of many rather than all of the input.
  const Array *findDirect(const TensorSpec &spec, bool isInput, std::string &found) const {
    if (source_.kind == Source::Kind::Csv && countOf(spec.dims) != 1 &&
        (!columnsOf(spec, isInput).empty() || (isInput && isOnly(isInput))))
      return nullptr;
    if (const Array *array = findArray(source_, spec, found))
      return array;
    if (source_.kind != Source::Kind::Npz || !isOnly(isInput))
      return nullptr;
    auto at = source_.arrays.find(isInput ? unnamedInput : unnamedTarget);
    if (at == source_.arrays.end() || (!isInput && signature_.inputs.size() != 1))
      return nullptr;
    found = at->first;
    return &at->second;
  }

  /// All columns of a CSV that no target and no weights take.
  std::vector<std::string> featureColumns() const {
    std::vector<std::string> taken = {commonWeights};
    for (const auto *specs : {&signature_.targets, &signature_.sampleWeights})
      for (const TensorSpec &spec : *specs) {
        taken.push_back(spec.name);
        taken.insert(taken.end(), spec.aliases.begin(), spec.aliases.end());
        std::vector<std::string> numbered =
            numberedColumns(source_, spec, specs == &signature_.targets && isOnly(false));
        taken.insert(taken.end(), numbered.begin(), numbered.end());
      }
    std::vector<std::string> names;
    for (const std::string &name : source_.order)
      if (std::find(taken.begin(), taken.end(), name) == taken.end())
        names.push_back(name);
    return names;
  }

  /// Whether the array has the elements that the tensor has, texts or numbers; of texts it gets
  /// room for as many code points.
  bool fitElements(const TensorSpec &spec, const std::string &label, const std::string &found,
                   Array &array) {
    if (array.isText() != spec.isText) {
      fail(found, std::string("is ") + (array.isText() ? "text" : dtypeInfo(array.dtype())->keras) +
                      "; expected " + (spec.isText ? "text" : dtypeInfo(spec.dtype)->keras) +
                      " for " + label);
      return false;
    }
    if (!spec.isText)
      return true;
    Result<Array> fitted = fitTexts(array, spec.dims.back(), label);
    if (fitted)
      array = *fitted;
    else
      fail(found, fitted.failure().messages.front());
    return static_cast<bool>(fitted);
  }

  void check(const TensorSpec &spec, const char *what, const std::string &found, Array array,
             float divisor) {
    std::string label = std::string(what) + " '" + spec.name + "'";
    if (!fitElements(spec, label, found, array))
      return;
    if (spec.isWhole)
      return checkWhole(spec, label, found, std::move(array), divisor);
    std::vector<int64_t> wanted = spec.dims;
    wanted.insert(wanted.begin(), array.rows());
    if (!fitShape(array, wanted)) {
      const char *advice = array.elements() == countOf(wanted) ? "reshape it" : "pad or crop it";
      wanted[0] = batchDimension;
      return fail(found, "has shape " + formatShape(array.dims()) + "; expected " +
                             formatShape(wanted) + " for " + label + "; " + advice);
    }
    accept(spec, label, found, std::move(array), divisor);
  }

  /// An array without rows becomes the only row of one.
  void checkWhole(const TensorSpec &spec, const std::string &label, const std::string &found,
                  Array array, float divisor) {
    const bool isNumber = spec.dims.empty() && array.elements() == 1;
    if (array.dims() != spec.dims && !isNumber)
      return fail(found, "has shape " + formatShape(array.dims()) + "; expected " +
                             formatShape(spec.dims) + " for " + label);
    std::vector<int64_t> row = spec.dims;
    row.insert(row.begin(), 1);
    accept(spec, label, found, array.reshaped(row), divisor);
  }

  /// An array of the right shape: checks its values.
  void accept(const TensorSpec &spec, const std::string &label, const std::string &found,
              Array array, float divisor) {
    if (!convertible(array.dtype(), spec.dtype))
      return fail(found, std::string("is ") + dtypeInfo(array.dtype())->keras + "; expected " +
                             dtypeInfo(spec.dtype)->keras + " for " + label +
                             "; floating values are never rounded to integers here: convert it");
    int64_t perRow =
        std::max<int64_t>(countOf(array.dims()) / std::max<int64_t>(array.rows(), 1), 1);
    int64_t bad = spec.indexLimit > 0 ? firstNoIndex(array, spec.indexLimit) : -1;
    if (bad >= 0)
      return fail(found, "row " + std::to_string(bad / perRow) + " is " +
                             formatElement(array, bad) + "; expected values from 0 to " +
                             std::to_string(spec.indexLimit - 1) + " for " + label);
    bad = firstMisfit(array, spec.dtype);
    if (bad >= 0)
      return fail(found, "row " + std::to_string(bad / perRow) + " is " +
                             formatElement(array, bad) + "; expected a value that " +
                             dtypeInfo(spec.dtype)->keras + " holds, for " + label);
    names_.push_back(found);
    data_.columns.push_back(Column{spec, std::move(array), divisor, 0});
  }

  static constexpr int64_t batchDimension = -1;

  /// Equal, or equal up to one trailing 1 (Keras expands and squeezes so:
  /// Functional._adjust_input_rank).
  static bool fitShape(Array &array, const std::vector<int64_t> &wanted) {
    if (array.shape().empty())
      return false;
    std::vector<int64_t> dims = array.dims();
    if (dims == wanted)
      return true;
    if (array.isText())
      return false;
    if (dims.size() == wanted.size() + 1 && dims.back() == 1)
      dims.pop_back();
    else if (dims.size() + 1 == wanted.size())
      dims.push_back(1);
    if (dims != wanted)
      return false;
    array = array.reshaped(dims);
    return true;
  }

  /// Gives the array the rank of the loss's elements, every dim theirs or 1, as Keras broadcasts
  /// weights (keras/src/losses/loss.py, squeeze_or_expand_to_same_rank); a value per row goes with
  /// all elements of the row.
  static bool fitWeights(Array &array, const std::vector<int64_t> &elements) {
    if (array.rank() < 1)
      return false;
    std::vector<int64_t> dims(array.dims().begin() + 1, array.dims().end());
    if (dims.empty())
      dims.resize(elements.size(), 1);
    else if (dims.size() == elements.size() + 1 && dims.back() == 1)
      dims.pop_back();
    else if (dims.size() + 1 == elements.size() && elements.back() == 1)
      dims.push_back(1);
    if (dims.size() != elements.size())
      return false;
    for (size_t i = 0; i < dims.size(); ++i)
      if (dims[i] != 1 && dims[i] != elements[i])
        return false;
    dims.insert(dims.begin(), array.rows());
    array = array.reshaped(dims);
    return true;
  }

  void bindWeights(const TensorSpec &spec) {
    std::string found = commonWeights;
    auto common = source_.arrays.find(commonWeights);
    Array array;
    if (const Array *own = findArray(source_, spec, found)) {
      array = *own;
    } else if (common != source_.arrays.end()) {
      array = common->second;
    } else {
      int64_t rows = data_.columns.empty() ? 0 : data_.columns[0].array.rows();
      Result<Array> ones = Array::allocate(MPC_RT_FLOAT32, {rows});
      if (!ones)
        return fail("", ones.failure().messages[0]);
      std::fill_n(ones->as<float>(), rows, 1.0f);
      array = *ones;
    }
    std::string label = "weights '" + spec.name + "'";
    if (!fitWeights(array, spec.dims)) {
      std::vector<int64_t> wanted = spec.dims;
      wanted.insert(wanted.begin(), batchDimension);
      std::string expected = formatShape({batchDimension});
      if (wanted.size() > 1)
        expected += " or " + formatShape(wanted) + ", a weight per row or per element of the loss,";
      return fail(found, "has shape " + formatShape(array.dims()) + "; expected " + expected +
                             " for " + label + "; reshape it");
    }
    accept(spec, label, found, std::move(array), 0);
  }

  void refuseUnusedWeights() {
    if (signature_.sampleWeights.empty() && source_.arrays.count(commonWeights))
      fail(commonWeights, "cannot be used: the compiled model takes no sample weights; expected "
                          "data without it; remove it or compile the model with weights");
  }

  /// A misspelled sample_weights must not go unnoticed.
  void noteIgnored() {
    if (source_.kind == Source::Kind::IdxFolder || source_.kind == Source::Kind::Csv)
      return;
    Source ignored;
    for (const std::string &name : source_.order)
      if (std::find(names_.begin(), names_.end(), name) == names_.end())
        ignored.order.push_back(name);
    if (!ignored.order.empty() && failure_.empty())
      data_.notes.push_back(
          source_.path +
          ": ignored, since the model has no such input or target: " + listNames(ignored));
  }

  void checkRows() {
    if (data_.columns.empty())
      return;
    data_.rows = 1; // where no array has rows
    size_t first = data_.columns.size();
    for (size_t i = 0; i < data_.columns.size(); ++i) {
      if (data_.columns[i].spec.isWhole)
        continue;
      const int64_t rows = data_.columns[i].array.rows();
      if (first == data_.columns.size()) {
        first = i;
        data_.rows = rows;
      } else if (rows != data_.rows) {
        fail(names_[i], "has " + std::to_string(rows) + " rows; expected " +
                            std::to_string(data_.rows) + " as '" + names_[first] + "'");
      }
    }
    if (failure_.empty() && data_.rows == 0)
      fail("", "has no rows; expected at least one");
  }

  const Source &source_;
  const Signature &signature_;
  Dataset data_;
  std::vector<std::string> names_; // as the columns are called in the source
  Failure failure_;
};

} // namespace

Dataset Dataset::slice(int64_t begin, int64_t count) const {
  Dataset part = *this;
  for (Column &column : part.columns)
    if (!column.spec.isWhole)
      column.firstRow += begin;
  part.rows = count;
  return part;
}

WantedNames namesOf(std::vector<Signature> signatures) {
  std::set<std::string> names = {Binder::commonWeights, Binder::unnamedInput,
                                 Binder::unnamedTarget};
  for (Signature &signature : signatures)
    for (std::vector<TensorSpec> *specs :
         {&signature.inputs, &signature.targets, &signature.sampleWeights})
      for (TensorSpec &spec : *specs) {
        names.insert(std::move(spec.name));
        names.insert(spec.aliases.begin(), spec.aliases.end());
      }
  return [names = std::move(names)](const std::string &name) { return names.count(name) != 0; };
}

Result<Dataset> bindSource(const Source &source, const Signature &signature, bool withTargets) {
  return Binder(source, signature).run(withTargets);
}

} // namespace mpc::data
