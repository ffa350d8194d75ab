// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The extension module mpc._runtime: the C ABI of libmpcrt for the Python code beside it.
#include "python/src/context.h"
#include "python/src/dtypes.h"
#include "python/src/errors.h"
#include "python/src/unlocked.h"
#include "runtime/training/epoch_log.h"
#include "runtime/training/metric_direction.h"
#include "runtime/training/shuffle.h"
#include "runtime/untrusted/outlets.h"

#include <cstring>
#include <nanobind/nanobind.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace mpc::python;
using namespace nb::literals;

namespace {

// As Python's own functions: text, bytes or what has __fspath__, and no null character in it.
std::string pathOf(nb::handle object) {
  PyObject *bytes = nullptr;
  if (!PyUnicode_FSConverter(object.ptr(), &bytes))
    throw nb::python_error();
  const auto path = nb::steal<nb::bytes>(bytes);
  return {path.c_str(), path.size()};
}

nb::dict describeTensor(const mpc_rt_tensor_info_t &tensor) {
  nb::list shape;
  for (uint32_t i = 0; i < tensor.rank; ++i)
    if (tensor.dims[i] == MPC_RT_DYNAMIC)
      shape.append(nb::none());
    else
      shape.append(tensor.dims[i]);
  nb::dict result;
  result["name"] = tensor.name;
  result["dtype"] = mpc_rt_dtype_name(tensor.dtype);
  result["shape"] = nb::tuple(shape);
  return result;
}

nb::list describeTensors(const mpc_rt_executable_t &tables, uint32_t number, bool isOutput) {
  const mpc_rt_entry_info_t &entry = tables.entries[number];
  nb::list list;
  for (uint32_t i = 0; i < (isOutput ? entry.output_count : entry.input_count); ++i) {
    nb::dict tensor = describeTensor((isOutput ? entry.outputs : entry.inputs)[i]);
    tensor["text"] = mpc_rt_find_form(&tables, number, isOutput, i, MPC_RT_FORM_TEXT) != nullptr;
    list.append(tensor);
  }
  return list;
}

// Says which outputs values bound: (output, axis, output that is the extent).
nb::list describeBounds(const mpc_rt_executable_t &tables, uint32_t entry) {
  nb::list list;
  for (uint32_t i = 0; i < tables.entries[entry].output_count; ++i)
    if (const mpc_rt_tensor_form_t *form =
            mpc_rt_find_form(&tables, entry, /*is_output=*/1, i, MPC_RT_FORM_BOUNDED))
      list.append(nb::make_tuple(i, form->axis, form->extent_output));
  return list;
}

nb::dict describeModel(const Model &model) {
  static const char *const roles[] = {"trainable", "non_trainable", "optimizer",
                                      "metric",    "random",        "shadow"};
  const mpc_rt_executable_t &tables = model.tables();
  nb::list entries, variables, metrics;
  for (uint32_t i = 0; i < tables.entry_count; ++i) {
    nb::dict entry;
    entry["name"] = tables.entries[i].name;
    entry["inputs"] = describeTensors(tables, i, /*isOutput=*/false);
    entry["outputs"] = describeTensors(tables, i, /*isOutput=*/true);
    entry["bounds"] = describeBounds(tables, i);
    entries.append(entry);
  }
  for (uint32_t i = 0; i < tables.variable_count; ++i) {
    nb::dict variable = describeTensor(tables.variables[i].tensor);
    variable["role"] = roles[tables.variables[i].role];
    variables.append(variable);
  }
  for (uint32_t i = 0; i < tables.metric_count; ++i) {
    nb::dict metric;
    metric["name"] = tables.metrics[i].name;
    metric["kind"] = tables.metrics[i].kind;
    metrics.append(metric);
  }
  nb::dict result;
  result["name"] = tables.model_name;
  result["path"] =
      nb::steal<nb::object>(PyUnicode_DecodeFSDefault(mpc_rt_model_path(model.handle)));
  result["policy"] = MPC_RT_EXECUTABLE_HAS(&tables, policy) && tables.policy ? tables.policy : "";
  result["source_hash"] = tables.source_hash ? tables.source_hash : "";
  result["compiler_version"] = tables.compiler_version ? tables.compiler_version : "";
  result["manifest"] = tables.manifest ? tables.manifest : "{}";
  result["entries"] = entries;
  result["variables"] = variables;
  result["metrics"] = metrics;
  return result;
}

using Any = nb::ndarray<nb::ro, nb::device::cpu>;
using Bits = nb::ndarray<nb::numpy, nb::ro>;

// Makes the tensor of `object.__dlpack__` a NumPy array, which keeps it: the producer may have made
// it for this call. A dtype that NumPy lacks comes as its bits.
std::pair<std::string, Bits> viewTensor(nb::object object) {
  Any tensor = nb::cast<Any>(object.attr("__dlpack__")());
  std::string name = nameOf(tensor.dtype());
  nb::dlpack::dtype type = dlpackType(name == "bfloat16" ? "uint16" : name);
  std::vector<size_t> shape;
  std::vector<int64_t> strides;
  for (size_t i = 0; i < tensor.ndim(); ++i) {
    shape.push_back(tensor.shape(i));
    strides.push_back(tensor.stride(i));
  }
  auto *keep = new Any(tensor);
  nb::capsule owner(keep, [](void *held) noexcept { delete static_cast<Any *>(held); });
  return {name, Bits(tensor.data(), tensor.ndim(), shape.data(), owner, strides.data(), type)};
}

// An array as a DLPack tensor of the dtype that its bits are.
nb::ndarray<nb::array_api> exportTensor(Output array, const std::string &dtype) {
  nb::dlpack::dtype type = dlpackType(dtype);
  if (array.itemsize() * 8 != type.bits)
    refuse("the array's elements are not as wide as " + dtype);
  std::vector<size_t> shape;
  for (size_t i = 0; i < array.ndim(); ++i)
    shape.push_back(array.shape(i));
  auto *keep = new Output(array);
  nb::capsule owner(keep, [](void *held) noexcept { delete static_cast<Output *>(held); });
  return nb::ndarray<nb::array_api>(array.data(), array.ndim(), shape.data(), owner, nullptr, type);
}

template <typename Call> auto locked(Context &context, Call call) {
  Unlocked unlocked;
  std::lock_guard<Turn> lock(context.busy);
  return call(context.handle);
}

} // namespace

