#include "onward/import.h"

#include <climits>
#include <cstdlib>
#include <exception>
#include <memory>

#include "absl/strings/str_cat.h"
#include "files/file_kind.h"
#include "files/mapped_file.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "graph/infer/dim_names.h"
#include "graph/infer/infer.h"
#include "graph/ops/onward_schemas.h"
#include "graph/ops/opset.h"
#include "onnx/defs/schema.h"
#include "onnx/onnx_pb.h"
#include "onnx_io/external_data.h"
#include "onnx_io/import_graph.h"
#include "onnx_io/import_training.h"
#include "onnx_io/payloads.h"
#include "onnx_io/problems.h"
#include "onnx_io/upgrade/upgrade.h"
#include "onward/memory_limit.h"
#include "onward/status.h"

namespace onward {
namespace {

constexpr int64_t kOldestIr = 3;
constexpr int64_t kNewestIr = 14;
constexpr int kMessageDepth = 256;

absl::Status Parse(std::string_view bytes, onnx::ModelProto& proto) {
  google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  google::protobuf::io::CodedInputStream coded(&stream);
  coded.SetRecursionLimit(kMessageDepth);
  if (proto.ParseFromCodedStream(&coded) && coded.ConsumedEntireMessage()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError("not a valid ONNX file: it is not a serialized ModelProto");
}

void CheckVersions(const onnx::ModelProto& proto, const onnx_io::Opsets& opsets,
                   onnx_io::Problems& problems) {
  if (proto.ir_version() > kNewestIr) {
    problems.Unsupported(absl::StrCat("IR version ", proto.ir_version(),
                                      " is newer than the newest supported, ", kNewestIr));
  } else if (proto.ir_version() < kOldestIr) {
    problems.Unsupported(absl::StrCat("IR version ", proto.ir_version(),
                                      " is older than the oldest supported, ", kOldestIr));
  }
  const auto& domains = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  for (const auto& [domain, version] : opsets) {
    const auto known = domains.find(domain);
    if (version < 1 || version > INT_MAX) {
      problems.Invalid(absl::StrCat("opset ", version, " of ", onnx_io::DomainName(domain),
                                    " is not a version"));
    } else if (known != domains.end() && domain != "onward" && version > known->second.second) {
      problems.Unsupported(absl::StrCat("opset ", version, " of ", onnx_io::DomainName(domain),
                                        " is newer than the newest supported, ",
                                        known->second.second));
    }
  }
}

void ImportHeader(const onnx::ModelProto& proto, const onnx_io::Opsets& opsets, Model& model) {
  model.opsets.insert(opsets.begin(), opsets.end());
  model.ir_version = proto.ir_version();
  model.producer_name = proto.producer_name();
  model.producer_version = proto.producer_version();
  model.domain = proto.domain();
  model.model_version = proto.model_version();
  model.doc_string = proto.doc_string();
  model.metadata = onnx_io::MetadataFrom(proto);
}

absl::Status CheckAcyclic(const Graph& graph) {
  ONWARD_RETURN_IF_ERROR(graph.TopologicalOrder().status());
  for (const NodeId id : graph.node_ids()) {
    for (const Subgraph& subgraph : graph.node(id).subgraphs) {
      ONWARD_RETURN_IF_ERROR(CheckAcyclic(*subgraph.graph));
    }
  }
  return absl::OkStatus();
}

// Every node, so that all problems are reported: what follows a bad node has unknown types and is
// passed over.
void InferAll(Graph& graph, bool shapes_are_hints, onnx_io::Problems& problems) {
  for (const absl::Status& problem : InferGraphReportingAll(graph, shapes_are_hints))
    problems.Add("", problem);
}

// Brings all nodes to the opset used inside and infers the types. Rules may read types, so old
// nodes are inferred by their own opset first; what is wrong with them shows up again at the end.
absl::Status UpgradeModel(Model& model, const ImportOptions& options) {
  onnx_io::Problems passing;
  InferAll(model.graph, false, passing);
  onnx_io::Problems problems;
  const absl::StatusOr<bool> outdated = onnx_io::UpgradeGraph(model.graph);
  problems.Add("", outdated.status());
  if (outdated.ok() && (*outdated || passing.count() > 0)) InferAll(model.graph, true, problems);
  model.opsets[""] = kOpset;
  if (const auto ml = model.opsets.find("ai.onnx.ml"); ml != model.opsets.end()) {
    ml->second = kMlOpset;
  }
  return options.for_inspection ? absl::OkStatus() : problems.ToStatus();
}

absl::StatusOr<Model> ModelOf(std::unique_ptr<onnx::ModelProto> proto,
                              const onnx_io::TensorSource& source, const ImportOptions& options) {
  onnx_io::Problems problems;
  Model model;
  const onnx_io::Opsets opsets = onnx_io::OpsetsFrom(*proto);
  CheckVersions(*proto, opsets, problems);
  if (!proto->has_graph()) problems.Invalid("the model has no graph (is the file cut off?)");
  ONWARD_RETURN_IF_ERROR(problems.ToStatus());
  ImportHeader(*proto, opsets, model);
  onnx_io::GraphImporter importer(options, source, problems);
  importer.AddFunctions(*proto);
  onnx_io::GraphFrame frame;
  frame.graph = &model.graph;
  onnx_io::NameScope scope;
  scope.frame = &frame;
  scope.opsets = &opsets;
  importer.ImportGraph(proto->graph(), frame, scope, proto->ir_version() < 4,
                       proto->mutable_graph());
  onnx_io::ImportUpdates(*proto, scope.values, model, problems);
  if (problems.count() == 0) problems.Add("", CheckAcyclic(model.graph));
  ONWARD_RETURN_IF_ERROR(problems.ToStatus());
  proto.reset();
  if (options.separate_dim_names) {
    SeparateInputNames(model.graph);
  } else {
    DropUncheckedNames(model.graph);
  }
  ONWARD_RETURN_IF_ERROR(UpgradeModel(model, options));
  return model;
}

// Takes the initialization graphs out of the model.
absl::Status ImportInitializations(onnx::ModelProto& proto, const onnx_io::TensorSource& source,
                                   const ImportOptions& options) {
  onnx_io::Problems problems;
  for (auto& training : *proto.mutable_training_info()) {
    if (training.initialization_binding_size() == 0) continue;
    if (options.initializations == nullptr) {
      problems.Unsupported(
          "the training information has an initialization graph, which nobody asks for "
          "(ImportOptions::initializations)");
      continue;
    }
    auto own = std::make_unique<onnx::ModelProto>(onnx_io::TakeInitialization(proto, training));
    auto model = ModelOf(std::move(own), source, options);
    if (!model.ok()) return Annotate(model.status(), "the initialization graph:");
    auto bindings = onnx_io::InitializationBindings(training, proto, model->graph, problems);
    options.initializations->push_back({*std::move(model), std::move(bindings)});
  }
  return problems.ToStatus();
}

bool HasFloats(const onnx::TensorProto& tensor) {
  const absl::StatusOr<DType> dtype = onnx_io::DTypeFromProto(tensor.data_type());
  return dtype.ok() && IsFloating(*dtype);
}

void AddWeights(const onnx::GraphProto& graph, std::vector<std::string>& names) {
  bool has_floats = false;
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    names.push_back(tensor.name());
    has_floats |= HasFloats(tensor);
  }
  if (has_floats) return;
  for (const onnx::NodeProto& node : graph.node()) {
    if (node.op_type() != "Constant" || !node.domain().empty() || node.output_size() != 1) continue;
    for (const onnx::AttributeProto& attribute : node.attribute())
      if (attribute.name() == "value" && HasFloats(attribute.t())) names.push_back(node.output(0));
  }
}

absl::StatusOr<Model> ImportModel(std::string_view bytes, onnx_io::TensorSource source,
                                  const ImportOptions& options) {
  if (bytes.empty()) return absl::InvalidArgumentError("the model is empty (0 bytes)");
  if (bytes.size() > INT_MAX) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the model has ", bytes.size(),
        " bytes; serialized models end at 2 GiB, larger ones keep their weights in external data"));
  }
  RegisterOnwardSchemas();
  auto proto = std::make_unique<onnx::ModelProto>();
  {
    ONWARD_ASSIGN_OR_RETURN(const std::string small, onnx_io::TakePayloadsOut(bytes, options));
    ONWARD_RETURN_IF_ERROR(Parse(small, *proto));
  }
  source.payloads = bytes;
  source.max_rank = options.max_rank;
  source.allow_missing_files = options.for_inspection;
  if (source.mapped) files::ReleasePages(bytes);

  if (options.training && proto->has_graph()) {
    onnx_io::CombineTraining(*proto);
    ONWARD_RETURN_IF_ERROR(ImportInitializations(*proto, source, options));
  }
  if (options.initializers != nullptr) AddWeights(proto->graph(), *options.initializers);
  if (options.opsets != nullptr) {
    const onnx_io::Opsets opsets = onnx_io::OpsetsFrom(*proto);
    options.opsets->insert(opsets.begin(), opsets.end());
  }
  return ModelOf(std::move(proto), source, options);
}

