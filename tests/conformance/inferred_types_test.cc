// Inferred types of the standard's cases, the model zoo and small real models: whole, and what the
// executor sees.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/conformance_case.h"
#include "onnx_io/tensor_proto.h"
#include "onward/import.h"
#include "onward/session.h"
#include "tests/support/test_data.h"

namespace onward {
namespace {

namespace fs = std::filesystem;

bool IsOpen(const Type& type) {
  if (type.kind == Type::Kind::kUnknown) return true;
  if (type.element) return IsOpen(*type.element);
  if (!type.shape) return true;
  for (const Dim& dim : *type.shape) {
    if (dim.unknown()) return true;
  }
  return false;
}

// The values of open type that nothing open explains: their node reads only whole types, and so do
// its bodies where those are not open themselves.
void AddOpenRoots(const Graph& graph, std::set<std::string>& roots) {
  const auto open = [&](ValueId id) { return id.valid() && IsOpen(graph.type(id)); };
  std::set<int32_t> explained;
  for (ValueId id : graph.captures()) explained.insert(id.index);
  for (NodeId id : graph.node_ids()) {
    const Node& node = graph.node(id);
    bool follows = false;
    for (ValueId input : node.inputs) follows |= open(input);
    for (const Subgraph& subgraph : node.subgraphs) {
      AddOpenRoots(*subgraph.graph, roots);
      for (ValueId capture : subgraph.captures) follows |= open(capture);
      for (ValueId output : subgraph.graph->outputs())
        follows |= IsOpen(subgraph.graph->type(output));
    }
    for (ValueId output : node.outputs) {
      if (follows && output.valid()) explained.insert(output.index);
    }
  }
  for (int i = 0; i < graph.num_values(); ++i) {
    if (open({i}) && explained.count(i) == 0) roots.insert(graph.value({i}).name);
  }
}

// Lines "model: value: reason" of open_shapes.txt.
std::map<std::string, std::set<std::string>> ListedRoots() {
  std::ifstream file(std::string(ONWARD_SOURCE_DIR) + "/tests/conformance/open_shapes.txt");
  EXPECT_TRUE(file.good());
  std::map<std::string, std::set<std::string>> listed;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t first = line.find(": "), second = line.find(": ", first + 2);
    EXPECT_NE(second, std::string::npos) << line;
    listed[line.substr(0, first)].insert(line.substr(first + 2, second - first - 2));
  }
  return listed;
}

TEST(InferredTypes, EveryValueHasASymbolicShape) {
  const std::map<std::string, std::set<std::string>> listed = ListedRoots();
  std::map<std::string, std::set<std::string>> found;
  size_t models = 0;
  const auto look = [&](const std::string& path, const std::string& name) {
    ImportOptions options;
    options.for_inspection = true;
    const absl::StatusOr<Model> model = ImportFile(path, options);
    ASSERT_TRUE(model.ok()) << name << ": " << model.status();
    std::set<std::string> roots;
    AddOpenRoots(model->graph, roots);
    if (!roots.empty()) found[name] = roots;
    ++models;
  };
  const std::string cases = testing::DirectoryFrom("ONWARD_CONFORMANCE");
  ONWARD_NEEDS_DATA(cases, "ONWARD_CONFORMANCE");
  const std::string zoo = testing::DirectoryFrom("ONWARD_ZOO");
  ONWARD_NEEDS_DATA(zoo, "ONWARD_ZOO");
  for (const std::string& root : {cases, zoo}) {
    for (const std::string& directory : cli::FindCases(root))
      look(directory + "/model.onnx", fs::path(directory).lexically_relative(root).string());
  }
  const std::string data = testing::DirectoryFrom("ONWARD_DATA_DIR");
  ONWARD_NEEDS_DATA(data, "ONWARD_DATA_DIR");
  for (const auto& entry : fs::directory_iterator(data + "/models")) {
    if (entry.path().extension() == ".onnx")
      look(entry.path().string(), entry.path().stem().string());
  }
  EXPECT_GE(models, 2033u);
  for (const auto& [name, roots] : found) {
    const auto it = listed.find(name);
    for (const std::string& root : roots) {
      EXPECT_TRUE(it != listed.end() && it->second.count(root))
          << name << ": " << root << " has no symbolic shape";
    }
  }
  for (const auto& [name, roots] : listed) {
    for (const std::string& root : roots) {
      EXPECT_TRUE(found[name].count(root)) << name << ": " << root << " has one, but is listed";
    }
  }
}

// What one run shows of the graph's types.
class Seen {
 public:
  explicit Seen(const Graph& graph) { AddTypes(graph, true); }

