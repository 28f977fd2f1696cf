#include "cli/conformance_case.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "onnx_io/tensor_proto.h"
#include "onward/import.h"
#include "onward/session.h"
#include "onward/status.h"

namespace onward::cli {
namespace {

namespace fs = std::filesystem;

struct Tolerances {
  double rtol = 1e-3;
  double atol = 1e-7;
};

Tolerances ReadTolerances(const fs::path& directory) {
  Tolerances tolerances;
  std::ifstream file(directory / "tolerances.json");
  if (!file) return tolerances;
  const nlohmann::json document = nlohmann::json::parse(file, nullptr, false);
  if (!document.is_object()) return tolerances;
  if (document.contains("rtol")) tolerances.rtol = document["rtol"].get<double>();
  if (document.contains("atol")) tolerances.atol = document["atol"].get<double>();
  return tolerances;
}

bool Close(double actual, double expected, const Tolerances& t) {
  if (actual == expected || (std::isnan(actual) && std::isnan(expected))) return true;
  return std::isfinite(actual) && std::isfinite(expected) &&
         std::fabs(actual - expected) <= t.atol + t.rtol * std::fabs(expected);
}

std::string CompareElements(const Tensor& actual, const Tensor& expected, Tolerances t) {
  // The standard's own runner allows bfloat16 two units in the last place.
  if (expected.dtype() == DType::kBFloat16) t.rtol = std::max(t.rtol, 1.0 / 64);
  std::string difference;
  const bool floating =
      DispatchDType(Concat<FloatTypes, Float8Types>(), expected.dtype(), [&](auto tag) {
        using T = typename decltype(tag)::type;
        int64_t wrong = 0;
        for (int64_t i = 0; i < expected.num_elements(); ++i) {
          const auto a = static_cast<double>(actual.data<T>()[i]),
                     e = static_cast<double>(expected.data<T>()[i]);
          if (!Close(a, e, t) && wrong++ == 0)
            difference = absl::StrCat("element ", i, " is ", a, ", expected ", e);
        }
        if (wrong > 1)
          absl::StrAppend(&difference, " (", wrong, " of ", expected.num_elements(), " differ)");
      });
  if (floating) return difference;
  const bool is_complex = DispatchDType(ComplexTypes(), expected.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < expected.num_elements() && difference.empty(); ++i) {
      const T a = actual.data<T>()[i], e = expected.data<T>()[i];
      if (!Close(a.real(), e.real(), t) || !Close(a.imag(), e.imag(), t))
        difference = absl::StrCat("element ", i, " differs");
    }
  });
  if (is_complex || SameBits(actual, expected)) return difference;
  return DispatchDType(
             IntegerTypes(), expected.dtype(),
             [&](auto tag) {
               using T = typename decltype(tag)::type;
               for (int64_t i = 0; i < expected.num_elements() && difference.empty(); ++i) {
                 const T a = actual.data<T>()[i], e = expected.data<T>()[i];
                 if (a != e)
                   difference = absl::StrCat("element ", i, " is ", +a, ", expected ", +e);
               }
             })
             ? difference
             : "elements differ";
}

std::string Compare(const Value& actual, const Value& expected, const Tolerances& t) {
  if (!expected.has_value()) return actual.has_value() ? "expected no value" : "";
  if (!actual.has_value()) return "no value";
  if (expected.is_sequence()) {
    if (!actual.is_sequence()) return "not a sequence";
    if (actual.sequence().size() != expected.sequence().size()) {
      return absl::StrCat("sequence of ", actual.sequence().size(), ", expected ",
                          expected.sequence().size());
    }
    for (size_t i = 0; i < expected.sequence().size(); ++i) {
      const std::string difference = Compare(actual.sequence()[i], expected.sequence()[i], t);
      if (!difference.empty()) return absl::StrCat("[", i, "] ", difference);
    }
    return "";
  }
  if (!expected.is_tensor() || !actual.is_tensor()) return "another kind of value";
  const Tensor& a = actual.tensor();
  const Tensor& e = expected.tensor();
  if (a.dtype() != e.dtype()) {
    return absl::StrCat("dtype ", std::string(DTypeName(a.dtype())), ", expected ",
                        std::string(DTypeName(e.dtype())));
  }
  if (a.dims() != e.dims())
    return absl::StrCat("shape ", DimsString(a.dims()), ", expected ", DimsString(e.dims()));
  return CompareElements(a, e, t);
}

