#include "onward/export.h"

#include <algorithm>
#include <climits>
#include <exception>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "files/mapped_file.h"
#include "files/write_file.h"
#include "graph/ops/onward_schemas.h"
#include "graph/ops/opset.h"
#include "onnx/defs/schema.h"
#include "onnx/onnx_pb.h"
#include "onnx_io/domain_versions.h"
#include "onnx_io/export_functions.h"
#include "onnx_io/export_graph.h"
#include "onnx_io/lower_opset.h"
#include "onward/import.h"
#include "onward/status.h"

namespace onward {
namespace {

// A model of more than this keeps its weights beside it; the rest of the 2 GiB is for everything
// else.
constexpr int64_t kLargestWeights = INT_MAX - (int64_t{64} << 20);
// When a model turns out too large for one file.
constexpr int64_t kForcedThreshold = 1024;

// The IR version that came with an opset of ai.onnx (Versioning.md of the standard).
int64_t IrVersionOf(int64_t opset) {
  struct Row {
    int64_t opset;
    int64_t ir;
  };
  constexpr Row kRows[] = {{28, 14}, {25, 13}, {24, 12}, {23, 11}, {21, 10},
                           {19, 9},  {15, 8},  {12, 7},  {11, 6}};
  for (const Row& row : kRows) {
    if (opset >= row.opset) return row.ir;
  }
  return 6;
}

void CollectDomains(const Graph& graph, std::set<std::string>& domains) {
  for (const NodeId id : graph.node_ids()) {
    domains.insert(graph.node(id).domain);
    for (const Subgraph& subgraph : graph.node(id).subgraphs) {
      CollectDomains(*subgraph.graph, domains);
    }
  }
}

int64_t WeightBytes(const Graph& graph) {
  int64_t bytes = 0;
  for (int i = 0; i < graph.num_values(); ++i) {
    const Tensor* constant = graph.constant({i});
    if (constant != nullptr) bytes += constant->byte_size();
  }
  return bytes;
}

absl::StatusOr<int64_t> ChooseOpset(const Graph& graph, const onnx_io::LocalFunctions& functions,
                                    int64_t wanted) {
  int64_t opset = wanted == 0 ? onnx_io::OldestOpset(graph) : wanted;
  for (const Graph& body : functions.bodies) {
    const int64_t oldest = onnx_io::OldestOpset(body);
    if (wanted != 0 && oldest > wanted)
      return absl::UnimplementedError(absl::StrCat("its function '", body.name, "' needs opset ",
                                                   oldest, ", opset ", wanted, " is asked for"));
    opset = std::max(opset, oldest);
  }
  return opset;
}

// The versions of all domains that the graph and the functions use.
absl::StatusOr<std::map<std::string, int64_t>> Versions(const Graph& graph,
                                                        const onnx_io::LocalFunctions& functions,
                                                        std::map<std::string, int64_t> versions,
                                                        int64_t opset) {
  ONWARD_RETURN_IF_ERROR(onnx_io::CollectDomainVersions(graph, versions));
  for (const Graph& body : functions.bodies)
    ONWARD_RETURN_IF_ERROR(onnx_io::CollectDomainVersions(body, versions));
  versions[""] = opset;
  return versions;
}

template <typename Proto>
void ImportOpsets(const std::set<std::string>& domains,
                  const std::map<std::string, int64_t>& versions, Proto* proto) {
  for (const std::string& domain : domains) {
    auto* id = proto->add_opset_import();
    id->set_domain(domain);
    id->set_version(versions.at(domain));
  }
}

// The standard binds the initializers of a model to outputs in its training information; the
// algorithm is the graph itself here.
void ExportUpdates(const Model& model, onnx::ModelProto* proto) {
  if (model.updates.empty()) return;
  onnx::TrainingInfoProto* training = proto->add_training_info();
  training->mutable_algorithm()->set_name("updates");
  for (const UpdateBinding& update : model.updates) {
    auto* binding = training->add_update_binding();
    binding->set_key(model.graph.value(update.input).name);
    binding->set_value(model.graph.value(update.output).name);
  }
}

absl::StatusOr<onnx::ModelProto> ExportModel(const Model& model, const ExportOptions& options,
                                             onnx_io::ExternalWriter* external) {
  RegisterOnwardSchemas();
  if (options.opset != 0) ONWARD_RETURN_IF_ERROR(onnx_io::CheckExportedOpset(options.opset));
  std::optional<Graph> lowered;
  if (options.opset != 0 && options.opset < kOpset) {
    lowered = model.graph;
    ONWARD_RETURN_IF_ERROR(onnx_io::LowerGraph(*lowered, options.opset));
  }
  const Graph& graph = lowered ? *lowered : model.graph;
  onnx_io::LocalFunctions functions;
  if (!options.keep_onward_ops)
    ONWARD_RETURN_IF_ERROR(onnx_io::AddLocalFunctions(graph, functions));
  ONWARD_ASSIGN_OR_RETURN(const int64_t opset, ChooseOpset(graph, functions, options.opset));
  ONWARD_ASSIGN_OR_RETURN(const auto versions, Versions(graph, functions, model.opsets, opset));
  onnx::ModelProto proto;
  proto.set_ir_version(IrVersionOf(opset));
  if (!model.producer_name.empty()) proto.set_producer_name(model.producer_name);
  if (!model.producer_version.empty()) proto.set_producer_version(model.producer_version);
  if (!model.domain.empty()) proto.set_domain(model.domain);
  if (model.model_version != 0) proto.set_model_version(model.model_version);
  if (!model.doc_string.empty()) proto.set_doc_string(model.doc_string);
  onnx_io::MetadataToProto(model.metadata, &proto);
  std::set<std::string> domains = {""};
  for (const auto& [domain, version] : model.opsets) domains.insert(domain);
  CollectDomains(graph, domains);
  ImportOpsets(domains, versions, &proto);
  for (size_t i = 0; i < functions.protos.size(); ++i) {
    onnx::FunctionProto* function = proto.add_functions();
    *function = std::move(functions.protos[i]);
    std::set<std::string> used = {""};
    CollectDomains(functions.bodies[i], used);
    ImportOpsets(used, versions, function);
  }
  onnx_io::GraphExporter exporter(&functions.overloads, external);
  ONWARD_RETURN_IF_ERROR(exporter.ExportGraph(graph, {}, nullptr, proto.mutable_graph()));
  ExportUpdates(model, &proto);
  return proto;
}

absl::StatusOr<std::string> Serialize(const onnx::ModelProto& proto) {
  const size_t size = proto.ByteSizeLong();
  if (size > INT_MAX) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the model has ", size, " bytes; one file holds 2 GiB, larger ones need external data"));
  }
  std::string bytes;
  if (!proto.SerializeToString(&bytes)) {
    return absl::ResourceExhaustedError("the model cannot be serialized");
  }
  return bytes;
}

// Appends large tensors to the data file, each at a multiple of what maps it.
class DataFile : public onnx_io::ExternalWriter {
 public:
  DataFile(files::AtomicFile& file, std::string location, int64_t threshold)
      : file_(file), location_(std::move(location)), threshold_(threshold) {}