std::string DirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Where the file lies when `path` is a link to it; else empty.
std::string RealDirectoryOf(const std::string& path) {
  const std::unique_ptr<char, decltype(&free)> resolved(realpath(path.c_str(), nullptr), &free);
  return resolved == nullptr ? "" : DirectoryOf(resolved.get());
}

// Exceptions of the libraries end here.
template <typename F>
absl::StatusOr<Model> Guarded(F&& import) {
  try {
    return import();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("out of memory while reading the model");
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat("cannot read the model: ", error.what()));
  }
}

// ImportFile without a mapping that outlives the import, or that a file cut off meanwhile breaks.
absl::StatusOr<Model> ImportCopy(const files::MappedFile& file, const std::string& path,
                                 const ImportOptions& options) {
  const size_t size = file.bytes().size();
  ONWARD_ASSIGN_OR_RETURN(const std::shared_ptr<void> memory,
                          AllocateMemory(static_cast<int64_t>(size)));
  auto* const bytes = static_cast<char*>(memory.get());
  ONWARD_RETURN_IF_ERROR(file.Read(0, size, bytes));
  absl::StatusOr<Model> model = Guarded([&] {
    onnx_io::ExternalFiles files(DirectoryOf(path), RealDirectoryOf(path), true);
    onnx_io::TensorSource source;
    source.files = &files;
    source.read_files = true;
    return ImportModel({bytes, size}, source, options);
  });
  if (model.ok()) return model;
  return files::NameForeignFile(model.status(), {bytes, size}, files::WantedFile::kModel);
}

}  // namespace