  // Of a node's output, or of the graph's input. An error: dtype, rank or a known size differs.
  absl::Status Add(std::string_view name, DType dtype, DimsView dims) {
    const auto it = types_.find(std::string(name));
    if (it == types_.end() || !it->second.type.is_tensor()) return absl::OkStatus();
    const Type& type = it->second.type;
    const auto wrong = [&] {
      return absl::InternalError(absl::StrCat(std::string(name), ": ", type.ToString(), " is ",
                                              std::string(DTypeName(dtype)), DimsString(dims)));
    };
    if (type.dtype != dtype || (type.shape && type.shape->size() != dims.size())) return wrong();
    for (size_t i = 0; type.shape && i < dims.size(); ++i) {
      const Dim& dim = (*type.shape)[i];
      if (dim.known() && dim.value() != dims[i]) return wrong();
      // A body's symbols have another value in each iteration.
      if (dim.symbolic() && it->second.outer) sizes_.emplace_back(dim, dims[i], std::string(name));
    }
    return absl::OkStatus();
  }

  // Whether every symbol has one value and every expression the value of its symbols.
  void CheckSymbols(const std::string& model) const {
    std::map<std::string, int64_t, std::less<>> values;
    for (const auto& [dim, size, name] : sizes_) {
      const std::vector<std::string> symbols = DimSymbols(dim);
      if (symbols.size() == 1 && dim.SameAs(SymbolDim(symbols[0])))
        values.try_emplace(symbols[0], size);
    }
    for (const auto& [dim, size, name] : sizes_) {
      const std::optional<int64_t> value =
          EvaluateDim(dim, [&](std::string_view symbol) -> std::optional<int64_t> {
            const auto it = values.find(symbol);
            return it == values.end() ? std::nullopt : std::optional(it->second);
          });
      EXPECT_TRUE(!value || *value == size) << model << ": " << name << ": " << dim.ToString()
                                            << " is " << size << ", by other values " << *value;
    }
  }

  size_t num_sizes() const { return sizes_.size(); }

 private:
  struct Entry {
    Type type;
    bool outer;
  };

  void AddTypes(const Graph& graph, bool outer) {
    for (int i = 0; i < graph.num_values(); ++i) {
      const auto [it, added] =
          types_.try_emplace(graph.value({i}).name, Entry{graph.type({i}), outer});
      // A name of two graphs says nothing.
      if (!added) it->second.type = Type();
    }
    for (NodeId id : graph.node_ids()) {
      for (const Subgraph& subgraph : graph.node(id).subgraphs) AddTypes(*subgraph.graph, false);
    }
  }

  std::map<std::string, Entry> types_;
  std::vector<std::tuple<Dim, int64_t, std::string>> sizes_;
};

// Runs the first data set and compares what each node makes with its type.
void CheckRun(const std::string& directory, bool optimize, size_t& sizes) {
  std::optional<Seen> seen;
  absl::Status seen_status;
  SessionOptions options;
  options.num_threads = 1;
  options.optimize = optimize;
  options.watch = [&](std::string_view name, const TensorView& value) {
    seen_status.Update(seen->Add(name, value.dtype, value.dims));
    return absl::OkStatus();
  };
  absl::StatusOr<Model> model = ImportFile(directory + "/model.onnx");
  ASSERT_TRUE(model.ok()) << directory << ": " << model.status();
  const auto session = Session::Create(*std::move(model), options);
  // Gradient of the training preview has no kernel.
  if (absl::IsUnimplemented(session.status())) return;
  ASSERT_TRUE(session.ok()) << directory << ": " << session.status();
  seen.emplace((*session)->graph());
  const std::vector<ValueInfo>& infos = (*session)->inputs();
  std::vector<Value> inputs(infos.size());
  for (size_t i = 0; i < infos.size(); ++i) {
    const std::string file = absl::StrCat(directory, "/test_data_set_0/input_", i, ".pb");
    if (!fs::exists(file)) break;
    absl::StatusOr<Value> value = onnx_io::ReadValueFile(file, infos[i].type);
    ASSERT_TRUE(value.ok()) << value.status();
    inputs[i] = *std::move(value);
    if (inputs[i].is_tensor()) {
      const Tensor& tensor = inputs[i].tensor();
      seen_status.Update(seen->Add(infos[i].name, tensor.dtype(), tensor.dims()));
    }
  }
  std::vector<Value> outputs((*session)->outputs().size());
  const absl::Status status = (*session)->Run(inputs, absl::MakeSpan(outputs));
  EXPECT_TRUE(status.ok()) << directory << ": " << status;
  EXPECT_TRUE(seen_status.ok()) << directory << (optimize ? " optimised" : "") << ": "
                                << seen_status;
  seen->CheckSymbols(directory + (optimize ? " optimised" : ""));
  sizes += seen->num_sizes();
}

TEST(InferredTypes, AreWhatTheExecutorSees) {
  const std::string cases = testing::DirectoryFrom("ONWARD_CONFORMANCE");
  ONWARD_NEEDS_DATA(cases, "ONWARD_CONFORMANCE");
  const std::string zoo = testing::DirectoryFrom("ONWARD_ZOO");
  ONWARD_NEEDS_DATA(zoo, "ONWARD_ZOO");
  size_t sizes = 0;
  for (const std::string& root : {cases, zoo}) {
    for (const std::string& directory : cli::FindCases(root)) {
      CheckRun(directory, false, sizes);
      CheckRun(directory, true, sizes);
    }
  }
  EXPECT_GT(sizes, 10000u);
}

}  // namespace
}  // namespace onward