  bool Take(const Tensor& tensor, const std::string& name, onnx::TensorProto* proto) override {
    const int64_t bytes = tensor.byte_size();
    if (tensor.dtype() == DType::kString || bytes == 0 || bytes < threshold_) return false;
    // The standard advises whole pages; small tensors only need to be aligned in memory.
    const int64_t align = bytes >= kPage ? kPage : static_cast<int64_t>(kTensorAlignment);
    const int64_t offset = (size_ + align - 1) / align * align;
    if (status_.ok())
      status_ = file_.Append(std::string(static_cast<size_t>(offset - size_), '\0'));
    if (status_.ok()) {
      status_ =
          file_.Append({static_cast<const char*>(tensor.raw_data()), static_cast<size_t>(bytes)});
    }
    size_ = offset + bytes;
    proto->set_name(name);
    proto->set_data_type(static_cast<int32_t>(tensor.dtype()));
    for (const int64_t dim : tensor.dims()) proto->add_dims(dim);
    proto->set_data_location(onnx::TensorProto::EXTERNAL);
    AddEntry("location", location_, proto);
    AddEntry("offset", absl::StrCat(offset), proto);
    AddEntry("length", absl::StrCat(bytes), proto);
    return true;
  }
  const absl::Status& status() const { return status_; }
  bool empty() const { return size_ == 0; }