absl::StatusOr<Model> ImportFile(const std::string& path, const ImportOptions& options) {
  if (options.copy_weights) {
    ONWARD_ASSIGN_OR_RETURN(const std::shared_ptr<files::MappedFile> file,
                            files::MappedFile::OpenToRead(path));
    absl::StatusOr<Model> model = ImportCopy(*file, path, options);
    return model.ok() ? std::move(model) : Annotate(model.status(), absl::StrCat("'", path, "':"));
  }
  // A training may write its steps where weights lay.
  ONWARD_ASSIGN_OR_RETURN(std::shared_ptr<files::MappedFile> file,
                          files::MappedFile::Open(path, files::MappedFile::Writes::kPrivate));
  absl::StatusOr<Model> model = Guarded([&] {
    onnx_io::ExternalFiles files(DirectoryOf(path), RealDirectoryOf(path));
    onnx_io::TensorSource source;
    source.files = &files;
    source.owner = file;
    source.mapped = true;
    return ImportModel(file->bytes(), source, options);
  });
  if (!model.ok())
    return Annotate(
        files::NameForeignFile(model.status(), file->bytes(), files::WantedFile::kModel),
        absl::StrCat("'", path, "':"));
  return model;
}

absl::StatusOr<Metadata> ReadMetadata(const std::string& path) {
  ONWARD_ASSIGN_OR_RETURN(const std::shared_ptr<files::MappedFile> file,
                          files::MappedFile::Open(path));
  const std::string_view bytes = file->bytes();
  onnx::ModelProto proto;
  const absl::StatusOr<std::string> small = onnx_io::TakePayloadsOut(bytes, ImportOptions());
  const absl::Status status = small.ok() ? Parse(*small, proto) : small.status();
  if (!status.ok()) {
    return Annotate(files::NameForeignFile(status, bytes, files::WantedFile::kModel),
                    absl::StrCat("'", path, "':"));
  }
  return onnx_io::MetadataFrom(proto);
}

absl::StatusOr<Model> ImportBytes(std::string_view bytes, const std::string& directory,
                                  const ImportOptions& options) {
  return Guarded([&] {
    onnx_io::ExternalFiles files(directory, "");
    onnx_io::TensorSource source;
    if (!directory.empty()) source.files = &files;
    return ImportModel(bytes, source, options);
  });
}

}  // namespace onward