NB_MODULE(_runtime, module) {
  module.doc() = "The C ABI of libmpcrt; use the package mpc.";
  // Models that daemon threads use at the end are no leak, and no concern of a user.
  nb::set_leak_warnings(false);
  nb::module_::import_("atexit").attr("register")(nb::cpp_function([] {
    nb::gil_scoped_release released; // calls that are under way want it back
    ExitGate::instance().close();
  }));
  nb::register_exception_translator([](const std::exception_ptr &pointer, void *) {
    try {
      std::rethrow_exception(pointer);
    } catch (const RuntimeFailure &failure) {
      // Names of files need not be UTF-8.
      auto message = nb::steal<nb::object>(PyUnicode_DecodeUTF8(
          failure.message.data(), static_cast<Py_ssize_t>(failure.message.size()),
          "backslashreplace"));
      nb::object error =
          nb::module_::import_("mpc.errors").attr("from_status")(failure.status, message);
      PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(error.ptr())), error.ptr());
    }
  });

  nb::class_<Model>(module, "Model")
      .def(
          "__init__", [](Model *self, nb::handle path) { new (self) Model(pathOf(path)); },
          "path"_a)
      .def("describe", &describeModel)
      .def(
          "workspace_bytes",
          [](const Model &model, uint32_t entry, int64_t batch) {
            return mpc_rt_entry_arena_bytes(model.handle, entry, batch);
          },
          "entry"_a, "batch"_a);

  nb::class_<DeviceTensor>(module, "DeviceTensor", "A tensor in memory of a GPU, by DLPack.")
      .def(nb::init<nb::object>(), "tensor"_a)
      .def_prop_ro("shape", [](const DeviceTensor &t) { return nb::tuple(nb::cast(t.shape())); })
      .def_prop_ro("dtype", &DeviceTensor::dtype)
      .def_prop_ro("device", &DeviceTensor::device)
      .def("rows", &DeviceTensor::rows, "begin"_a, "end"_a)
      .def("reshape", &DeviceTensor::reshaped, "shape"_a);

  nb::class_<Communicator>(module, "Communicator")
      .def(nb::init<double, uint64_t>(), "timeout"_a, "mpi_communicator"_a)
      .def_prop_ro("rank", [](const Communicator &c) { return mpc_rt_communicator_rank(c.handle); })
      .def_prop_ro("size", [](const Communicator &c) { return mpc_rt_communicator_size(c.handle); })
      .def_prop_ro("driver",
                   [](const Communicator &c) { return mpc_rt_communicator_driver(c.handle); })
      .def("barrier", [](Communicator &c) {
        Unlocked unlocked;
        check(mpc_rt_communicator_barrier(c.handle));
      });

  nb::class_<Context>(module, "Context")
      .def(nb::init<std::shared_ptr<Model>, const std::string &, uint32_t, uint64_t, bool>(),
           "model"_a, "device"_a, "threads"_a, "seed"_a, "load_initial"_a)
      .def("run", &Context::run, "entry"_a, "inputs"_a, "outputs"_a, "batch"_a)
      .def("get", &Context::get, "variable"_a, "target"_a)
      .def("set", &Context::set, "variable"_a, "source"_a)
      .def("metric", &Context::metric, "index"_a)
      .def("set_ranks", &Context::setRanks, "communicator"_a.none(), "parts"_a)
      .def("gather_variables", &Context::gatherVariables, "keep"_a)
      .def("reset_metrics",
           [](Context &c) {
             locked(c, [](auto *handle) { check(mpc_rt_context_reset_metrics(handle)); });
           })
      .def(
          "initialize",
          [](Context &c, uint64_t seed) {
            locked(c, [&](auto *handle) { check(mpc_rt_context_initialize(handle, seed)); });
          },
          "seed"_a)
      .def(
          "save",
          [](Context &c, nb::handle object) {
            const std::string path = pathOf(object);
            locked(c, [&](auto *handle) { check(mpc_rt_context_save(handle, path.c_str())); });
          },
          "path"_a)
      .def(
          "load",
          [](Context &c, nb::handle object) {
            const std::string path = pathOf(object);
            mpc_rt_loaded_t loaded = {sizeof loaded, 0, 0, 0, 0, 0};
            locked(c, [&](auto *handle) {
              check(mpc_rt_context_load_weights(handle, path.c_str(), &loaded));
            });
            return std::tuple(loaded.optimizer_variables, loaded.optimizer_missing,
                              loaded.optimizer_ignored);
          },
          "path"_a)
      .def("get_learning_rate",
           [](Context &c) {
             float rate = 0;
             locked(c, [&](auto *h) { check(mpc_rt_context_get_learning_rate(h, &rate)); });
             return rate;
           })
      .def(
          "set_learning_rate",
          [](Context &c, float rate) {
            locked(c, [&](auto *h) { check(mpc_rt_context_set_learning_rate(h, rate)); });
          },
          "rate"_a)
      .def("get_loss_scale",
           [](Context &c) {
             mpc_rt_loss_scale_t scale = {};
             scale.struct_size = sizeof scale;
             locked(c, [&](auto *h) { check(mpc_rt_context_get_loss_scale(h, &scale)); });
             return std::tuple(scale.scale, scale.dynamic != 0, scale.dynamic_counter);
           })
      .def(
          "set_loss_scale",
          [](Context &c, float value, int64_t counter) {
            mpc_rt_loss_scale_t scale = {};
            scale.struct_size = sizeof scale;
            scale.scale = value;
            scale.dynamic_counter = counter;
            locked(c, [&](auto *h) { check(mpc_rt_context_set_loss_scale(h, &scale)); });
          },
          "scale"_a, "counter"_a)
      .def(
          "set_random",
          [](Context &c, uint64_t seed, uint64_t counter) {
            locked(c, [&](auto *h) { check(mpc_rt_context_set_random(h, seed, counter)); });
          },
          "seed"_a, "counter"_a);

  using mpc::training::TensorBoardLog;
  nb::class_<TensorBoardLog>(module, "TensorBoardLog", "Event files of an epoch's scalars.")
      .def(nb::init<std::string, std::function<void(const std::string &)>>(), "folder"_a, "warn"_a)
      .def(
          "write",
          [](TensorBoardLog &log, uint32_t epoch, const mpc::training::Logs &scalars) {
            std::vector<mpc::training::Logs> history(size_t(epoch) +
                                                     1); // earlier epochs are written
            history.back() = scalars;
            (void)static_cast<bool>(log.historyChanged(history));
          },
          "epoch"_a, "scalars"_a);

  module.def(
      "part_rows",
      [](int64_t rows, uint32_t part, uint32_t parts) {
        int64_t first = 0, count = 0;
        mpc_rt_part_rows(rows, part, parts, &first, &count);
        return std::pair(first, count);
      },
      "rows"_a, "part"_a, "parts"_a);
  module.def("view_tensor", &viewTensor, "tensor"_a,
             "A DLPack tensor's dtype and its memory as a NumPy array.");
  module.def("export_tensor", &exportTensor, "array"_a, "dtype"_a,
             "An array's memory as an object with __dlpack__.");
  module.def(
      "shuffled_rows",
      [](int64_t rows, uint64_t seed, uint64_t epoch) {
        if (rows < 0)
          refuse("a negative number of rows");
        return mpc::training::shuffledRows(rows, seed, epoch);
      },
      "rows"_a, "seed"_a, "epoch"_a, "The order of rows that mpc-run train takes.");
  module.def("larger_is_better", mpc::training::largerIsBetter, "monitor"_a,
             "Whether more is better for a metric of this name; None where that does not say it.");
  module.def(
      "for_line", [](const std::string &text) { return mpc::untrusted::forLine(text); }, "text"_a,
      "A name in which control characters are shown and not acted upon.");
  module.def(
      "for_cell", [](const std::string &text) { return mpc::untrusted::forCell(text); }, "text"_a,
      "The same for a table that a spreadsheet may read.");
  module.def("runtime_version", [] { return mpc_rt_version(); });
}