 private:
  static constexpr int64_t kPage = 4096;
  static void AddEntry(const std::string& key, const std::string& value, onnx::TensorProto* proto) {
    auto* entry = proto->add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  }

  files::AtomicFile& file_;
  const std::string location_;
  const int64_t threshold_;
  int64_t size_ = 0;
  absl::Status status_;
};

// Returns whether the model that `path` holds may name the file `location`.
bool Names(const std::string& path, const std::string& location) {
  const auto present = files::MappedFile::Open(path);
  return present.ok() && (*present)->bytes().find(location) != std::string_view::npos;
}

// The file of a model that is replaced stays until the new model has its name: whatever ends the
// process in between, `path` is one of the two.
absl::Status ExportWithData(const Model& model, const std::string& path, int64_t threshold,
                            const ExportOptions& options) {
  std::string data_path = path + ".data", other_path = path + ".2.data";
  if (Names(path, data_path.substr(data_path.rfind('/') + 1))) std::swap(data_path, other_path);
  ONWARD_ASSIGN_OR_RETURN(files::AtomicFile data, files::AtomicFile::Create(data_path));
  DataFile writer(data, data_path.substr(data_path.rfind('/') + 1), threshold);
  ONWARD_ASSIGN_OR_RETURN(const onnx::ModelProto proto, ExportModel(model, options, &writer));
  ONWARD_RETURN_IF_ERROR(writer.status());
  ONWARD_ASSIGN_OR_RETURN(const std::string bytes, Serialize(proto));
  ONWARD_ASSIGN_OR_RETURN(files::AtomicFile file, files::AtomicFile::Create(path));
  ONWARD_RETURN_IF_ERROR(file.Append(bytes));
  if (!writer.empty()) ONWARD_RETURN_IF_ERROR(data.Commit());
  ONWARD_RETURN_IF_ERROR(file.Commit());
  std::error_code ignored;
  std::filesystem::remove(other_path, ignored);
  return absl::OkStatus();
}

template <typename F>
auto Guarded(F&& run) -> decltype(run()) {
  try {
    return run();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("out of memory while writing the model");
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("cannot write the model: ", error.what()));
  }
}

}  // namespace

absl::StatusOr<std::string> ExportBytes(const Model& model, const ExportOptions& options) {
  return Guarded([&]() -> absl::StatusOr<std::string> {
    if (WeightBytes(model.graph) > INT_MAX) {
      return absl::ResourceExhaustedError(
          "the model's weights pass 2 GiB: they need a file with external data");
    }
    ONWARD_ASSIGN_OR_RETURN(const onnx::ModelProto proto, ExportModel(model, options, nullptr));
    return Serialize(proto);
  });
}

absl::Status ExportFile(const Model& model, const std::string& path, const ExportOptions& options) {
  return Guarded([&]() -> absl::Status {
    int64_t threshold = options.external_data_threshold;
    if (threshold < 0 && WeightBytes(model.graph) > kLargestWeights) threshold = kForcedThreshold;
    if (threshold >= 0) return ExportWithData(model, path, threshold, options);
    ONWARD_ASSIGN_OR_RETURN(const std::string bytes, ExportBytes(model, options));
    ONWARD_ASSIGN_OR_RETURN(files::AtomicFile file, files::AtomicFile::Create(path));
    ONWARD_RETURN_IF_ERROR(file.Append(bytes));
    return file.Commit();
  });
}

}  // namespace onward