absl::StatusOr<std::vector<Value>> ReadValues(const fs::path& data_set, const std::string& prefix,
                                              const std::vector<ValueInfo>& infos) {
  std::vector<Value> values;
  for (size_t i = 0;; ++i) {
    const fs::path file = data_set / absl::StrCat(prefix, "_", i, ".pb");
    if (!fs::exists(file)) return values;
    if (i >= infos.size())
      return absl::InvalidArgumentError(
          absl::StrCat(file.string(), ": the model has only ", infos.size(), " ", prefix, "s"));
    ONWARD_ASSIGN_OR_RETURN(Value value, onnx_io::ReadValueFile(file.string(), infos[i].type));
    values.push_back(std::move(value));
  }
}

absl::StatusOr<std::string> RunDataSet(Session& session, const fs::path& data_set,
                                       const Tolerances& tolerances) {
  ONWARD_ASSIGN_OR_RETURN(std::vector<Value> inputs,
                          ReadValues(data_set, "input", session.inputs()));
  ONWARD_ASSIGN_OR_RETURN(const std::vector<Value> expected,
                          ReadValues(data_set, "output", session.outputs()));
  inputs.resize(session.inputs().size());
  std::vector<Value> outputs(session.outputs().size());
  ONWARD_RETURN_IF_ERROR(session.Run(inputs, absl::MakeSpan(outputs)));
  for (size_t i = 0; i < expected.size(); ++i) {
    const std::string difference = Compare(outputs[i], expected[i], tolerances);
    if (!difference.empty())
      return absl::StrCat(data_set.filename().string(), ": output '", session.outputs()[i].name,
                          "': ", difference);
  }
  return std::string();
}

void AddDTypes(const Type& type, std::set<std::string>& dtypes) {
  if (type.dtype != DType::kUndefined) dtypes.emplace(DTypeName(type.dtype));
  if (type.element != nullptr) AddDTypes(*type.element, dtypes);
}

// Describes a case for the page that counts cases.
void Describe(const Graph& graph, CaseResult& result) {
  for (const NodeId id : graph.node_ids()) {
    const Node& node = graph.node(id);
    result.ops.insert(node.domain.empty() ? node.op_type
                                          : absl::StrCat(node.domain, ".", node.op_type));
    for (const Subgraph& body : node.subgraphs) Describe(*body.graph, result);
  }
  for (const auto& ids : {graph.inputs(), graph.outputs()}) {
    for (const ValueId id : ids) AddDTypes(graph.type(id), result.dtypes);
  }
}

}  // namespace

std::vector<std::string> FindCases(const std::string& root) {
  std::vector<std::string> cases;
  std::error_code error;
  const auto is_case = [](const fs::path& directory) {
    return fs::exists(directory / "model.onnx") && fs::exists(directory / "test_data_set_0");
  };
  if (is_case(root)) cases.push_back(root);
  for (auto it = fs::recursive_directory_iterator(
           root, fs::directory_options::follow_directory_symlink, error);
       it != fs::recursive_directory_iterator(); it.increment(error)) {
    if (error) break;
    if (it->is_directory() && is_case(it->path())) cases.push_back(it->path().string());
  }
  std::sort(cases.begin(), cases.end());
  return cases;
}

CaseResult RunCase(const std::string& root, const std::string& directory,
                   const SessionOptions& options) {
  CaseResult result;
  result.name = fs::path(directory).lexically_relative(root).string();
  const auto end = [&](const absl::Status& status) {
    result.status = absl::IsUnimplemented(status) ? "skipped" : "failed";
    result.reason = std::string(status.message());
    return result;
  };
  auto model = ImportFile((fs::path(directory) / "model.onnx").string());
  if (!model.ok()) return end(model.status());
  Describe(model->graph, result);
  const auto session = Session::Create(*std::move(model), options);
  if (!session.ok()) return end(session.status());
  std::vector<fs::path> data_sets;
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (absl::StartsWith(entry.path().filename().string(), "test_data_set_"))
      data_sets.push_back(entry.path());
  }
  std::sort(data_sets.begin(), data_sets.end());
  const Tolerances tolerances = ReadTolerances(directory);
  for (const fs::path& data_set : data_sets) {
    const absl::StatusOr<std::string> difference = RunDataSet(**session, data_set, tolerances);
    if (!difference.ok()) return end(difference.status());
    if (!difference->empty()) {
      result.status = "failed";
      result.reason = *difference;
      return result;
    }
  }
  result.status = "passed";
  return result;
}

}  // namespace onward::cli
