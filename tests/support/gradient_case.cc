#include "tests/support/gradient_case.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "files/npy.h"
#include "graph/infer/infer.h"
#include "graph/ir/graph_edit.h"
#include "onward/functions.h"
#include "onward/gradient.h"
#include "onward/status.h"
#include "tests/support/case_file.h"
#include "tests/support/text_model.h"

namespace onward::testing {
namespace {

namespace fs = std::filesystem;

std::string TextName(DType dtype) {
  if (dtype == DType::kFloat64) return "double";
  if (dtype == DType::kFloat32) return "float";
  return dtype == DType::kFloat16 ? "float16" : "bfloat16";
}

// "[2,1,3]" becomes "[n2,1,n3]".
std::string Symbolic(const std::string& dims) {
  std::string result;
  for (size_t i = 0; i < dims.size(); ++i) {
    const bool starts = std::isdigit(dims[i]) && !std::isdigit(dims[i - 1]);
    const bool one = dims[i] == '1' && !std::isdigit(dims[i + 1]);
    if (starts && !one && dims[i] != '0') result += 'n';
    result += dims[i];
  }
  return result;
}

// The graph's first line, "name (double[2,1,3] x, ...) => (...) {", in the variant.
std::string HeadOf(const GradientCase& c, const std::string& line, const GradientVariant& variant) {
  const std::string head = absl::StrReplaceAll(line, {{"double", TextName(variant.dtype)}});
  if (variant.sizes == Sizes::kKnown) return head;
  std::string result;
  size_t done = 0;
  while (true) {
    const size_t open = head.find('[', done);
    if (open == std::string::npos) return result + head.substr(done);
    const size_t close = head.find(']', open) + 1;
    const size_t end = head.find_first_of(",)", close);
    const std::string name = head.substr(close + 1, end - close - 1);
    const std::string dims = head.substr(open, close - open);
    const bool kept = std::count(c.sizes.begin(), c.sizes.end(), name) != 0 ||
                      std::count(c.constants.begin(), c.constants.end(), name) != 0;
    const std::string other = variant.sizes == Sizes::kOpen ? "[]" : Symbolic(dims);
    absl::StrAppend(&result, head.substr(done, open - done), kept ? dims : other);
    done = close;
  }
}

void SetNote(std::string_view key, const std::string& value, GradientCase& c) {
  if (key == "wrt") c.wrt = absl::StrSplit(value, ' ');
  if (key == "constants") c.constants = absl::StrSplit(value, ' ');
  if (key == "sizes") c.sizes = absl::StrSplit(value, ' ');
  if (key == "rtol") c.rtol = std::stod(value);
  if (key == "static") c.fixed = true;
  if (key == "single") {
    c.dtype = DType::kFloat32;
    c.rtol = 2e-5;
    c.smooth = false;
  }
  if (key == "smooth") c.smooth = false;
  if (key == "second") c.second = false;
  if (key == "floats") c.floats = false;
  if (key == "narrow") c.narrow = false;
}

}  // namespace

absl::StatusOr<std::vector<GradientCase>> GradientCases(const std::string& folder,
                                                        const std::string& family) {
  ONWARD_ASSIGN_OR_RETURN(const auto arrays,
                          files::ReadNpz((fs::path(folder) / (family + ".npz")).string()));
  std::vector<GradientCase> cases;
  for (CaseText& text : ReadCaseFile((fs::path(folder) / (family + ".txt")).string())) {
    GradientCase c;
    for (const auto& [key, value] : text.notes) SetNote(key, value, c);
    c.family = family;
    c.name = text.name;
    c.text = std::move(text.graph);
    for (auto it = arrays.lower_bound(c.name + "/");
         it != arrays.end() && absl::StartsWith(it->first, c.name + "/"); ++it) {
      c.arrays[it->first.substr(c.name.size() + 1)] = it->second;
    }
    cases.push_back(std::move(c));
  }
  return cases;
}

Tensor ToFloat(const Tensor& tensor, DType dtype) {
  Tensor result(dtype, Dims(tensor.dims().begin(), tensor.dims().end()));
  DispatchDType(FloatTypes(), tensor.dtype(), [&](auto from) {
    using From = typename decltype(from)::type;
    DispatchDType(FloatTypes(), dtype, [&](auto to) {
      using To = typename decltype(to)::type;
      for (int64_t i = 0; i < tensor.num_elements(); ++i) {
        const double value = static_cast<double>(tensor.data<From>()[i]);
        if constexpr (std::is_same_v<To, double>) {
          result.mutable_data<To>()[i] = value;
        } else {
          result.mutable_data<To>()[i] = To(static_cast<float>(value));
        }
      }
    });
  });
  return result;
}

absl::StatusOr<Model> ForwardModel(const GradientCase& c, const GradientVariant& variant) {
  const size_t end = c.text.find('\n');
  std::string body = c.text.substr(end);
  if (variant.dtype != DType::kFloat64) {  // Cast's attribute
    body = absl::StrReplaceAll(
        body, {{"<to=11>", absl::StrCat("<to=", static_cast<int>(variant.dtype), ">")}});
  }
  ONWARD_ASSIGN_OR_RETURN(Model model,
                          ModelFromText(HeadOf(c, c.text.substr(0, end), variant) + body));
  for (const std::string& name : c.constants) {
    const ValueId id = model.graph.FindValue(name);
    if (!id.valid()) return absl::InvalidArgumentError(name);
    GraphEdit(model.graph).RemoveInput(id);
    GraphEdit(model.graph).constant(id) = c.arrays.at(name);
    GraphEdit(model.graph).type(id) =
        Type::Tensor(c.arrays.at(name).dtype(), c.arrays.at(name).dims());
  }
  ONWARD_RETURN_IF_ERROR(InferGraph(model.graph));
  return model;
}

absl::StatusOr<Model> DifferentiatedModel(const GradientCase& c, const GradientVariant& variant) {
  ONWARD_ASSIGN_OR_RETURN(Model model, ForwardModel(c, variant));
  Graph& graph = model.graph;
  GraphSink sink(graph, "given/");
  std::vector<GradientTarget> targets;
  for (const ValueId output : graph.outputs()) {
    const auto given = c.arrays.find("d_" + graph.value(output).name);
    if (given == c.arrays.end()) continue;
    const Tensor cotangent = ToFloat(given->second, graph.type(output).dtype);
    targets.push_back({output, sink.Constant(cotangent, "cotangent").id()});
  }
  std::vector<ValueId> wrt;
  for (const std::string& name : c.wrt) wrt.push_back(graph.FindValue(name));
  GradientOptions options;
  options.allow_onward_ops = variant.onward_ops;
  ONWARD_ASSIGN_OR_RETURN(const std::vector<ValueId> gradients,
                          AddGradients(graph, targets, wrt, options));
  for (size_t i = 0; i < wrt.size(); ++i) {
    const Expr named = expr::Identity(sink.Value(gradients[i]));
    GraphEdit(graph).Rename(named.id(), absl::StrCat("g_", c.wrt[i]));
    GraphEdit(graph).AddOutput(named.id());
  }
  ONWARD_RETURN_IF_ERROR(sink.status());
  return model;
}

Session::Inputs CaseInputs(const GradientCase& c, const Session& session, DType dtype) {
  Session::Inputs inputs;
  for (const ValueInfo& input : session.inputs()) {
    const Tensor& array = c.arrays.at(input.name);
    inputs[input.name] = array.dtype() == DType::kFloat64 ? ToFloat(array, dtype) : array;
  }
  return inputs;
}

}  // namespace onward::testing
